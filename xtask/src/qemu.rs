//! `qemu`: `randflake-embedded/firmware`, run on emulated microcontrollers.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::{cargo, program, root};
use crate::power_cuts;
use crate::report::Report;
use crate::setup::Need;
use crate::tools::{QEMU_ARM, QEMU_RISCV, Tool};

/// An image is built for a target, and runs on each of its machines.
struct Target {
    name: &'static str,
    emulator: &'static Tool,
    machines: &'static [Machine],
}

/// A name for the report, and what the emulator is told.
struct Machine(&'static str, &'static [&'static str]);

const TARGETS: &[Target] = &[
    Target {
        name: "thumbv6m-none-eabi",
        emulator: &QEMU_ARM,
        machines: &[Machine("Cortex-M0", &["-M", "microbit"])],
    },
    Target {
        name: "thumbv7m-none-eabi",
        emulator: &QEMU_ARM,
        machines: &[
            Machine("Cortex-M3 (lm3s6965evb)", &["-M", "lm3s6965evb"]),
            Machine("Cortex-M3 (mps2-an385)", &["-M", "mps2-an385"]),
        ],
    },
    Target {
        name: "thumbv7em-none-eabi",
        emulator: &QEMU_ARM,
        machines: &[Machine("Cortex-M4", &["-M", "mps2-an386"])],
    },
    Target {
        name: "riscv32imac-unknown-none-elf",
        emulator: &QEMU_RISCV,
        machines: &[Machine("RV32IMAC", &["-M", "virt", "-cpu", "rv32"])],
    },
    Target {
        name: "riscv32imc-unknown-none-elf",
        emulator: &QEMU_RISCV,
        machines: &[Machine("RV32IMC", &["-M", "virt", "-cpu", "rv32,a=false"])],
    },
];

/// The target whose machine has a flash that can be a file.
const POWER_CUTS: &str = "riscv32imac-unknown-none-elf";

/// Time is the count of instructions, 2^6 or 2^7 ns each, so that a run is repeatable and a timer's tick is at most
/// an instruction.
fn speed(target: &Target) -> &'static str {
    if target.name.starts_with("riscv") {
        "shift=7,sleep=off"
    } else {
        "shift=6,sleep=off"
    }
}

pub(crate) fn needs() -> Vec<Need> {
    let targets = TARGETS
        .iter()
        .flat_map(|target| [Need::Target(target.name), Need::Tool(target.emulator)]);
    targets.chain(crate::lint::needs()).collect()
}

pub(crate) fn run(report: &mut Report) {
    let mut format = cargo(&["fmt", "--check"]);
    report.check("firmware, format", format.current_dir(workspace()));
    for target in TARGETS {
        let Some(emulator) = report.tool(target.emulator, target.name) else {
            continue;
        };
        if build(report, target) {
            for machine in target.machines {
                report.tests(machine.0, &mut emulate(&emulator, target, machine));
            }
            if target.name == POWER_CUTS {
                cut_power(report, &emulator);
            }
        }
    }
}

fn cut_power(report: &mut Report, emulator: &Path) {
    let issued = power_cuts::run(
        emulator,
        &target_folder().join(POWER_CUTS).join("release/power_cut"),
    );
    if let Ok(ids) = &issued {
        println!("power cuts: {ids} ids, no duplicate");
    }
    report.verdict("power cuts", issued.map(drop));
}

fn workspace() -> PathBuf {
    root().join("randflake-embedded/firmware")
}

/// Where the workspace is built: beside the libraries, whose flags differ.
fn target_folder() -> PathBuf {
    let target =
        env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    root().join(target).join("firmware")
}

fn build(report: &mut Report, target: &Target) -> bool {
    let commands = ["clippy", "build"].map(|what| {
        let mut command = cargo(&[what, "--locked", "--release", "--target", target.name]);
        command
            .current_dir(workspace())
            .env("CARGO_TARGET_DIR", target_folder());
        if target.name == POWER_CUTS {
            command.args(["--features", "pflash"]);
        }
        command
    });
    let [mut lint, mut build] = commands;
    report.check(
        &format!("clippy, {}", target.name),
        lint.args(crate::lint::DENY),
    );
    report.check(target.name, &mut build)
}

fn emulate(emulator: &Path, target: &Target, machine: &Machine) -> Command {
    // A deadlock ends there. What is run takes less than a second. An emulator that hangs heeds no
    // other signal.
    let mut command = program("timeout", &["--signal=KILL", "60"]);
    command
        .arg(emulator)
        .args(machine.1)
        .args(["-bios", "none", "-nographic", "-monitor", "none"])
        .args(["-serial", "none", "-icount", speed(target)])
        .args(["-semihosting-config", "enable=on,target=native", "-kernel"])
        .arg(target_folder().join(target.name).join("release/firmware"));
    command
}
