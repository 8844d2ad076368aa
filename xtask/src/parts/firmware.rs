//! Emulated microcontrollers, and the workspace of the firmware that runs on them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::helpers::prelude::*;
use crate::parts::lint;

/// An image is built for a target, and runs on each of its machines.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    pub(crate) emulator: &'static Tool,
    pub(crate) machines: &'static [Board],
}

pub(crate) struct Board {
    /// Name of the target in the report.
    pub(crate) name: &'static str,
    /// What the emulator is told.
    options: &'static [&'static str],
    /// Time is the count of instructions, `2^speed` ns each, so that a run is repeatable: the
    /// shortest with which the timer's interrupt leaves none out: one lasts a tick, or two where it
    /// begins in the midst of a tick.
    speed: u32,
}

pub(crate) const fn machine(
    name: &'static str,
    options: &'static [&'static str],
    speed: u32,
) -> Board {
    Board {
        name,
        options,
        speed,
    }
}

pub(crate) const TARGETS: &[Target] = &[
    Target {
        name: "thumbv6m-none-eabi",
        emulator: &QEMU_ARM,
        machines: &[machine("Cortex-M0", &["-M", "microbit"], 6)],
    },
    Target {
        name: "thumbv7m-none-eabi",
        emulator: &QEMU_ARM,
        machines: &[
            machine("Cortex-M3 (lm3s6965evb)", &["-M", "lm3s6965evb"], 7),
            machine("Cortex-M3 (mps2-an385)", &["-M", "mps2-an385"], 6),
        ],
    },
    Target {
        name: "thumbv7em-none-eabi",
        emulator: &QEMU_ARM,
        machines: &[machine("Cortex-M4", &["-M", "mps2-an386"], 6)],
    },
    Target {
        name: "riscv32imac-unknown-none-elf",
        emulator: &QEMU_RISCV,
        machines: &[machine("RV32IMAC", &["-M", "virt", "-cpu", "rv32"], 8)],
    },
    Target {
        name: "riscv32imc-unknown-none-elf",
        emulator: &QEMU_RISCV,
        machines: &[machine(
            "RV32IMC",
            &["-M", "virt", "-cpu", "rv32,a=false"],
            8,
        )],
    },
];

/// What builds for all targets, and runs that.
pub(crate) fn needs() -> Vec<Need> {
    TARGETS
        .iter()
        .flat_map(|target: &Target| [Need::Target(target.name), Need::Tool(target.emulator)])
        .chain(lint::format_needs())
        .collect()
}

pub(crate) fn workspace() -> PathBuf {
    root().join("randflake-embedded/firmware")
}

/// Where the workspace is built: beside the libraries, whose flags differ.
pub(crate) fn target_folder() -> PathBuf {
    target().join("firmware")
}

/// Cargo in the workspace.
pub(crate) fn inside(words: &str) -> Command {
    cargo_in(&workspace(), &target_folder(), words)
}

/// An image that counts instructions as time.
pub(crate) fn emulate(emulator: &Path, machine: &Board, image: &Path) -> Command {
    let mut command = boot(emulator, machine, image);
    command
        .arg("-icount")
        .arg(format!("shift={},sleep=off", machine.speed));
    command
}

/// An image on the target's first machine.
pub(crate) fn boot_first(emulator: &Path, target: &Target, image: &Path) -> Option<Command> {
    let machine = target.machines.first()?;
    Some(boot(emulator, machine, image))
}

fn boot(emulator: &Path, machine: &Board, image: &Path) -> Command {
    // A deadlock ends there. What is run takes less than a second. An emulator that hangs heeds no
    // other signal.
    let mut command = program("timeout", "--signal=KILL 60");
    command
        .arg(emulator)
        .args(machine.options)
        .args(["-bios", "none", "-nographic", "-monitor", "none"])
        .args(["-serial", "none"])
        .args(["-semihosting-config", "enable=on,target=native", "-kernel"])
        .arg(image);
    command
}
