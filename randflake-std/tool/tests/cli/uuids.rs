//! `randflake uuid`, and `randflake lease next-key`

use std::collections::HashSet;
use std::fs;

use crate::user::{User, objects};

const INSPECT: &[&str] = &["uuid", "inspect", "--keys", "keys", "--namespace", "orders"];
const GENERATE: &[&str] = &[
    "uuid",
    "generate",
    "--keys",
    "keys",
    "--namespace",
    "orders",
];

/// A user with a directory of keys.
fn user(keys: &[u8]) -> User {
    with_keys(User::new(), keys)
}

fn with_keys(user: User, keys: &[u8]) -> User {
    fs::create_dir(user.path("keys")).unwrap();
    for key in keys {
        make_key(&user, *key);
    }
    user
}

fn make_key(user: &User, number: u8) {
    let file = user.argument(&format!("keys/{number}.key"));
    user.run(&["keygen", "--out", &file]).ok();
}

fn next_key(number: &str) -> Vec<&str> {
    let words = [
        "lease",
        "next-key",
        "--keys",
        "keys",
        "--namespace",
        "orders",
    ];
    [&words[..], &["--to", number]].concat()
}

fn uuids(user: &User, count: &str) -> Vec<String> {
    let made = user.run(&[GENERATE, &["-n", count]].concat()).ok();
    made.lines().map(str::to_owned).collect()
}

/// What `inspect` prints of them.
fn inspected(user: &User, uuids: &[String]) -> Vec<serde_json::Value> {
    let uuids = uuids.iter().map(String::as_str);
    let words = INSPECT.iter().copied().chain(["--json"]).chain(uuids);
    objects(&user.run(&words.collect::<Vec<_>>()).stdout)
}

#[test]
fn what_is_made_passes_and_says_what_it_is() {
    let user = user(&[1]);
    let made = uuids(&user, "600");
    assert_eq!(made.iter().collect::<HashSet<_>>().len(), 600);
    let input = made.join("\n");
    let read = user.run_on(input.as_bytes(), &[INSPECT, &["--json"]].concat());
    let read = objects(&read.ok());
    assert_eq!(read.len(), 600);
    let mut places = HashSet::new();
    for (uuid, object) in made.iter().zip(&read) {
        assert_eq!(object["uuid"], **uuid);
        assert_eq!(object["key_number"], 1);
        places.insert(object["sequence"].as_u64().unwrap());
    }
    assert!(places.len() > 100, "{places:?}");
    let line = user.run(&[INSPECT, &[&made[0]]].concat()).ok();
    assert!(
        line.starts_with(&made[0]) && line.contains("  made by a holder of key 1  id "),
        "{line}"
    );
    // The id is what `inspect` reads under that key.
    let id = read[0]["id"].as_str().unwrap();
    let plain = ["inspect", "--json", "--key-file", "keys/1.key", id];
    let plain = &objects(&user.run(&plain).ok())[0];
    assert_eq!(plain["sequence"], read[0]["sequence"]);
    assert_eq!(plain["node"], read[0]["node"]);
    assert_eq!(user.run(&[GENERATE, &["-n", "0"]].concat()).ok(), "");
}

#[test]
fn a_uuid_is_read_in_either_case_and_that_of_dotnet_is_named() {
    let user = user(&[1]);
    let made = uuids(&user, "1").remove(0);
    let upper = made.to_ascii_uppercase();
    let told = user
        .run(&[INSPECT, &[&upper, &made.replace('-', "")]].concat())
        .ok();
    assert_eq!(
        told.matches("  made by a holder of key 1  id ").count(),
        2,
        "{told}"
    );
    // As `new Guid(bytes)` reads the bytes: three numbers, the least byte first. The version may be another one then.
    let digits: Vec<char> = made.chars().filter(|c| *c != '-').collect();
    let byte = |place: usize| -> String { digits[2 * place..2 * place + 2].iter().collect() };
    let order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    let turned: String = order.into_iter().map(byte).collect();
    let answer = user.run(&[INSPECT, &[&turned]].concat());
    assert!(
        answer
            .stdout
            .contains("refused: its first 8 bytes are in the order of .NET's Guid"),
        "{answer:?}"
    );
    answer.fails(1);
}

