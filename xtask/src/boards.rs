//! `boards`: `randflake-embedded/examples`: what is for a board compiles for it, and what needs none is tested.

use std::path::PathBuf;
use std::process::Command;

use crate::cargo::{cargo, root, target};
use crate::lint::DENY;
use crate::report::Report;
use crate::setup::Need;

/// An example, and its target, which its `.cargo/config.toml` names too.
const BOARDS: &[(&str, &str)] = &[
    ("esp32c3", "riscv32imc-unknown-none-elf"),
    ("nrf52840", "thumbv7em-none-eabihf"),
    ("pico", "thumbv6m-none-eabi"),
    ("rp2040", "thumbv6m-none-eabi"),
    ("rtic", "thumbv7em-none-eabihf"),
    ("stm32f411", "thumbv7em-none-eabihf"),
];

const TESTED: &[&str] = &["i2c-rtc"];

pub(crate) fn needs() -> Vec<Need> {
    let targets = BOARDS.iter().map(|(_, target)| Need::Target(target));
    targets.chain(crate::lint::needs()).collect()
}

pub(crate) fn run(report: &mut Report) {
    report.check(
        "examples, format",
        &mut inside("", &["fmt", "--all", "--check"]),
    );
    report.verdict(
        "the guide's code is that of an example",
        crate::guide::check(),
    );
    for (board, target) in BOARDS {
        let arguments = ["clippy", "--locked", "--target", target];
        report.check(board, inside(board, &arguments).args(DENY));
    }
    for example in TESTED {
        report.tests(example, &mut inside(example, &["test", "--locked"]));
    }
}

/// Cargo in a folder of the examples: there its settings are found. Nobody debugs what is built here.
fn inside(folder: &str, arguments: &[&str]) -> Command {
    let mut command = cargo(arguments);
    command
        .current_dir(workspace().join(folder))
        .env("CARGO_TARGET_DIR", target().join("examples"))
        .env("CARGO_PROFILE_DEV_DEBUG", "false");
    command
}

fn workspace() -> PathBuf {
    root().join("randflake-embedded/examples")
}
