//! Long inputs and outputs, which go in pieces: nothing is lost, doubled or split between them.

use core::fmt::Write as _;
use std::io::{Read, Write as _};

use crate::user::{Answer, User};

/// Lines of every form and length, so that pieces end in all places of them.
fn numbers(count: i64) -> Vec<i64> {
    let one = |index: i64| index.wrapping_mul(0x1E37_79B9_7F4A_7C15) >> (index % 64);
    (0..count).map(one).collect()
}

fn lines(numbers: &[i64], end: &str) -> String {
    numbers.iter().fold(String::new(), |mut text, number| {
        _ = write!(text, "{number}{end}");
        text
    })
}

#[test]
fn long_inputs_are_converted_there_and_back() {
    let user = User::new();
    let numbers = numbers(60_000);
    let given = lines(&numbers, "\n");
    assert!(given.len() > 10 * (64 << 10));
    for form in [
        "text", "uint", "hex", "base2", "base32", "base36", "base58", "base62", "base64", "bytes",
        "uuid",
    ] {
        let there = ["convert", "--from", "int", "--to", form];
        let there = user.run_on(given.as_bytes(), &there).ok();
        assert_eq!(there.lines().count(), numbers.len());
        let back = ["convert", "--from", form, "--to", "int"];
        assert_eq!(user.run_on(there.as_bytes(), &back).ok(), given, "{form}");
    }
}

#[test]
fn ends_of_lines_are_of_any_kind_and_the_last_may_go_without() {
    let user = User::new();
    let numbers = numbers(20_000);
    let given = lines(&numbers, "\n");
    let same = ["convert", "--from", "int", "--to", "int"];
    for end in ["\r\n", " \n", " \t\r\n", "\u{a0}\n"] {
        let other = lines(&numbers, end);
        assert_eq!(user.run_on(other.as_bytes(), &same).ok(), given, "{end:?}");
        let cut = other.trim_end();
        assert_eq!(user.run_on(cut.as_bytes(), &same).ok(), given, "{end:?}");
    }
}

/// A column of a table is blank where a row has no id: what follows must not move up.
#[test]
fn a_blank_line_is_refused_unless_it_is_at_the_end() {
    for command in ["inspect", "convert"] {
        let help = User::new().run(&[command, "--help"]).ok();
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        let rule =
            "The first line that is no id ends it, a blank one too, except at the end of the input";
        assert!(help.contains(rule), "{help}");
    }
    let user = User::new();
    let same = ["convert", "--from", "int", "--to", "int"];
    for blanks in ["\n", "\r\n", " \n\n"] {
        let given = format!("1\n2\n{blanks}");
        assert_eq!(user.run_on(given.as_bytes(), &same).ok(), "1\n2\n");
        let answer = user.run_on(format!("{given}3\n").as_bytes(), &same);
        assert_eq!(answer.stdout, "1\n2\n");
        let said = answer.fails(2);
        assert!(said.starts_with("line 3: blank, and ids follow"), "{said}");
    }
    assert_eq!(user.run_on(b"\n \n", &same).ok(), "");
}

#[test]
fn all_before_the_first_wrong_line_is_printed() {
    let user = User::new();
    let same = ["convert", "--from", "int", "--to", "int"];
    for before in [0, 1, 2_047, 2_048, 2_049, 5_000, 9_999] {
        let good = lines(&numbers(before), "\n");
        let long = "1".repeat(4_097);
        for (wrong, problem) in [
            (
                "3x",
                "\"3x\": not a number from -9223372036854775808 to 9223372036854775807",
            ),
            (&*long, "longer than 4096 bytes, as no id is"),
        ] {
            for rest in ["", "\n", "\n1\n"] {
                let given = format!("{good}{wrong}{rest}");
                let answer = user.run_on(given.as_bytes(), &same);
                assert_eq!(answer.stdout, good, "{before}");
                let said = format!("line {}: {problem}", before + 1);
                assert_eq!(answer.fails(2), said);
            }
        }
    }
}

