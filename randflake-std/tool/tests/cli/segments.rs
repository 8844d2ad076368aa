//! `segment`, `segment init`, `segment status` and `segment resume`

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use randflake_std::Secret;
use serde_json::Value;

use crate::user::{Answer, KEY, User, objects};

#[test]
fn numbers_are_dense_over_runs_and_namespaces_apart() {
    let user = User::new();
    user.begin_counter(&[]);
    assert_eq!(user.run(&["segment"]).ok(), "1\n");
    assert_eq!(user.run(&["segment", "-n", "3"]).ok(), "2\n3\n4\n");
    let bills = ["segment", "-n", "2", "--namespace", "bills"];
    user.begin_counter(&["--namespace", "bills"]);
    assert_eq!(user.run(&bills).ok(), "1\n2\n");
    assert_eq!(user.run(&["segment", "-n", "0"]).ok(), "");
    let many = user.run(&["segment", "-n", "200000"]).ok();
    let many: Vec<u64> = many.lines().map(|line| line.parse().unwrap()).collect();
    assert!(many.into_iter().eq(5..=200_004));
    assert!(!user.state("key").exists(), "plain numbers need no secret");
}

#[test]
fn encrypted_numbers_are_ids() {
    let user = User::new();
    let cipher = Secret::from_hex(KEY).unwrap().cipher();
    user.begin_counter(&[]);
    let ids = user.run_keyed(&["segment", "--encrypt", "-n", "2"]).ok();
    let ints = user
        .run_on(
            ids.as_bytes(),
            &["convert", "--from", "text", "--to", "uint"],
        )
        .ok();
    let expected: Vec<_> = [1, 2].map(|n| cipher.encrypt_u64(n).to_string()).into();
    assert_eq!(ints.lines().collect::<Vec<_>>(), expected);
    let hex = ["segment", "--encrypt", "--format", "hex"];
    let expected = format!("{:016x}\n", cipher.encrypt_u64(3));
    assert_eq!(user.run_keyed(&hex).ok(), expected);
}

#[test]
fn a_counter_is_shown_and_moved_on() {
    let user = User::new();
    let said = user.run(&["segment", "resume", "1000"]).ok();
    assert_eq!(said, "the counter goes on at 1000\n");
    assert_eq!(user.run(&["segment", "-n", "2"]).ok(), "1000\n1001\n");
    let said = user.run(&["segment", "resume", "5"]).ok();
    assert_eq!(said, "the counter goes on at 1002\n");
    let status = objects(&user.run(&["segment", "status", "--json"]).ok());
    let shown = |name: &str| status[0][name].to_string();
    assert_eq!(
        (shown("next"), shown("lost")),
        ("1002".into(), "false".into())
    );
    let table = user.run(&["segment", "status"]).ok();
    assert!(
        table.ends_with("namespace  default\nnext       1002\n"),
        "{table}"
    );
    for number in ["0", "9223372036854775807", "-1", "x"] {
        let said = user.run(&["segment", "resume", number]).fails(2);
        assert!(
            said.contains("1 to 9223372036854775806 are allowed"),
            "{said}"
        );
    }
}

/// The one line that a run says about a counter that is not there: where, and the commands as they are to be typed.
#[track_caller]
fn assert_missing(said: &str, path: &str, arguments: &str) {
    assert!(
        said.contains(&format!(" in sqlite:{path} is not there")),
        "{said}"
    );
    for command in ["init", "resume NUMBER"] {
        let command = format!("`randflake segment {command} {arguments}`");
        assert!(said.contains(&command), "{command}: {said}");
    }
}

/// As in a container that was made again without its volume, or with another home directory.
#[test]
fn a_store_in_another_folder_issues_nothing_until_its_counter_is_begun() {
    let user = User::new();
    user.begin_counter(&[]);
    let first = user.run(&["segment", "-n", "1000"]).ok();
    let elsewhere = user.argument("elsewhere");
    let variables = [("XDG_STATE_HOME", &*elsewhere)];
    let path = user.argument("elsewhere/randflake/leases.db");
    let arguments = format!("--store sqlite:{path}");
    for _ in 0..2 {
        let said = user.run_in(&variables, &["segment", "-n", "1000"]).fails(1);
        assert_missing(&said, &path, &arguments);
        let table = user.run_in(&variables, &["segment", "status"]).ok();
        let line = format!("next       none  not there: randflake segment init {arguments}, ");
        assert!(table.contains(&line), "{table}");
        assert!(!user.path(&path).exists(), "a store was made");
    }
    let status = user
        .run_in(&variables, &["segment", "status", "--json"])
        .ok();
    let status = &objects(&status)[0];
    assert_eq!(
        (&status["next"], &status["lost"]),
        (&Value::Null, &true.into())
    );
    // The command of the message, whatever the environment of the shell is.
    user.begin_counter(&arguments.split(' ').collect::<Vec<_>>());
    let again = user.run_in(&variables, &["segment", "-n", "1000"]).ok();
    assert_eq!(first, again);
    assert_eq!(user.run(&["segment"]).ok(), "1001\n");
}

