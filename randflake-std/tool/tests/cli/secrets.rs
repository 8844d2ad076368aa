//! One secret for two namespaces, and a store in a folder that is not there.

use crate::user::{User, objects};

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