#[test]
fn all_before_the_first_id_of_another_layout_is_printed() {
    let user = User::new();
    let good: Vec<i64> = (1..=3_000).collect();
    let given = lines(&good, "\n") + "-1\n5\n";
    let arguments = [
        "convert",
        "--from",
        "int",
        "--to",
        "int",
        "--layout",
        "snowflake",
    ];
    let answer = user.run_on(given.as_bytes(), &arguments);
    assert_eq!(answer.stdout, lines(&good, "\n"));
    assert!(answer.fails(2).starts_with("-1: the layout has no such id"));
}

#[test]
fn a_reader_that_has_enough_ends_a_conversion_quietly() {
    let user = User::new();
    let mut child = user.start(&["convert", "--from", "int", "--to", "hex"]);
    let mut stdin = child.stdin.take().unwrap();
    let given = lines(&numbers(100_000), "\n");
    // It ends when the other side has gone.
    let writer = std::thread::spawn(move || _ = stdin.write_all(given.as_bytes()));
    let mut first = [0; 17];
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"0000000000000000\n");
    drop(stdout);
    writer.join().unwrap();
    let answer = Answer::of(child.wait_with_output().unwrap());
    assert_eq!(answer.ok(), "");
}

#[test]
fn long_records_are_those_of_each_id_alone() {
    let user = User::new();
    let ids = user.run_keyed(&["generate", "-n", "5000"]).ok();
    for shape in [&["inspect"][..], &["inspect", "--json"]] {
        let all = user.run_on(ids.as_bytes(), shape).ok();
        assert_eq!(all.lines().count(), 5_000);
        for (id, line) in ids.lines().zip(all.lines()).step_by(701) {
            // Two, for with one alone each field has a line.
            let alone = user.run_keyed(&[shape, &[id, id]].concat()).ok();
            assert_eq!(alone, format!("{line}\n{line}\n"));
        }
    }
}

/// What is written by hand, and what a library writes of the same values.
#[test]
fn objects_are_those_of_a_json_library_byte_for_byte() {
    let user = User::new();
    let numbers = lines(&numbers(20_000), "\n");
    for (layout, parts) in [
        ("randflake", &[][..]),
        ("mastodon", &[]),
        ("encrypted:discord", &["worker", "process"]),
        (
            "custom:38,a-name-that-is-long-enough-to-fill-more-than-one-of-the-pieces:6+b:14+c:2,4@2020-01-01/7",
            &[
                "a-name-that-is-long-enough-to-fill-more-than-one-of-the-pieces",
                "b",
                "c",
            ],
        ),
    ] {
        let inspect = ["inspect", "--json", "--from", "int", "--layout", layout];
        let inspected = user.run_on(numbers.as_bytes(), &inspect).ok();
        assert_eq!(inspected.lines().count(), 20_000);
        let many = ["generate", "-n", "5000", "--format", "json"];
        let generate = [&many[..], &["--layout", layout, "--shared-secret"]].concat();
        let generated = user.run_keyed(&generate).ok();
        assert_eq!(generated.lines().count(), 5_000);
        for line in inspected.lines().chain(generated.lines()) {
            let read: serde_json::Value = serde_json::from_str(line).unwrap();
            let mut again = String::from("{");
            for name in ["text", "int", "raw", "time", "unix_ms", "time_utc", "node"] {
                _ = write!(again, "{name:?}:{},", read[name]);
            }
            if !parts.is_empty() {
                let part = |name: &&str| format!("{name:?}:{}", read["node_parts"][name]);
                let parts: Vec<_> = parts.iter().map(part).collect();
                _ = write!(again, "\"node_parts\":{{{}}},", parts.join(","));
            }
            _ = write!(again, "\"sequence\":{}}}", read["sequence"]);
            assert_eq!(line, again);
        }
    }
}