#[test]
fn a_counter_is_named_as_its_shell_takes_it() {
    let user = User::new();
    let path = user.argument("it's mine.db");
    let url = format!("sqlite:{path}");
    let relative = ["segment", "--store", "sqlite:it's mine.db"];
    let options = ["--store", &*url, "--namespace", "bills"];
    let quoted = format!("--store 'sqlite:{}'", path.replace('\'', r"'\''"));
    assert_missing(&user.run(&relative).fails(1), &path, &quoted);
    let bills = format!("{quoted} --namespace bills");
    let said = user.run(&[&["segment"][..], &options].concat()).fails(1);
    assert_missing(&said, &path, &bills);
    let said = user.run_in(&[("RANDFLAKE_NAMESPACE", "bills")], &relative);
    assert_missing(&said.fails(1), &path, &bills);
    assert!(!user.path("it's mine.db").exists(), "a store was made");
    // A file with the URL stands for it, which may have a password.
    user.write_key("store", &url);
    let said = user.run(&["segment", "--store-file", "store"]).fails(1);
    let file = format!("--store-file {}", user.argument("store"));
    assert_missing(&said, &path, &file);

    // What is in the message, a shell takes.
    let command = said.split('`').nth(1).unwrap();
    let arguments = command.strip_prefix("randflake ").unwrap();
    let script = format!("\"$0\" {arguments}");
    let output = Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_randflake")])
        .output()
        .unwrap();
    assert_eq!(output.stdout, b"the counter begins at 1\n", "{output:?}");
    assert_eq!(user.run(&relative).ok(), "1\n");
}

/// By hand twice, or by a script at each start.
#[test]
fn to_begin_a_counter_that_is_there_changes_nothing() {
    let user = User::new();
    let made = user.run(&["segment", "init", "--no-wait"]);
    assert_eq!(made.stdout, "the counter begins at 1\n");
    let line = format!(
        "randflake: made the counter \"default\" in sqlite:{}. If it has issued numbers before,",
        user.argument("state/randflake/leases.db")
    );
    assert!(made.stderr.starts_with(&line), "{made:?}");
    assert_eq!(
        user.run(&["segment", "init"]).ok(),
        "the counter begins at 1\n"
    );
    assert_eq!(user.run(&["segment", "-n", "2"]).ok(), "1\n2\n");
    let again = user.run(&["segment", "init"]);
    assert_eq!(
        (again.status, &*again.stdout),
        (
            Some(0),
            "the counter is there: it goes on at 3, and nothing was changed\n"
        )
    );
    assert!(
        again.stderr.contains("once, not at each start"),
        "{again:?}"
    );
    assert_eq!(user.run(&["segment"]).ok(), "3\n");
}

#[test]
fn a_deleted_store_issues_nothing_until_it_is_told_where_to_go_on() {
    let user = User::new();
    user.begin_counter(&[]);
    user.run(&["segment", "-n", "10"]).ok();
    let store = user.argument("state/randflake/leases.db");
    // The database alone, and then all of it, as `rm leases.db*` does.
    for ending in ["", ".lock"] {
        fs::remove_file(format!("{store}{ending}")).unwrap();
        let said = user.run(&["segment"]).fails(1);
        assert_missing(&said, &store, &format!("--store sqlite:{store}"));
    }
    user.run(&["segment", "resume", "11"]).in_new_store().ok();
    assert_eq!(user.run(&["segment"]).ok(), "11\n");
}

#[test]
fn a_restored_store_issues_nothing_until_it_is_told_where_to_go_on() {
    let user = User::new();
    user.begin_counter(&[]);
    user.run(&["segment", "-n", "10"]).ok();
    let store = user.argument("state/randflake/leases.db");
    let backup = fs::read(&store).unwrap();
    user.run(&["segment", "-n", "10"]).ok();
    fs::write(&store, backup).unwrap();
    let resume = format!("segment resume NUMBER --store sqlite:{store}");
    for command in [&["segment"][..], &["segment", "init"]] {
        let said = user.run(command).fails(1);
        assert!(
            said.contains(&format!("at least 11: `randflake {resume}`")),
            "{said}"
        );
    }
    let table = user.run(&["segment", "status"]).ok();
    let line = format!("next       11  lost: randflake {resume}\n");
    assert!(table.ends_with(&line), "{table}");
    user.run(&["segment", "resume", "21"]).ok();
    assert_eq!(user.run(&["segment"]).ok(), "21\n");
}

#[test]
fn runs_at_once_and_killed_ones_repeat_nothing() {
    let user = User::new();
    user.begin_counter(&[]);
    let start = |count: &str| {
        let mut command = user.command(&["segment", "-n", count]);
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let mut numbers = Vec::new();
    for _ in 0..3 {
        let whole = [(); 3].map(|()| start("1000"));
        let mut killed = start("1000000000");
        let lines = BufReader::new(killed.stdout.take().unwrap()).lines();
        numbers.extend(lines.take(70_000).map(Result::unwrap));
        killed.kill().unwrap();
        killed.wait().unwrap();
        for child in whole {
            let printed = Answer::of(child.wait_with_output().unwrap()).ok();
            numbers.extend(printed.lines().map(str::to_owned));
        }
    }
    assert_eq!(numbers.len(), 3 * 73_000);
    assert_eq!(numbers.iter().collect::<HashSet<_>>().len(), 3 * 73_000);
}
