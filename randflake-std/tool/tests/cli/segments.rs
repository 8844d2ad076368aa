//! `segment`, `segment status` and `segment resume`

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use randflake_std::Secret;

use crate::user::{Answer, KEY, User, objects};

#[test]
fn numbers_are_dense_over_runs_and_namespaces_apart() {
    let user = User::new();
    assert_eq!(user.run(&["segment"]).ok(), "1\n");
    assert_eq!(user.run(&["segment", "-n", "3"]).ok(), "2\n3\n4\n");
    let bills = ["segment", "-n", "2", "--namespace", "bills"];
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

#[test]
fn a_deleted_store_issues_nothing_until_it_is_told_where_to_go_on() {
    let user = User::new();
    user.run(&["segment", "-n", "10"]).ok();
    fs::remove_file(user.state("leases.db")).unwrap();
    let said = user.run(&["segment"]).fails(1);
    assert!(
        said.contains("has forgotten it") && said.ends_with(" (`randflake segment resume NUMBER`)"),
        "{said}"
    );
    let table = user.run(&["segment", "status"]).ok();
    assert!(
        table.contains("lost: randflake segment resume NUMBER"),
        "{table}"
    );
    user.run(&["segment", "resume", "11"]).ok();
    assert_eq!(user.run(&["segment"]).ok(), "11\n");
}

#[test]
fn runs_at_once_and_killed_ones_repeat_nothing() {
    let user = User::new();
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
