//! `randflake serve` under load: `rates`, ids a second beside Redis, and `memory`, what floods and
//! bursts of connections make it hold.
//!
//! `cargo xtask bench serve` and `cargo xtask bench memory` run it, and say where the programs are
//! that load servers; as a test, which goes through a short form of both, it does nothing unless it
//! is told them.

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

mod container;
mod floods;
mod memory;
mod paced;
mod rates;
mod servers;

use std::env;
use std::path::PathBuf;

use servers::Load;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let value = |name: &str| {
        let place = arguments.iter().position(|own| own == name)?;
        arguments.get(place + 1)
    };
    let number =
        |name: &str, otherwise| value(name).map_or(otherwise, |text| text.parse().unwrap());
    let program = value("--program").map_or(env!("CARGO_BIN_EXE_randflake").into(), PathBuf::from);
    let is = |word: &str| arguments.iter().any(|own| own == word);
    // Without it, it is run as a test.
    if !is("--bench") {
        if Load::is_told() {
            println!("{}", rates::measure(&program, &rates::SHORT, 1));
            memory::measure(&program, &memory::SHORT);
        }
    } else if is("rates") {
        println!(
            "{}",
            rates::measure(&program, &rates::WHOLE, number("--rounds", rates::ROUNDS))
        );
    } else if is("memory") {
        let bursts = number("--bursts", memory::WHOLE.bursts);
        memory::measure(
            &program,
            &memory::Size {
                bursts,
                ..memory::WHOLE
            },
        );
    }
}
