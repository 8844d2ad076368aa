//! `lease acquire`, `lease renew` and `lease release --grant`, as a script uses them

use std::fs;

use serde_json::Value;

#[cfg(target_os = "linux")]
use crate::user::Answer;
use crate::user::{User, objects};

fn acquire(user: &User, more: &[&str]) -> Value {
    let arguments = [&["lease", "acquire", "--json"], more].concat();
    objects(&user.run(&arguments).ok()).remove(0)
}

fn live(user: &User) -> Vec<Value> {
    objects(&user.run(&["lease", "list", "--json"]).ok())
}

#[test]
fn a_lease_is_taken_renewed_and_released() {
    let user = User::new();
    let taken = acquire(&user, &["-n", "2", "--ttl", "45s", "--holder", "import/7"]);
    assert_eq!(taken["namespace"], "default");
    let leases = taken["leases"].as_array().unwrap();
    assert_eq!(leases.len(), 2);
    for lease in leases {
        let number = |name: &str| lease[name].as_u64().unwrap();
        assert_eq!(number("end_unix_ms") - number("start_unix_ms"), 45_000);
        assert_eq!(
            number("start_tick") * 1_000 + taken["epoch_unix_ms"].as_u64().unwrap(),
            number("start_unix_ms")
        );
    }
    let listed = live(&user);
    assert_eq!(listed.len(), 2);
    assert!(
        listed.iter().all(|lease| lease["holder"] == "import/7"),
        "{listed:?}"
    );

    fs::write(user.path("lease.json"), taken.to_string()).unwrap();
    let renew = [
        "lease",
        "renew",
        "--grant",
        "lease.json",
        "--request",
        "renewal-1",
        "--ttl",
        "60s",
        "--json",
    ];
    let renewed = objects(&user.run(&renew).ok()).remove(0);
    for (before, after) in leases.iter().zip(renewed["leases"].as_array().unwrap()) {
        assert_eq!(
            (&before["node"], &before["token"]),
            (&after["node"], &after["token"])
        );
        assert_eq!(before["start_tick"], after["start_tick"]);
        assert!(after["end_tick"].as_u64() > before["end_tick"].as_u64());
    }
    // From standard input, and in words.
    let text = renewed.to_string();
    let again = ["lease", "renew", "--request", "renewal-2"];
    let told = user.run_on(text.as_bytes(), &again);
    assert_eq!(told.status, Some(0), "{told:?}");
    assert_eq!(told.stdout.matches("is leased from 20").count(), 2);
    assert!(
        told.stderr.contains("repeat this one with --json"),
        "{told:?}"
    );
    let again = [&again[..], &["--json"]].concat();
    let text = objects(&user.run_on(text.as_bytes(), &again).ok()).remove(0);
    let text = text.to_string();

    let from = renewed["leases"][0]["start_unix_ms"].to_string();
    let release = [
        "lease",
        "release",
        "--grant",
        "-",
        "--request",
        "release-1",
        "--unused-from-ms",
        &from,
    ];
    let told = user.run_on(text.as_bytes(), &release).ok();
    assert_eq!(told.matches("is free\n").count(), 2, "{told}");
    assert!(live(&user).is_empty());

    let late = ["lease", "renew", "--json", "--request", "renewal-3"];
    let lost = user.run_on(text.as_bytes(), &late);
    assert_eq!(
        objects(&lost.stdout)[0]["lost"].as_array().unwrap().len(),
        2
    );
    assert!(
        lost.fails(4)
            .ends_with("(released): issue no more ids with them")
    );
}

#[test]
fn a_release_leaves_what_may_have_been_used() {
    let user = User::new();
    let taken = acquire(&user, &[]);
    let told = user.run_on(
        taken.to_string().as_bytes(),
        &["lease", "release", "--grant", "-", "--request", "release-1"],
    );
    assert!(told.ok().contains("is free in 1"));
}

