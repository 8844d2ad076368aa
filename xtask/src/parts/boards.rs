//! `boards`: `randflake-embedded/examples`: what is for a board compiles for it, and what needs none is tested.

use std::process::Command;

use crate::helpers::cargo::{cargo, root, target};
use crate::helpers::report::Report;
use crate::helpers::setup::Need;
use crate::parts::lint::DENY;

/// Examples, and the target that their `.cargo/config.toml` names. Those of one target are checked together, so that what
/// they stand on is compiled once.
const BOARDS: &[(&str, &[&str])] = &[
    ("riscv32imc-unknown-none-elf", &["esp32c3@0.0.0"]),
    (
        "thumbv7em-none-eabihf",
        &["nrf52840", "rtic-stm32f411", "stm32g431"],
    ),
    ("thumbv6m-none-eabi", &["pico"]),
];

/// Has one set of features for what macros stand on, so that all boards share it.
const HOST_MACROS: &str = "host-macros";

const TESTED: &[&str] = &["i2c-rtc", "pace", "settings"];

pub(crate) fn needs() -> Vec<Need> {
    let targets = BOARDS.iter().map(|(target, _)| Need::Target(target));
    targets.chain(crate::parts::lint::format_needs()).collect()
}

pub(crate) fn run(report: &mut Report) {
    report.check("examples, format", &mut inside(&["fmt", "--check"]));
    report.verdict(
        "the guide's code is that of an example",
        crate::parts::guide::check(),
    );
    for (target, boards) in BOARDS {
        let mut clippy = inside(&["clippy", "--locked", "--target", target]);
        clippy.args(packages(boards));
        report.check(&boards.join(", "), clippy.args(DENY));
    }
    let mut tests = inside(&["test", "--locked"]);
    report.tests("examples for any board", tests.args(packages(TESTED)));
}

fn packages<'a>(names: &'a [&str]) -> impl Iterator<Item = &'a str> {
    let names = names.iter().copied().chain([HOST_MACROS]);
    names.flat_map(|name| ["--package", name])
}

/// Cargo in the workspace of the examples.
fn inside(arguments: &[&str]) -> Command {
    let mut command = cargo(arguments);
    command
        .current_dir(root().join("randflake-embedded/examples"))
        .env("CARGO_TARGET_DIR", target().join("examples"));
    command
}
