//! Commands that wait, and commands that are ended by Ctrl-C or SIGTERM

use core::time::Duration;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};

use crate::user::{Answer, KEY, User, objects};

const BOTH: [(Signal, i32); 2] = [(Signal::INT, 130), (Signal::TERM, 143)];
/// Longer than any test takes: an id that is free before was released.
const TTL: &str = "1m";

fn start(user: &User, arguments: &[&str], stdout: Stdio) -> Child {
    let mut command = user.command(arguments);
    command
        .env("RANDFLAKE_KEY", KEY)
        .stdout(stdout)
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// The node id is leased again, which it is not while somebody has it.
#[track_caller]
fn assert_free(user: &User, node_id: &str) {
    for lease in objects(&user.run(&["lease", "list", "--json"]).ok()) {
        // Released from the tick after its last id on.
        assert!(lease["remaining_ms"].as_u64() <= Some(2_000), "{lease}");
    }
    loop {
        let answer = user.run_keyed(&["generate", "--node-id", node_id]);
        if answer.status == Some(0) {
            return;
        }
        assert!(answer.stderr.contains("too few node ids are free"));
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_signal_ends_a_run_at_a_line_and_frees_its_node() {
    for (signal, status) in BOTH {
        for format in ["text", "json"] {
            let user = User::new();
            let generate = [
                "generate",
                "-n",
                "1000000000",
                "--node-id",
                "7",
                "--ttl",
                TTL,
                "--holder",
                "me",
                "--format",
                format,
            ];
            let mut child = start(&user, &generate, Stdio::piped());
            let mut output = BufReader::new(child.stdout.take().unwrap());
            let mut text = String::new();
            // Until it waits for the next second, too.
            for _ in 0..140_000 {
                assert_ne!(output.read_line(&mut text).unwrap(), 0, "it ended early");
            }
            let leases = objects(&user.run(&["lease", "list", "--json"]).ok());
            assert_eq!(leases[0]["node"], 7);
            assert!(leases[0]["holder"].as_str().unwrap().starts_with("me"));
            let taken = user.run_keyed(&["generate", "--node-id", "7"]).fails(3);
            assert!(taken.starts_with("too few node ids are free"), "{taken}");

            send(&child, signal);
            output.read_to_string(&mut text).unwrap();
            let answer = Answer::of(child.wait_with_output().unwrap());
            assert_eq!((answer.status, &*answer.said()), (Some(status), ""));
            assert!(text.ends_with('\n'));
            let last = text.lines().last().unwrap();
            match format {
                "text" => drop(user.run_keyed(&["inspect", last]).ok()),
                _ => drop(objects(last)),
            }
            assert_free(&user, "7");
        }
    }
}

/// As in front of a pager: nobody reads, the pipe is full.
#[test]
fn a_signal_ends_a_run_whose_reader_has_stalled() {
    for arguments in [
        &[
            "generate",
            "-n",
            "1000000000",
            "--node-id",
            "7",
            "--ttl",
            TTL,
        ][..],
        &["segment", "-n", "1000000000"],
        &["segment", "-n", "1000000000", "--encrypt"],
    ] {
        let user = User::new();
        user.begin_counter(&[]);
        let mut child = start(&user, arguments, Stdio::piped());
        let mut output = child.stdout.take().unwrap();
        let mut text = String::new();
        let mut first = [0; 1];
        output.read_exact(&mut first).unwrap();
        // It has filled the pipe, or will have.
        thread::sleep(Duration::from_millis(300));
        send(&child, Signal::TERM);
        assert_eq!(child.wait().unwrap().code(), Some(143));
        output.read_to_string(&mut text).unwrap();
        assert!(text.ends_with('\n') && text.len() > 1_000, "{}", text.len());
        if arguments[0] == "generate" {
            assert_free(&user, "7");
        }
    }
}

#[test]
fn a_signal_ends_what_is_written_to_a_file() {
    for (signal, status) in BOTH {
        for command in ["generate", "segment"] {
            let user = User::new();
            user.begin_counter(&[]);
            let path = user.path("ids");
            let file = File::create(&path).unwrap();
            let child = start(&user, &[command, "-n", "1000000000"], file.into());
            while fs::metadata(&path).unwrap().len() == 0 {
                thread::sleep(Duration::from_millis(10));
            }
            send(&child, signal);
            let answer = Answer::of(child.wait_with_output().unwrap());
            assert_eq!((answer.status, &*answer.said()), (Some(status), ""));
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.ends_with('\n'), "{command}");
            // A counter has no leases.
            if command == "generate" {
                for lease in objects(&user.run(&["lease", "list", "--json"]).ok()) {
                    assert!(lease["remaining_ms"].as_u64() <= Some(2_000), "{lease}");
                }
            }
        }
    }
}

#[test]
fn a_signal_ends_a_wait() {
    let user = User::new();
    user.run_keyed(&["generate"]).ok();
    user.run(&["lease", "quarantine"]).ok();
    for (signal, status) in BOTH {
        let wait = ["generate", "--wait", "10m"];
        let mut waiting = start(&user, &wait, Stdio::null());
        let mut said = String::new();
        let mut stderr = BufReader::new(waiting.stderr.take().unwrap());
        stderr.read_line(&mut said).unwrap();
        assert!(said.contains("waiting for at most 10m: "), "{said}");
        send(&waiting, signal);
        assert_eq!(waiting.wait().unwrap().code(), Some(status));
    }
}

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
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
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
    // The holder of the lock has the store.
    let lock = File::open(user.state("leases.db.lock")).unwrap();
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
    let lock = File::open(user.state("leases.db.lock")).unwrap();
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
