//! One secret for two namespaces, and a store in a folder that is not there.

use crate::user::{Answer, KEY, User, is_note_of_local_leases, objects};

const AAA: [&str; 3] = ["generate", "--namespace", "aaa"];
const BBB: [&str; 3] = ["generate", "--namespace", "bbb"];

#[test]
fn the_default_key_is_of_one_namespace_and_the_refusal_says_what_to_do() {
    let user = User::new();
    assert!(
        user.run(&AAA)
            .stderr
            .starts_with("randflake: made a new secret")
    );
    let said = user.run(&BBB).fails(1);
    assert_eq!(
        said,
        "the secret of namespace \"bbb\" is already that of namespace \"aaa\" in this store, and ids of both would be equal. \
         Nothing is granted: derive a secret for \"bbb\", `randflake keygen --derive bbb --out bbb.key` (in Rust, \
         `Secret::derive`), or use --shared-secret (`Namespace::with_shared_secret`) if equal ids are meant"
    );
    let doctor = user.run(&["doctor", "--namespace", "bbb"]);
    assert_eq!(doctor.status, Some(1));
    assert!(doctor.stdout.contains("problem  equal ids"), "{doctor:?}");
    assert!(
        doctor.stdout.contains("already that of namespace \"aaa\""),
        "{doctor:?}"
    );
    // As it says.
    user.run(&["keygen", "--derive", "bbb", "--out", "bbb.key"])
        .ok();
    user.run(&[&BBB[..], &["--key-file", "bbb.key"]].concat())
        .ok();
    // A drop does not give it back.
    user.run(&["lease", "drop", "aaa", "--yes", "--force"]).ok();
    let other = ["generate", "--namespace", "ccc"];
    assert!(
        user.run(&other)
            .fails(1)
            .contains("already that of namespace \"aaa\"")
    );
}

/// As other packages of Randflake take it: 16 bytes of text.
#[test]
fn a_secret_of_16_characters_names_the_way_to_hex() {
    let user = User::new();
    let advice = "the secret has 16 characters: 32 hexadecimal digits are allowed; of a secret of 16 bytes of text, as other \
                  packages of Randflake take it, they are what `printf %s TEXT | xxd -p` prints";
    user.write_key("k", "super-secret-key\n");
    let said = user
        .run(&["inspect", "--key-file", "k", "3vgoe12ccb8gh"])
        .fails(1);
    assert_eq!(said, format!("secret file k: {advice}"));
    let variable = [("RANDFLAKE_KEY", "super-secret-key")];
    let said = user
        .run_in(&variable, &["inspect", "3vgoe12ccb8gh"])
        .fails(2);
    assert!(
        said.starts_with(&format!("RANDFLAKE_KEY: {advice}")),
        "{said}"
    );
    user.write_key("k", "73757065722d7365637265742d6b6579");
    user.run(&["inspect", "--key-file", "k", "3vgoe12ccb8gh"])
        .ok();
}

#[test]
fn a_shared_secret_is_meant_by_name_and_shown() {
    let user = User::new();
    user.run_keyed(&AAA).ok();
    user.run_keyed(&[&BBB[..], &["--shared-secret"]].concat())
        .ok();
    // The namespace has it now.
    user.run_keyed(&BBB).ok();
    for name in ["one", "two"] {
        user.run(&["generate", "--layout", "snowflake", "--namespace", name])
            .ok();
    }
    user.run(&["generate", "--layout", "sonyflake"]).ok();

    let table = user.run(&["lease", "namespaces"]).ok();
    for (name, other) in [
        ("aaa", "bbb"),
        ("bbb", "aaa"),
        ("one", "two"),
        ("two", "one"),
    ] {
        let line = table.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(
            line.ends_with(&format!(", equal ids with {other:?}")),
            "{line}"
        );
    }
    assert!(
        table.lines().any(|line| line.ends_with("plain sonyflake")),
        "{table}"
    );
    let rows = objects(&user.run(&["lease", "namespaces", "--json"]).ok());
    assert_eq!(rows[0]["equal_ids_with"], serde_json::json!(["bbb"]));

    for (arguments, caution) in [
        (
            &["--namespace", "aaa"][..],
            "in \"bbb\": both have one secret",
        ),
        (
            &["--namespace", "one", "--layout", "snowflake"],
            "in \"two\": plain ids of one layout",
        ),
        (&["--layout", "sonyflake"], "in no other namespace"),
    ] {
        let told = user.run_keyed(&[&["doctor"], arguments].concat()).ok();
        assert!(told.contains(caution), "{told}");
    }
}

