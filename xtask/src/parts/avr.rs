//! A part of `qemu`: `randflake-embedded/firmware/avr`, built for an 8-bit machine whose `usize` has 16 bits, and run on an
//! emulated one.

use crate::helpers::cargo::{cargo, nightly, program, root};
use crate::helpers::report::Report;
use crate::helpers::setup::Need;
use crate::helpers::tools::{AVR_LINKER, SIMAVR};
use crate::parts::qemu::target_folder;

/// Runs the image `$1` by the simavr `$0`: that ends when that sleeps, at the latest after two minutes. It shows each line in a colour, and
/// the line's end as a dot.
const EMULATE: &str = r#"timeout --signal=KILL 120 "$0" --mcu atmega1284p --freq 16000000 "$1" 2>&1 | sed 's/\x1b\[[0-9]*m//g; s/\.$//'"#;

pub(crate) fn needs() -> Vec<Need> {
    // The target's `core` is built from the source that Miri needs too.
    vec![Need::Miri, Need::Tool(&AVR_LINKER), Need::Tool(&SIMAVR)]
}

pub(crate) fn run(report: &mut Report) {
    let workspace = root().join("randflake-embedded/firmware/avr");
    let mut format = cargo(&["fmt", "--check"]);
    report.check("format", format.current_dir(&workspace));
    let tools = [&AVR_LINKER, &SIMAVR].map(|tool| report.tool(tool, "an AVR"));
    let [Some(linker), Some(emulator)] = tools else {
        return;
    };
    let target_folder = target_folder();
    let mut build = nightly(&["cargo", "build", "--locked", "--release"]);
    build
        .args(["-Zbuild-std=core", "--target", "avr-none"])
        .current_dir(workspace)
        .env("CARGO_TARGET_DIR", &target_folder)
        .env("CARGO_TARGET_AVR_NONE_LINKER", linker)
        .env("RUSTFLAGS", "-Ctarget-cpu=atmega1284p");
    if report.check("build", &mut build) {
        let image = target_folder.join("avr-none/release/firmware-avr.elf");
        let mut emulate = program("sh", &["-c", EMULATE]);
        report.tests("ATmega1284P", emulate.arg(emulator).arg(image));
    }
}
