//! Dieharder, on ids as the world sees them and on those of a layout without encryption, which it must tell from random.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::thread;

use super::stream::Stream;
use super::{list, number};
use crate::server::Server;
use crate::told;

/// A test of dieharder: its number, its variant if it has one, and how often it is repeated if not as often as it says itself.
type Test = (&'static str, Option<&'static str>, Option<&'static str>);

const fn test(number: &'static str) -> Test {
    (number, None, None)
}

const fn variant(number: &'static str, variant: &'static str) -> Test {
    (number, Some(variant), None)
}

/// Together they take 10^9 ids, a little more than once.
const TESTS: &[Test] = &[
    test("0"),
    test("1"),
    test("2"),
    test("3"),
    test("4"),
    test("8"),
    test("9"),
    test("10"),
    test("11"),
    test("12"),
    test("13"),
    test("15"),
    test("16"),
    ("17", None, Some("5")),
    test("100"),
    test("101"),
    test("102"),
    variant("200", "1"),
    variant("200", "2"),
    variant("200", "3"),
    variant("200", "4"),
    variant("200", "5"),
    variant("201", "2"),
    variant("201", "3"),
    variant("201", "4"),
    variant("201", "5"),
    variant("202", "2"),
    variant("202", "3"),
    variant("202", "4"),
    variant("202", "5"),
    variant("203", "0"),
    variant("203", "1"),
    test("204"),
    test("205"),
    test("206"),
    test("207"),
    test("208"),
    test("209"),
];

/// P-values of one test, each with dieharder's word about it, after it has taken as many ids as it wants.
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
    let rows = said.lines().filter(|line| {
        ["PASSED", "WEAK", "FAILED"]
            .iter()
            .any(|word| line.contains(word))
    });
    let rows: Vec<_> = rows.map(|row| row.replace(' ', "")).collect();
    assert!(!rows.is_empty(), "{said}");
    rows
}

#[test]
fn ids_are_random_to_it() {
    let server = Server::start();
    let mut stream = Stream::of(&server);
    let wanted = number("RANDFLAKE_CHECKED_IDS");
    let (mut values, mut weak, mut failed) = (0, Vec::new(), Vec::new());
    for test in TESTS.iter().cycle() {
        let before = stream.taken;
        for row in rows_of(&mut stream, *test) {
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
        assert!(TESTS.iter().all(|(own, _, _)| *own != number), "{number}");
    }
}