#[test]
fn what_was_not_made_so_is_refused() {
    let user = user(&[1]);
    let made = uuids(&user, "1").remove(0);
    let mut forged = made.clone().into_bytes();
    let last = forged.last_mut().unwrap();
    *last = if *last == b'0' { b'1' } else { b'0' };
    let forged = String::from_utf8(forged).unwrap();
    let answer = user.run(&[INSPECT, &[&forged, &made, "nonsense"]].concat());
    let lines: Vec<_> = answer.stdout.lines().collect();
    assert!(
        lines[0].starts_with(&forged) && lines[0].contains("refused: the UUID's tag is wrong"),
        "{answer:?}"
    );
    assert!(lines[1].contains("made by a holder of key 1"), "{answer:?}");
    assert!(
        lines[2].contains("nonsense  refused: not a UUID"),
        "{answer:?}"
    );
    let said = answer.fails(1);
    assert!(said.starts_with("2 of 3 UUIDs refused"), "{said}");

    // Where ids are read it is none.
    for command in [&["inspect"][..], &["inspect", "--from", "uuid"]] {
        let said = user.run_keyed(&[command, &[&made]].concat()).fails(2);
        assert!(
            said.contains("`randflake uuid inspect` checks it"),
            "{said}"
        );
    }

    // A UUID of an id alone; in another namespace; of a retired key.
    for (uuid, said) in [
        ("01234567-89ab-8cde-bc00-000000000000", "no tag"),
        ("01234567-89ab-8cde-bc11-23456789abcd", "tag is wrong"),
        ("01234567-89ab-8cde-bc21-23456789abcd", "not known here"),
    ] {
        let refused = &inspected(&user, &[uuid.to_owned()])[0]["refused"];
        assert!(
            refused.as_str().unwrap().contains(said),
            "{uuid}: {refused}"
        );
    }
    let other = [
        "uuid",
        "inspect",
        "--keys",
        "keys",
        "--namespace",
        "users",
        &made,
    ];
    let said = user.run(&other).fails(1);
    assert!(said.starts_with("1 of 1 UUIDs refused"), "{said}");
    make_key(&user, 2);
    fs::remove_file(user.path("keys/1.key")).unwrap();
    let refused = &inspected(&user, &[made])[0]["refused"];
    assert!(
        refused.as_str().unwrap().contains("key number 1"),
        "{refused}"
    );
}

