//! Commands that are ended by Ctrl-C or SIGTERM.

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
fn a_signal_ends_generate_at_a_whole_line_and_frees_its_node_id() {
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
fn a_ttl_and_a_holder_that_are_not_allowed_are_refused() {
    let user = User::new();
    for (option, value, said) in [
        (
            "--ttl",
            "soon",
            "a duration is allowed, such as 90, 90s, 5m or 1h",
        ),
        (
            "--ttl",
            "1s",
            "a TTL of 1s is too short: at least 3s is allowed",
        ),
        (
            "--ttl",
            "1h",
            "a TTL of 1h is too long: at most 1m is allowed, the longest of the namespace (see --max-ttl)",
        ),
        (
            "--holder",
            "",
            "1 to 96 bytes without control characters are allowed",
        ),
        ("--holder", "device/7", "no \"device\""),
    ] {
        let told = user.run_keyed(&["generate", option, value]).fails(2);
        assert!(told.contains(said), "{told}");
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
