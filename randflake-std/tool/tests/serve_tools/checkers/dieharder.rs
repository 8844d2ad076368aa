//! Dieharder, on ids as the world sees them and on those of a layout without encryption, which it
//! must tell from random.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::thread;

use super::Stream;
use super::{list, number};
use crate::server::Server;
use crate::told;

/// A test of dieharder: its number, its variant if it has one, and how often it is repeated if not
/// as often as it says itself.
type Test = (&'static str, Option<&'static str>, Option<&'static str>);

/// Tests as `NUMBER`, `NUMBER/VARIANT` or `NUMBERxTIMES`. Together they take 10^9 ids, a little
/// more than once.
const TESTS: &str = "0 1 2 3 4 8 9 10 11 12 13 15 16 17x5 100 101 102 200/1 200/2 200/3 200/4 200/5 201/2 201/3 201/4 201/5 \
                     202/2 202/3 202/4 202/5 203/0 203/1 204 205 206 207 208 209";

fn tests() -> impl Iterator<Item = Test> + Clone {
    TESTS.split(' ').map(|test| {
        let (test, times) = test
            .split_once('x')
            .map_or((test, None), |(test, times)| (test, Some(times)));
        let (number, variant) = test
            .split_once('/')
            .map_or((test, None), |(test, of)| (test, Some(of)));
        (number, variant, times)
    })
}

/// P-values of one test, each with dieharder's word about it, after it has taken as many ids as it
/// wants.
fn rows_of(stream: &mut Stream<'_>, (number, variant, times): Test) -> Vec<String> {
    let mut command = Command::new(told("RANDFLAKE_DIEHARDER"));
    // What stands on its standard input.
    command.args(["-g", "200", "-d", number]);
    command.args(variant.iter().flat_map(|variant| ["-n", variant]));
    command.args(times.iter().flat_map(|times| ["-p", times]));
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let output = thread::spawn(move || child.wait_with_output().unwrap());
    // It ends when it has enough.
    while input.write_all(stream.take(8_192)).is_ok() {}
    let said = output.join().unwrap().stdout;
    let said = String::from_utf8(said).unwrap();
    let rows: Vec<_> = said
        .lines()
        .filter(|line| {
            ["PASSED", "WEAK", "FAILED"]
                .iter()
                .any(|word| line.contains(word))
        })
        .map(|row| row.replace(' ', ""))
        .collect();
    assert!(!rows.is_empty(), "{said}");
    rows
}

#[test]
fn ids_are_random_to_it() {
    let server = Server::start();
    let mut stream = Stream::of(&server);
    let wanted = number("RANDFLAKE_CHECKED_IDS");
    let (mut values, mut weak, mut failed) = (0, Vec::new(), Vec::new());
    for test in tests().cycle() {
        let before = stream.taken;
        for row in rows_of(&mut stream, test) {
            println!("{row} {}", stream.taken - before);
            values += 1;
            if row.ends_with("FAILED") {
                failed.push(row);
            } else if row.ends_with("WEAK") {
                weak.push(row);
            }
        }
        if stream.taken >= wanted {
            break;
        }
    }
    let (ids, weak) = (stream.taken, weak.len());
    // It calls one of a hundred weak.
    println!("checked: {ids} ids, {values} p-values, {weak} weak");
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn it_tells_ids_that_are_not_encrypted() {
    let server = Server::start_with(&["--layout", "snowflake"]);
    let mut stream = Stream::of(&server);
    let rows = rows_of(&mut stream, ("8", None, Some("1")));
    assert!(rows.iter().all(|row| row.ends_with("FAILED")), "{rows:?}");
}

#[test]
fn what_is_left_out_has_a_reason() {
    for [kind, number, _] in list(include_str!("dieharder.txt")) {
        assert_eq!(kind, "test");
        assert!(tests().all(|(own, ..)| own != number), "{number}");
    }
}
