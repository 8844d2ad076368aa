//! Long tables, and readers that have enough.

use core::fmt::Write as _;
use std::io::{Read, Write as _};

use super::on;
use crate::user::{Answer, User, words};

/// Rows of all lengths, so that blocks end in all places of them, and one that is longer than a block.
#[test]
fn long_tables_are_those_of_their_rows() {
    let mut table = String::from("id,note\n");
    let mut expected = String::from("id,note,text\n");
    for row in 0_u64..20_000 {
        let id = row.wrapping_mul(0x9E37_79B9_7F4A_7C15).cast_signed();
        let note = match row {
            10_000 => "y\n".repeat(200_000),
            _ => "\"\"\r\n,".repeat(usize::try_from(row % 7).unwrap()),
        };
        let cells = format!("{id},\"{note}\"");
        writeln!(table, "{cells}").unwrap();
        let text = randflake_std::Id::from_i64(id).to_text();
        writeln!(expected, "{cells},{text}").unwrap();
    }
    let line = "inspect --csv --column id --from int --columns text";
    assert!(on(&table, line).ok() == expected);
    let line = "convert --csv --column 2 --no-header --from int --to int";
    let swapped = "\"a\nb\",5\n".repeat(30_000);
    assert!(on(&swapped, line).ok() == swapped);
}

#[test]
fn a_reader_that_has_enough_ends_a_table_quietly() {
    let user = User::new();
    let mut child = user.start(&words("inspect --csv --column id --from int"));
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdin
        .write_all(&[&b"id\n"[..], &b"5\n".repeat(100_000)].concat())
        .unwrap();
    let mut first = [0; 27];
    stdout.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"id,time_utc,node,sequence\n5");
    drop(stdout);
    // It ends though its own input goes on.
    let answer = Answer::of(child.wait_with_output().unwrap());
    assert_eq!(answer.ok(), "");
    drop(stdin);
}

#[cfg(target_os = "linux")]
#[test]
fn the_memory_of_a_table_does_not_grow_with_it() {
    const ROWS: usize = 40_000;
    let user = User::new();
    let mut child = user.start(&words("inspect --csv --column id --from int"));
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
    let rows = format!("5,{}\n", "x".repeat(1_021)).repeat(1_000);
    stdin.write_all(b"id,note\n").unwrap();
    for _ in 0..ROWS / 1_000 {
        stdin.write_all(rows.as_bytes()).unwrap();
    }
    // It has read all but what is in the pipe, and waits for more.
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: usize = peak
        .unwrap()
        .trim()
        .split(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    // The program itself, as it is built for tests, takes some 20,000.
    assert!(kib < ROWS / 4 * 3, "{kib} KiB of {ROWS}");
    drop(stdin);
    assert!(reader.join().unwrap().unwrap() > 40 << 20);
    assert!(child.wait().unwrap().success());
}
