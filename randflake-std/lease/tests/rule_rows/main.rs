//! Answers and writes of the shipped rules, as numbers, for `cargo xtask proof` to compare with
//! what is proved.
//!
//! Each row is a view, a caller and a request, taken at random but close to where the rules decide,
//! and for each operation its answer and its change. First comes a line with the names of the
//! columns; then each row, all columns as `i64`.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod answers;
mod blocks;
mod clocks;
mod counters;
mod inputs;
mod keys;
mod pairs;

use std::env;
use std::fs::File;
use std::io::{BufWriter, Write};

use inputs::Inputs;

/// The file or pipe to write to, and how many rows.
const ROWS: &str = "RANDFLAKE_PROOF_ROWS";
const COUNT: &str = "RANDFLAKE_PROOF_COUNT";

#[test]
fn rows_are_written() {
    let count: u64 = env::var(COUNT).unwrap().parse().unwrap();
    let mut rows = BufWriter::new(File::create(env::var_os(ROWS).unwrap()).unwrap());
    let mut names: Vec<String> = Inputs::NAMES.iter().map(ToString::to_string).collect();
    names.extend(answers::names());
    names.extend(pairs::names());
    names.extend(counters::names());
    names.extend(clocks::names());
    names.extend(blocks::names());
    writeln!(rows, "{}", names.join(" ")).unwrap();
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..count {
        let inputs = Inputs::random(&mut random);
        let mut row = inputs.values().to_vec();
        row.extend(answers::of(&inputs));
        row.extend(pairs::row(&inputs, &mut random));
        row.extend(counters::row(&mut random));
        row.extend(clocks::row(&mut random));
        row.extend(blocks::row(&mut random));
        assert_eq!(row.len(), names.len());
        for value in row {
            rows.write_all(&value.to_le_bytes()).unwrap();
        }
    }
    rows.flush().unwrap();
}
