//! Output on a terminal: the bits of an id, and colours

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::Stdio;

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::user::{Answer, KEY, User, words};

const BITS: &str = "\
bits      000000001110001000110110111001..................................  time
          ..............................00000000000101010.................  node
          ...............................................00000000000000001  sequence
";

/// A pseudoterminal: the side of who looks at it, and that of programs.
fn pseudoterminal() -> (File, OwnedFd) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let terminal = open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    (File::from(master), terminal)
}

/// What is printed on a pseudoterminal, with lines as a terminal ends them.
fn on_terminal(user: &User, variables: &[(&str, &str)], arguments: &[&str]) -> String {
    let (mut master, terminal) = pseudoterminal();
    let mut command = user.command(arguments);
    // What else decides on colours, and may be set where the tests run.
    for variable in ["CI", "CLICOLOR", "CLICOLOR_FORCE", "NO_COLOR"] {
        command.env_remove(variable);
    }
    command
        .env("RANDFLAKE_KEY", KEY)
        .env("TERM", "xterm")
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stderr(terminal.try_clone().unwrap())
        .stdout(terminal);
    let mut child = command.spawn().unwrap();
    // Else it would never be closed.
    drop(command);
    let mut shown = Vec::new();
    // The last read fails on Linux, when nobody has the other side any more.
    _ = master.read_to_end(&mut shown);
    child.wait().unwrap();
    String::from_utf8(shown).unwrap().replace("\r\n", "\n")
}

/// Without what sets colours.
fn plain(shown: &str) -> String {
    let mut pieces = shown.split('\u{1b}');
    let first = pieces.next().unwrap().to_owned();
    pieces.fold(first, |text, piece| text + piece.split_once('m').unwrap().1)
}

#[test]
fn a_terminal_shows_the_bits_of_an_id_in_colours() {
    let user = User::new();
    let inspect = ["inspect", "3vgoe12ccb8gh"];
    let piped = user.run_keyed(&inspect).ok();
    let shown = on_terminal(&user, &[], &inspect);
    assert!(shown.contains("\u{1b}["), "{shown:?}");
    assert_eq!(plain(&shown), piped.clone() + BITS);
    for variables in [
        &[("NO_COLOR", "1")][..],
        &[("TERM", "dumb")],
        &[("CLICOLOR", "0")],
    ] {
        assert_eq!(
            on_terminal(&user, variables, &inspect),
            piped.clone() + BITS
        );
    }
    // Lines of several ids, and objects, are what they are elsewhere.
    for arguments in [
        &["inspect", "3vgoe12ccb8gh", "v"][..],
        &["inspect", "--json", "3vgoe12ccb8gh"],
        &words("compose --time 1733706297 --node 42 --sequence 1")[..],
    ] {
        let shown = on_terminal(&user, &[], arguments);
        assert_eq!(shown, user.run_keyed(arguments).ok());
    }
    let wrong = on_terminal(&user, &[], &["inspect", "V"]);
    assert!(
        wrong.starts_with("\u{1b}[") && wrong.contains("randflake:\u{1b}"),
        "{wrong:?}"
    );
    assert!(plain(&wrong).starts_with("randflake: \"V\": 'V', character 1,"));
}

#[test]
fn a_long_run_shows_its_rate_and_the_time_left() {
    let user = User::new();
    let (mut master, terminal) = pseudoterminal();
    // A node id has 131,072 in a second.
    let long = ["generate", "-n", "600000", "--node-ids", "1"];
    let mut command = user.command(&long);
    command.env("RANDFLAKE_KEY", KEY).env("TERM", "xterm");
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.stderr(terminal).spawn().unwrap();
    drop(command);
    let mut shown = Vec::new();
    _ = master.read_to_end(&mut shown);
    assert!(child.wait().unwrap().success());
    let shown = String::from_utf8(shown).unwrap();
    let line = shown
        .split(['\r', '\n'])
        .rfind(|line| line.contains(" of 600,000 ids, "))
        .unwrap_or_else(|| panic!("{shown:?}"));
    let (_, times) = line.split_once(" of 600,000 ids, ").unwrap();
    let [_, rate, left] = times.split(", ").collect::<Vec<_>>()[..] else {
        panic!("{line:?}");
    };
    let rate = rate.strip_suffix("/s").unwrap().replace(',', "");
    assert!(rate.parse::<u64>().is_ok(), "{line:?}");
    assert!(left.contains("s left"), "{line:?}");
}

/// Standard output may have gone before a message is written, too.
#[test]
fn a_closed_error_stream_does_no_harm() {
    let user = User::new();
    let mut child = user.start(&["inspect"]);
    drop(child.stderr.take());
    child.stdin.take().unwrap().write_all(b"V\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(Answer::of(output).status, Some(2));
}