/// Two programs with copies of one file: the first to renew goes on, and the other one ends nothing under it.
#[test]
fn a_copy_of_what_was_printed_is_told_and_ends_nothing() {
    let user = User::new();
    let taken = acquire(&user, &["--ttl", "30s"]).to_string();
    let renew = |text: &str, request: &str| {
        let words = ["lease", "renew", "--json", "--request", request];
        user.run_on(text.as_bytes(), &words)
    };
    let mut original = taken.clone();
    for turn in 0..3 {
        let renewed = renew(&original, &format!("original-{turn}")).ok();
        original = objects(&renewed)[0].to_string();
        let refused = renew(&taken, &format!("the-copy-{turn}"));
        assert!(objects(&refused.stdout)[0]["leases"] == Value::Array(Vec::new()));
        let said = refused.fails(4);
        assert!(said.contains("(contested): issue no more ids"), "{said}");
    }
    let before = live(&user)[0]["end_unix_ms"].clone();
    let release = [
        "lease",
        "release",
        "--grant",
        "-",
        "--request",
        "the-copy-ends",
    ];
    let said = user.run_on(taken.as_bytes(), &release).fails(4);
    assert!(said.contains("contested and not released"), "{said}");
    assert_eq!(live(&user)[0]["end_unix_ms"], before);
    assert_eq!(live(&user)[0]["contested"], true);
    user.run_on(original.as_bytes(), &release).ok();
}

/// The answer was printed to nobody: the script begins anew with the same file and the same name.
#[test]
fn a_command_that_was_cut_off_is_repeated() {
    let user = User::new();
    let taken = acquire(&user, &["--ttl", "30s"]).to_string();
    let renew = [
        "lease",
        "renew",
        "--ttl",
        "60s",
        "--json",
        "--request",
        "renewal-1",
    ];
    let answers = [(); 3].map(|()| {
        let mut renewed = objects(&user.run_on(taken.as_bytes(), &renew).ok()).remove(0);
        // When it was answered.
        renewed["now_unix_ms"] = 0.into();
        renewed
    });
    assert!(
        answers.iter().all(|answer| *answer == answers[0]),
        "{answers:?}"
    );
    let renewed = answers[0].to_string();
    let said = user.run_on(renewed.as_bytes(), &renew).fails(2);
    assert!(said.contains("has made the last write"), "{said}");
    let start = answers[0]["leases"][0]["start_unix_ms"].to_string();
    let release = ["lease", "release", "--grant", "-", "--request", "release-1"];
    let release = [&release[..], &["--unused-from-ms", &start]].concat();
    for _ in 0..2 {
        let told = user.run_on(renewed.as_bytes(), &release).ok();
        assert!(told.contains("is free"), "{told}");
    }
    assert!(live(&user).is_empty());
}

#[test]
fn a_renewal_or_release_without_a_name_is_refused() {
    let user = User::new();
    let taken = acquire(&user, &[]).to_string();
    let said = user.run_on(taken.as_bytes(), &["lease", "renew"]).fails(2);
    assert!(said.contains("--request"), "{said}");
    let release = ["lease", "release", "--grant", "-"];
    let said = user.run_on(taken.as_bytes(), &release).fails(2);
    assert!(said.contains("--request ID is missing"), "{said}");
    let short = ["lease", "renew", "--request", "1"];
    let said = user.run_on(taken.as_bytes(), &short).fails(2);
    assert!(said.contains("new for each renewal and release"), "{said}");
    for field in ["serial", "nonce"] {
        let mut without: Value = serde_json::from_str(&taken).unwrap();
        without["leases"][0].as_object_mut().unwrap().remove(field);
        let renew = ["lease", "renew", "--request", "renewal-1"];
        let said = user.run_on(without.to_string().as_bytes(), &renew).fails(2);
        assert!(said.contains(&format!("missing field `{field}`")), "{said}");
    }
}

/// In seconds: all that the holder has used would be granted again.
#[test]
fn a_time_before_the_epoch_releases_nothing() {
    let user = User::new();
    let taken = acquire(&user, &[]).to_string();
    let before = live(&user);
    let seconds = (before[0]["start_unix_ms"].as_u64().unwrap() / 1_000 + 30).to_string();
    let release = [
        "lease",
        "release",
        "--grant",
        "-",
        "--request",
        "release-1",
        "--unused-from-ms",
        &seconds,
    ];
    let said = user.run_on(taken.as_bytes(), &release).fails(2);
    assert!(said.contains("Unix time in milliseconds"), "{said}");
    assert_eq!(live(&user)[0]["end_unix_ms"], before[0]["end_unix_ms"]);
}