#[test]
fn a_store_in_a_folder_that_is_not_there_is_refused_and_none_is_made() {
    let user = User::new();
    let store = user.argument("var/lib/ids/leases.db");
    let url = format!("sqlite:{store}");
    for command in [
        &["generate"][..],
        &["lease", "acquire"],
        &["segment"],
        &["lease", "init"],
    ] {
        let said = user
            .run_keyed(&[command, &["--store", &url]].concat())
            .fails(1);
        let folder = user.argument("var/lib/ids");
        assert_eq!(
            said,
            format!(
                "{folder}: the directory is missing: is its volume mounted? Create it if it is new"
            )
        );
        assert!(!user.path("var").exists());
    }
    // But for the tool's own.
    user.run_keyed(&["generate"]).ok();
    assert!(user.state("leases.db").exists());
}

/// The default secret was made on this machine, and plain ids have none.
#[test]
fn a_given_secret_whose_leases_are_local_is_told_of_once() {
    let user = User::new();
    user.write_key("a.key", KEY);
    let store = format!("sqlite:{}", user.argument("shared.db"));
    let given = ["generate", "--key-file", "a.key"];
    let notes = |answer: Answer| {
        assert_eq!(answer.status, Some(0), "{answer:?}");
        let lines = answer.stderr.lines();
        lines
            .filter(|line| is_note_of_local_leases(line))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let none: [&str; 0] = [];
    assert_eq!(notes(user.run(&["generate"])), none);
    assert_eq!(
        notes(user.run_keyed(&["generate", "--layout", "snowflake"])),
        none
    );

    let said = notes(user.run(&[&given[..], &["--store", &store]].concat()));
    let [said] = &said[..] else {
        panic!("{said:?}")
    };
    for part in [
        &*store,
        "may issue equal ids",
        "--store postgres://HOST/DATABASE",
    ] {
        assert!(said.contains(part), "{said}");
    }
    assert_eq!(
        notes(user.run(&[&given[..], &["--store", &store]].concat())),
        none
    );
    // Another store, another namespace, and one that was made without the secret.
    let other = format!("sqlite:{}", user.argument("other.db"));
    for more in [
        &["--store", &*other][..],
        &[
            "--store",
            &store,
            "--namespace",
            "orders",
            "--shared-secret",
        ],
    ] {
        assert_eq!(
            notes(user.run(&[&given[..], more].concat())).len(),
            1,
            "{more:?}"
        );
    }
    let made = format!("sqlite:{}", user.argument("made.db"));
    assert_eq!(
        user.run(&["lease", "init", "--store", &made]).status,
        Some(0)
    );
    let first = user.run_in(&[("RANDFLAKE_KEY", KEY)], &["generate", "--store", &made]);
    assert_eq!(notes(first).len(), 1);
    // Keys of tagged UUIDs are given, always.
    let uuids = ["uuid", "generate", "--namespace", "uuids", "--keys", "keys"];
    std::fs::create_dir(user.path("keys")).unwrap();
    user.write_key("keys/1.key", KEY);
    assert_eq!(notes(user.run(&uuids)).len(), 1);
    assert_eq!(notes(user.run(&uuids)), none);
    // An assigned node id is no other machine's.
    let assigned = format!("static:{}?node=7", user.argument("node"));
    user.run(&["lease", "init", "--yes", "--store", &assigned]);
    assert_eq!(
        notes(user.run(&[&given[..], &["--store", &assigned]].concat())),
        none
    );
}
