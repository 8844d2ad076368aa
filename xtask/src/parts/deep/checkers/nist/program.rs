//! The 15 tests of NIST SP 800-22 on sequences of 10^6 bits from standard input, as the crate
//! `nistrs` computes them.

use std::io::{ErrorKind, Read as _, stdin};
use std::process::ExitCode;

use nistrs::prelude::*;
use statrs::function::gamma::gamma_ur;

const BYTES: usize = 125_000;
/// Of NIST: a sequence passes a test at this level.
const LEVEL: f64 = 0.01;
/// For a row of p-values: chance of a perfect source to be below it. NIST has 0.0001, for people
/// who look again.
const LEAST_UNIFORMITY: f64 = 1e-6;
/// NIST has 3, which one of two hundred rows misses in about every second run.
const MOST_DEVIATIONS: f64 = 6.0;

/// P-values of a test in its variants: a row for each.
struct Rows {
    name: &'static str,
    rows: Vec<Vec<f64>>,
}

impl Rows {
    fn add(&mut self, values: impl IntoIterator<Item = (bool, f64)>) {
        for (index, (_, value)) in values.into_iter().enumerate() {
            if self.rows.len() <= index {
                self.rows.push(Vec::new());
            }
            self.rows[index].push(value);
        }
    }
}

/// Deviations by which too few sequences pass.
fn deviations(row: &[f64]) -> f64 {
    let count = row.len() as f64;
    let passed = row.iter().filter(|value| **value >= LEVEL).count() as f64;
    let expected = 1.0 - LEVEL;
    (expected - passed / count) / (expected * LEVEL / count).sqrt()
}

/// P-value of the p-values: they are uniform.
fn uniformity(row: &[f64]) -> f64 {
    let mut bins = [0_f64; 10];
    for value in row {
        bins[((value * 10.0) as usize).min(9)] += 1.0;
    }
    let each = row.len() as f64 / 10.0;
    let square: f64 = bins.iter().map(|bin| (bin - each).powi(2) / each).sum();
    if square == 0.0 { 1.0 } else { gamma_ur(4.5, square / 2.0) }
}

fn main() -> ExitCode {
    let names = [
        "frequency", "block frequency", "cumulative sums", "runs", "longest run", "rank", "spectral",
        "non-overlapping templates", "overlapping templates", "universal", "approximate entropy",
        "excursions", "excursions variant", "serial", "linear complexity",
    ];
    let mut tests = names.map(|name| Rows { name, rows: Vec::new() });
    let mut sequences = 0;
    let mut bytes = vec![0; BYTES];
    loop {
        match stdin().lock().read_exact(&mut bytes) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => break,
            read => read.unwrap(),
        }
        let data = BitsData::from_binary(bytes.clone());
        sequences += 1;
        tests[0].add([frequency_test(&data)]);
        tests[1].add([block_frequency_test(&data, 128).unwrap()]);
        tests[2].add(cumulative_sums_test(&data));
        tests[3].add([runs_test(&data)]);
        tests[4].add([longest_run_of_ones_test(&data).unwrap()]);
        tests[5].add([rank_test(&data).unwrap()]);
        tests[6].add([fft_test(&data)]);
        tests[7].add(non_overlapping_template_test(&data, 9).unwrap());
        tests[8].add([overlapping_template_test(&data, 9)]);
        tests[9].add([universal_test(&data)]);
        tests[10].add([approximate_entropy_test(&data, 10)]);
        // Walks that return too seldom cannot be checked: four of ten.
        if let Ok(values) = random_excursions_test(&data) {
            tests[11].add(values);
        }
        if let Ok(values) = random_excursions_variant_test(&data) {
            tests[12].add(values);
        }
        tests[13].add(serial_test(&data, 16));
        tests[14].add([linear_complexity_test(&data, 500)]);
    }
    let mut failed = sequences == 0;
    println!("{sequences} sequences of 10^6 bits");
    println!("{:26} {:>4} {:>9} {:>10} {:>10} verdict", "test", "rows", "sequences", "deviations", "uniformity");
    for test in &tests {
        let rows = test.rows.iter();
        let most = rows.clone().map(|row| deviations(row)).fold(f64::MIN, f64::max);
        let least = rows.clone().map(|row| uniformity(row)).fold(1.0, f64::min);
        let checked = rows.map(Vec::len).max().unwrap_or_default();
        let is_bad = most > MOST_DEVIATIONS || least < LEAST_UNIFORMITY;
        failed |= is_bad;
        let verdict = if is_bad { "FAILED" } else { "passed" };
        println!(
            "{:26} {:4} {checked:9} {most:10.2} {least:10.2e} {verdict}",
            test.name,
            test.rows.len()
        );
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
