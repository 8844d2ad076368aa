//! Seconds and peak memory of the command line tool for tables of millions of rows, from a file to
//! a file.
//!
//! - `cargo bench -p randflake --bench tables` measures five million rows of each format, `--
//!   --rows N` others.
//! - `cargo bench -p randflake --bench tables -- --write csv > orders.csv` writes the rows, or
//!   those of `tsv`, `jsonl` and `list`, to try something else with them. `--ordered` has them in
//!   the order of time.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a benchmark fails by panicking"
)]
#![expect(
    clippy::print_stdout,
    reason = "a benchmark reports on its standard output"
)]

mod rows;

use core::mem::MaybeUninit;
use std::env;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use rows::{Format, Ids, KEY};
use tempfile::TempDir;

/// A format, and the arguments of a command that reads it.
const CASES: [(Format, &str); 8] = [
    (Format::Csv, "inspect --csv --column order_id --from int"),
    (
        Format::Csv,
        "inspect --csv --column order_id --from int --columns raw",
    ),
    (
        Format::Csv,
        "convert --csv --column order_id --from int --to text",
    ),
    (
        Format::Csv,
        "convert --csv --column order_id --from int --to int --decrypt",
    ),
    (Format::Tsv, "inspect --tsv --column order_id --from int"),
    (
        Format::Jsonl,
        "inspect --jsonl --column order_id --from int",
    ),
    (
        Format::List,
        "inspect --csv --from int --columns id,time,node,sequence",
    ),
    (Format::List, "inspect --csv --from int"),
];

fn main() {
    let mut arguments = env::args().skip(1);
    let (mut is_bench, mut is_ordered) = (false, false);
    let (mut rows, mut write) = (None, None);
    while let Some(argument) = arguments.next() {
        match &*argument {
            // Without it, it is run as a test.
            "--bench" => is_bench = true,
            "--ordered" => is_ordered = true,
            "--rows" => rows = arguments.next().map(|rows| rows.parse().unwrap()),
            "--write" => write = arguments.next(),
            _ => {}
        }
    }
    let rows = rows.unwrap_or(if is_bench { 5_000_000 } else { 1_000 });
    let mut ids = Ids::new(rows, is_ordered);
    let Some(name) = write else {
        return measure(rows, is_ordered);
    };
    let format = Format::ALL.iter().find(|(own, _)| *own == name);
    let (_, format) = format.unwrap_or_else(|| panic!("--write {name}: csv, tsv, jsonl or list"));
    let mut out = BufWriter::new(io::stdout().lock());
    rows::write(&mut out, *format, rows, &mut ids).unwrap();
    out.flush().unwrap();
}

fn measure(rows: u64, is_ordered: bool) {
    let folder = TempDir::new().unwrap();
    println!("{rows} rows, median of 5");
    println!("{:70} {:>6} {:>6} {:>6}", "", "s", "MB/s", "MiB");
    for (name, format) in Format::ALL {
        let path = folder.path().join(name);
        let mut out = BufWriter::new(File::create(&path).unwrap());
        let mut ids = Ids::new(rows, is_ordered);
        rows::write(&mut out, format, rows, &mut ids).unwrap();
        out.into_inner().unwrap();
        for (_, line) in CASES.iter().filter(|(own, _)| *own == format) {
            let mut runs: Vec<_> = (0..5)
                .map(|_| run(&path, &folder.path().join("out"), line))
                .collect();
            runs.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (seconds, kib) = runs[runs.len() / 2];
            #[expect(clippy::cast_precision_loss, reason = "gigabytes")]
            let megabytes = fs::metadata(&path).unwrap().len() as f64 / 1e6;
            println!(
                "{line:70} {seconds:6.2} {:6.0} {:6.1}",
                megabytes / seconds,
                kib / 1_024.0
            );
        }
        fs::remove_file(path).unwrap();
    }
}

/// Seconds and peak memory in KiB of a command.
#[expect(
    clippy::zombie_processes,
    reason = "`wait4` waits for it, and says what it took"
)]
fn run(input: &PathBuf, output: &PathBuf, line: &str) -> (f64, f64) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_randflake"));
    command
        .args(line.split_whitespace())
        .env("RANDFLAKE_KEY", KEY)
        .stdin(File::open(input).unwrap())
        .stdout(Stdio::from(File::create(output).unwrap()));
    let start = Instant::now();
    let child = command.spawn().unwrap();
    let id = libc::pid_t::try_from(child.id()).unwrap();
    let (mut status, mut usage) = (0, MaybeUninit::<libc::rusage>::uninit());
    #[expect(
        unsafe_code,
        reason = "the standard library does not say what a child took"
    )]
    // SAFETY: there is room for both answers where the pointers lead.
    let waited = unsafe { libc::wait4(id, &raw mut status, 0, usage.as_mut_ptr()) };
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!((waited, status), (id, 0), "{line}");
    #[expect(unsafe_code, reason = "as above")]
    // SAFETY: the call has succeeded, so it has written all of it.
    let usage = unsafe { usage.assume_init() };
    #[expect(clippy::cast_precision_loss, reason = "some MiB")]
    (seconds, usage.ru_maxrss as f64)
}