#[test]
fn a_key_is_rotated_once_however_often_it_is_asked_for() {
    let user = user(&[1]);
    let before = uuids(&user, "1");
    let said = user.run(&next_key("2")).fails(1);
    assert!(
        said.contains("keys/2.key is not there") && said.ends_with("there are 1.key"),
        "{said}"
    );
    make_key(&user, 2);
    let said = user.run(&next_key("2")).ok();
    assert!(
        said.starts_with("namespace \"orders\" goes on to key number 2: "),
        "{said}"
    );
    let said = user.run(&next_key("2")).ok();
    assert_eq!(
        said,
        "namespace \"orders\" has key number 2: nothing to do\n"
    );
    let said = user.run(&next_key("1")).fails(1);
    assert!(said.contains("never goes back to 1"), "{said}");
    let after = uuids(&user, "1");
    let read = inspected(&user, &[before, after].concat());
    let numbers: Vec<_> = read
        .iter()
        .map(|it| it["key_number"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, [1, 2]);

    // No number is skipped.
    make_key(&user, 4);
    let said = user.run(&next_key("4")).fails(1);
    assert!(said.contains("3 comes next"), "{said}");
    let status = ["lease", "status", "--namespace", "orders"];
    let status = user.run(&status).ok();
    assert!(status.contains("tagged under key 2 randflake"), "{status}");
    let namespaces = user.run(&["lease", "namespaces"]).ok();
    assert!(
        namespaces.contains("tagged under key 2 randflake"),
        "{namespaces}"
    );
}

#[test]
fn mistakes_are_named_before_anything_is_made() {
    let user = with_keys(User::without_store(), &[]);
    for (arguments, said) in [
        (GENERATE, "there is no key in keys"),
        (
            &[
                "uuid",
                "generate",
                "--keys",
                "kyes",
                "--namespace",
                "orders",
            ],
            "directory of keys kyes cannot be read",
        ),
        (
            &["uuid", "generate", "--keys", "keys"],
            "--namespace NAME is needed",
        ),
        (&["uuid", "generate", "--namespace", "orders"], "--keys"),
        (&["uuid", "inspect", "--keys", "keys"], "--namespace"),
        (
            &["lease", "next-key", "--to", "64", "--keys", "keys"],
            "1 to 63 are allowed",
        ),
        (&["lease", "next-key", "--keys", "keys"], "--to"),
    ] {
        let answer = user.run(arguments);
        assert_ne!(answer.status, Some(0), "{arguments:?}");
        assert!(answer.stderr.contains(said), "{arguments:?}: {answer:?}");
    }
    make_key(&user, 1);
    for (options, said) in [
        (&["--layout", "randflake53"][..], "encrypted to 64 bits"),
        (&["--layout", "snowflake"], "encrypted to 64 bits"),
        (&["--ttl", "2m"], "at most 1m is allowed"),
    ] {
        let said_of = user.run(&[GENERATE, options].concat()).fails(2);
        assert!(said_of.contains(said), "{options:?}: {said_of}");
    }
    let said = user.run(&next_key("1")).fails(1);
    assert!(said.contains("the file is not there"), "{said}");
    assert!(!user.path("state").exists(), "no store is left behind");

    // A copy in place of a new key; a misspelt name.
    fs::copy(user.path("keys/1.key"), user.path("keys/2.key")).unwrap();
    let said = user.run(GENERATE).fails(1);
    assert!(
        said.contains("key numbers 1 and 2 have the same secret"),
        "{said}"
    );
    fs::rename(user.path("keys/2.key"), user.path("keys/02.key")).unwrap();
    let said = user.run(GENERATE).fails(1);
    assert!(said.contains("02.key is no name of a key"), "{said}");
    fs::remove_file(user.path("keys/02.key")).unwrap();

    // Another program's namespace.
    let other = user.run_keyed(&["generate", "--namespace", "orders"]);
    other.in_new_store().ok();
    for command in [GENERATE.to_vec(), next_key("1")] {
        let said = user.run(&command).fails(1);
        assert!(said.contains("stored with ids of 64 bits"), "{said}");
    }
}

#[test]
fn a_namespace_of_tagged_uuids_issues_nothing_else() {
    let user = user(&[1]);
    uuids(&user, "1");
    for command in [&["generate"][..], &["lease", "acquire"]] {
        let said = user
            .run_keyed(&[command, &["--namespace", "orders"]].concat())
            .fails(1);
        assert!(
            said.contains("stored with tagged UUIDs under key number 1"),
            "{said}"
        );
    }
    // The doctor needs its keys, and says so.
    let doctor = ["doctor", "--namespace", "orders"];
    let told = user.run(&doctor);
    assert!(
        told.stdout
            .contains("give the directory of its keys, --keys DIRECTORY"),
        "{told:?}"
    );
    assert_eq!(told.status, Some(1));
    let told = user.run(&[&doctor[..], &["--keys", "keys"]].concat()).ok();
    assert!(told.contains("acquired in "), "{told}");
    make_key(&user, 2);
    user.run(&next_key("2")).ok();
    fs::remove_file(user.path("keys/2.key")).unwrap();
    let told = user.run(&[&doctor[..], &["--keys", "keys"]].concat());
    assert!(told.stdout.contains("keys/2.key is not there"), "{told:?}");
}
