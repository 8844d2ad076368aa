//! `--wait`: what a command does while the store grants nothing.

use std::io::{BufRead, BufReader, Read};
use std::process::Child;

use crate::user::User;

/// The first line that a command writes to standard error.
fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    let mut stderr = BufReader::new(child.stderr.as_mut().unwrap());
    stderr.read_line(&mut line).unwrap();
    line
}

fn output(mut child: Child) -> String {
    let mut text = String::new();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success());
    text
}

#[test]
fn generate_waits_for_a_node_id_until_it_is_released() {
    let user = User::new();
    let mut holder = user.endless(&["--node-id", "7"]);
    holder.read(1);
    let mut waiting = user.start(&["generate", "--node-id", "7", "--wait", "10m"]);
    let said = first_line(&mut waiting);
    assert!(
        said.starts_with("randflake: waiting for at most 10m: too few node ids are free"),
        "{said}"
    );
    holder.stop_reading().ok();
    assert_eq!(output(waiting).lines().count(), 1);
}

#[test]
fn a_ticket_waits_for_the_end_of_a_quarantine() {
    let user = User::new();
    user.run(&["lease", "init"]).ok();
    user.run(&["lease", "quarantine"]).ok();
    user.run(&["lease", "device", "d0e5", "--counter", "0"])
        .ok();
    let arguments = ["lease", "ticket", "--device", "d0e5", "--wait", "10m"];
    let mut waiting = user
        .command(&arguments)
        .env("RANDFLAKE_TICKET_KEY", "00112233445566778899aabbccddeeff")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let said = first_line(&mut waiting);
    assert!(said.contains("waiting for at most 10m: "), "{said}");
    user.run(&["lease", "quarantine", "--end"]).ok();
    assert_eq!(output(waiting).trim().len(), 64);
}

#[test]
fn a_counter_waits_for_its_store() {
    let user = User::new();
    user.begin_counter(&[]);
    // Whoever has the lock has the store.
    let lock = std::fs::File::open(user.state("leases.db.lock")).unwrap();
    lock.lock().unwrap();
    let mut waiting = user.start(&["segment", "--wait", "10m"]);
    let said = first_line(&mut waiting);
    assert!(
        said.contains("waiting for at most 9m ") || said.contains("waiting for at most 10m: "),
        "{said}"
    );
    lock.unlock().unwrap();
    assert_eq!(output(waiting).lines().count(), 1);
}

/// Whatever a lease is wanted for.
#[test]
fn a_store_that_does_not_answer_is_waited_for() {
    let user = User::new();
    user.run_keyed(&["generate"]).ok();
    let lock = std::fs::File::open(user.state("leases.db.lock")).unwrap();
    lock.lock().unwrap();
    let waits = ["--wait", "10m"];
    let mut generate = user.start(&[&["generate"][..], &waits].concat());
    let mut acquire = user.start(&[&["lease", "acquire"][..], &waits].concat());
    for waiting in [&mut generate, &mut acquire] {
        let said = first_line(waiting);
        assert!(said.contains("waiting for at most "), "{said}");
        assert!(said.contains("the lease store is unavailable"), "{said}");
    }
    lock.unlock().unwrap();
    for waiting in [generate, acquire] {
        assert!(!output(waiting).is_empty());
    }
}

#[test]
fn a_wait_in_vain_says_how_long_it_was_and_why() {
    let user = User::new();
    let mut holder = user.endless(&["--node-id", "7"]);
    holder.read(1);
    let answer = user.run_keyed(&["generate", "--node-id", "7", "--wait", "200ms"]);
    assert_eq!(answer.status, Some(3));
    let lines: Vec<_> = answer.stderr.lines().collect();
    // On a machine under load the time may be over with the first try, which then waits for nothing.
    let [waits @ .., gave_up] = &lines[..] else {
        panic!("{lines:?}");
    };
    assert!(waits.len() <= 1, "{lines:?}");
    for wait in waits {
        let reason = wait.strip_prefix("randflake: waiting for at most ");
        let reason = reason.and_then(|rest| Some(rest.split_once("ms: ")?.1));
        assert!(
            reason.is_some_and(|reason| reason.starts_with("too few node ids are free")),
            "{wait}"
        );
    }
    assert!(
        gave_up.starts_with("randflake: gave up after "),
        "{gave_up}"
    );
    assert!(gave_up.contains("too few node ids are free"), "{gave_up}");
    holder.stop_reading().ok();

    let said = user.run_keyed(&["generate", "--wait", "soon"]).fails(2);
    assert!(said.contains("--wait <TIME>"), "{said}");
}
