//! A machine that holds a lease is saved once and resumed twice, side by side: what both issue, and
//! when that ends.
//!
//! The program is also the machine's only process, which is why it has its own `main`.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking; the figures are for people"
)]

mod image;
mod journal;
mod machine;
mod scenarios;
mod system;

use core::time::Duration;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use randflake_std::Randflake;
use randflake_std::lease::Namespace;

const TRIALS: &[(&str, fn())] = &[
    (
        "what_repeats_where_it_must_not_is_found",
        journal::planted::all,
    ),
    (
        "what_a_machine_runs_holds_its_lease_and_tells_of_it",
        scenarios::without_a_machine,
    ),
    (
        "resumed_twice_while_the_lease_lives",
        scenarios::while_the_lease_lives,
    ),
    (
        "resumed_twice_after_the_lease_has_expired",
        scenarios::after_the_lease_has_expired,
    ),
    (
        "resumed_twice_with_clocks_that_are_late",
        scenarios::with_clocks_that_are_late,
    ),
    (
        "resumed_beside_the_original_with_a_late_clock",
        scenarios::beside_the_original,
    ),
];

fn main() -> ExitCode {
    if machine::is_this() {
        machine::run();
    }
    let trials = TRIALS.iter().map(|&(name, run)| {
        Trial::test(name, move || {
            run();
            Ok(())
        })
    });
    let mut arguments = Arguments::from_args();
    // Each wants the machine for itself.
    arguments.test_threads = Some(1);
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

fn namespace(ttl: Duration) -> Namespace {
    Namespace::new("copies", Randflake)
        .unwrap()
        .with_max_ttl(ttl)
}