/// Nobody knows that they are leased.
#[cfg(target_os = "linux")]
#[test]
fn leases_that_cannot_be_printed_are_released() {
    let user = User::new();
    let full = fs::OpenOptions::new().write(true).open("/dev/full");
    let mut command = user.command(&["lease", "acquire", "-n", "2", "--json"]);
    let output = command.stdout(full.unwrap()).output().unwrap();
    let said = Answer::of(output).fails(1);
    assert!(said.contains("No space left on device"), "{said}");
    assert_eq!(live(&user), Vec::<Value>::new());
}

#[test]
fn what_is_not_granted_now_has_a_status_of_its_own() {
    let user = User::new();
    let layout = [
        "--layout",
        "custom:40,1,20@1577836800000/1000",
        "--namespace",
        "two",
    ];
    // Long enough for a loaded machine to be refused before they end.
    let taken = acquire(&user, &[&["-n", "2", "--ttl", "10"][..], &layout].concat());
    let more = [&["lease", "acquire"][..], &layout].concat();
    let said = user.run(&more).fails(3);
    assert!(said.contains("too few node ids are free"), "{said}");
    // One lease after the other, where it is waited for.
    let waited = user.run(&[&more[..], &["--wait", "60s"]].concat());
    assert_eq!(waited.status, Some(0), "{waited:?}");
    assert!(!taken["leases"].as_array().unwrap().is_empty());

    let third = [&["-n", "3"][..], &layout].concat();
    let said = user
        .run(&[&["lease", "acquire"][..], &third].concat())
        .fails(2);
    assert!(said.contains("1 to 2 are allowed"), "{said}");
}

#[test]
fn a_chosen_node_id_is_leased_to_one() {
    let user = User::new();
    let taken = acquire(&user, &["--node-id", "4711"]);
    assert_eq!(taken["leases"][0]["node"], 4_711);
    user.run(&["lease", "acquire", "--node-id", "4711"])
        .fails(3);
    let holder = &live(&user)[0]["holder"];
    // This very process has started the command, and runs.
    let process = format!("/{}/", std::process::id());
    assert!(holder.as_str().unwrap().contains(&process), "{holder}");
    let said = user.run(&["lease", "release", "4711", "--force"]).fails(1);
    assert!(said.contains("a running process of this machine"), "{said}");
}

#[test]
fn wrong_input_is_named() {
    let user = User::new();
    let taken = acquire(&user, &[]).to_string();
    let damaged = taken.replace("\"token\":\"", "\"token\":\"x");
    let renew = ["lease", "renew", "--request", "renewal-1"];
    for (input, said) in [
        (
            "",
            "standard input: this is not what `randflake lease acquire --json` prints",
        ),
        ("{}", "missing field `version`"),
        (
            &taken.replace("\"version\":1", "\"version\":2"),
            "a newer randflake made it (version 2; this one knows 1): update this one",
        ),
        (&*damaged, "token have 32 hex digits"),
    ] {
        let error = user.run_on(input.as_bytes(), &renew).fails(2);
        assert!(error.contains(said), "{error}");
    }
    let elsewhere = taken.replace("\"default\"", "\"elsewhere\"");
    let error = user.run_on(elsewhere.as_bytes(), &renew).fails(1);
    assert!(error.contains("no namespace \"elsewhere\""), "{error}");
    for (arguments, said) in [
        (
            &["--ttl", "soon"][..],
            "a duration is allowed, such as 90, 90s",
        ),
        (&["--ttl", "1h"], "1s to 1m are allowed"),
        (&["--holder", "device/7"], "`randflake lease ticket`"),
        (&["--node-id", "131072"], "0 to 131071 are allowed"),
        (&["-n", "0"], "1 to 4294967295 are allowed"),
    ] {
        let error = user
            .run(&[&["lease", "acquire"], arguments].concat())
            .fails(2);
        assert!(error.contains(said), "{error}");
    }
    let nowhere = [&renew[..], &["--grant", "nowhere"]].concat();
    let error = user.run(&nowhere).fails(1);
    assert!(error.starts_with("nowhere: "), "{error}");
}
