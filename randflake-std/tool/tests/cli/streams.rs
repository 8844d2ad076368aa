//! Long inputs and outputs, which go in pieces: nothing is lost, doubled or split between them. And
//! ids that were rounded

use core::fmt::Write as _;
use std::io::Write as _;

use crate::user::{Answer, User, words};

/// Lines of every form and length, so that pieces end in all places of them.
fn numbers(count: i64) -> Vec<i64> {
    (0..count)
        .map(|index: i64| index.wrapping_mul(0x1E37_79B9_7F4A_7C15) >> (index % 64))
        .collect()
}

fn lines(numbers: &[i64], end: &str) -> String {
    numbers.iter().fold(String::new(), |mut text, number| {
        _ = write!(text, "{number}{end}");
        text
    })
}

fn on(input: &str, line: &str) -> Answer {
    User::new().run_on(input.as_bytes(), &words(line))
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
fn line_ends_are_of_any_kind_and_the_last_is_optional() {
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
                let parts: Vec<_> = parts
                    .iter()
                    .map(|name: &&str| format!("{name:?}:{}", read["node_parts"][name]))
                    .collect();
                _ = write!(again, "\"node_parts\":{{{}}},", parts.join(","));
            }
            _ = write!(again, "\"sequence\":{}}}", read["sequence"]);
            assert_eq!(line, again);
        }
    }
}

/// Rows of all lengths, so that blocks end in all places of them, and one that is longer than a
/// block.
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

/// Ids as encryption makes them.
fn ids() -> impl Iterator<Item = i64> {
    (1..=100_i64).map(|row| row.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64.cast_signed()))
}

/// As JavaScript, jq 1.6 and a SQL engine print a number: the shortest digits that read as the same
/// `float64`.
#[expect(
    clippy::cast_precision_loss,
    reason = "what these programs do to an id"
)]
fn printed(id: i64) -> String {
    (id as f64).to_string()
}

fn joined(ids: impl Iterator<Item = String>) -> String {
    ids.map(|id| id + "\n").collect()
}

const REFUSED: &str = "the first 8 long ids are written as floating-point numbers are (such as -7046029254386353000): \
                       JavaScript, jq, pandas or a spreadsheet had them, the last digits are probably lost, and these are other \
                       ids; read them from the source again, as text or as whole numbers; if they are right, --not-rounded \
                       takes them";

#[test]
fn a_stream_of_rounded_ids_is_refused() {
    let user = User::new();
    let rounded = joined(ids().map(printed));
    let objects = joined(ids().map(|id| format!("{{\"id\":{}}}", printed(id))));
    let whole = joined(ids().map(|id| id.to_string()));
    for (input, line, count) in [
        (&rounded, "inspect --from int", 100),
        (&rounded, "inspect --from int --csv", 101),
        (&rounded, "convert --from int --to text", 100),
        (&rounded, "convert --from int --to text --decrypt", 100),
        (&rounded, "histogram --from int --json", 1),
        (&objects, "inspect --from int --jsonl --column id", 100),
        (
            &objects,
            "convert --from int --to text --jsonl --column id",
            100,
        ),
    ] {
        let told = user.run_on(input.as_bytes(), &words(line));
        // Of a table the header stands there.
        assert!(told.stdout.lines().count() <= 1, "{line}");
        assert_eq!(told.fails(2), REFUSED, "{line}");
        let trusted = format!("{line} --not-rounded");
        let told = user.run_on(input.as_bytes(), &words(&trusted)).ok();
        assert_eq!(told.lines().count(), count);
    }
    user.run_on(whole.as_bytes(), &words("inspect --from int"))
        .ok();
    // One that is whole shows that none was rounded.
    let one_is_whole = format!("{}\n{rounded}", i64::MAX - 12_345);
    user.run_on(one_is_whole.as_bytes(), &words("inspect --from int"))
        .ok();
}

#[test]
fn arguments_that_are_all_rounded_are_refused() {
    let ids: Vec<_> = ids().take(8).map(printed).collect();
    let line = [
        &["inspect", "--from", "int", "--"],
        &ids.iter().map(String::as_str).collect::<Vec<_>>()[..],
    ];
    assert_eq!(User::new().run_keyed(&line.concat()).fails(2), REFUSED);
}

#[test]
fn tables_of_rounded_ids_are_refused() {
    let ids = |round: fn(i64) -> i64| {
        let ids =
            (1..=30).map(|row: i64| round(row.wrapping_mul(0x0E37_79B9_7F4A_7C15)).to_string());
        format!("id\n5\n{}\n", ids.collect::<Vec<_>>().join("\n"))
    };
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "what pandas does to a column with missing numbers"
    )]
    let floats = ids(|id| id as f64 as i64);
    let digits = ids(|id| id / 10_000 * 10_000);
    let line = "inspect --csv --column id --from int";
    let said = "the first 8 long ids are written as floating-point numbers are (such as ";
    for table in [&digits, &floats] {
        for line in [line, "convert --csv --column id --from int --to text"] {
            let told = on(table, line);
            assert!(told.stdout.lines().count() <= 1);
            let told = told.fails(2);
            assert!(told.starts_with(said), "{told}");
            assert!(told.ends_with("if they are right, --not-rounded takes them"));
            let told = on(table, &format!("{line} --not-rounded"));
            assert_eq!(told.ok().lines().count(), 32);
        }
    }
    let one_is_whole = digits.replacen("id\n5\n", "id\n4594531474933654033\n", 1);
    for (table, line) in [
        (&ids(|id| id), line),
        (&one_is_whole, line),
        // Snowflakes of node 0 end in bits of zero.
        (
            &floats,
            "inspect --csv --column id --from int --layout snowflake",
        ),
    ] {
        on(table, line).ok();
    }
}
