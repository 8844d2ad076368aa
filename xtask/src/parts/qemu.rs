//! `qemu`: `randflake-embedded/firmware`, run on emulated microcontrollers.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::helpers::cargo::{cargo, nightly, program, root, target};
use crate::helpers::report::Report;
use crate::helpers::setup::Need;
use crate::helpers::tools::{AVR_LINKER, QEMU_ARM, QEMU_RISCV, SIMAVR, Tool};
use crate::parts::power_cuts;
use crate::parts::size;

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
    /// Time is the count of instructions, `2^speed` ns each, so that a run is repeatable: the shortest with which
    /// the timer's interrupt leaves none out: one lasts a tick, or two where it begins in the midst of a tick.
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

/// The target whose machine has a flash that can be a file.
const POWER_CUTS: &str = "riscv32imac-unknown-none-elf";

/// The target whose processors have a fast or a small multiplier.
const MULTIPLIERS: &str = "thumbv6m-none-eabi";

/// The targets with the fewest instructions, for which the compiler falls back on its library most: what their images
/// hold is checked. `cargo xtask bench size` checks all.
pub(crate) const LACKING: [&str; 2] = ["thumbv6m-none-eabi", "riscv32imc-unknown-none-elf"];

/// Runs the image `$1` by the simavr `$0`: that ends when that sleeps, at the latest after two minutes. It shows each line in a colour, and
/// the line's end as a dot.
const EMULATE: &str = r#"timeout --signal=KILL 120 "$0" --mcu atmega1284p --freq 16000000 "$1" 2>&1 | sed 's/\x1b\[[0-9]*m//g; s/\.$//'"#;

pub(crate) fn needs() -> Vec<Need> {
    // The AVR's `core` is built from the source that Miri needs too.
    let targets = TARGETS
        .iter()
        .flat_map(|target| [Need::Target(target.name), Need::Tool(target.emulator)]);
    let others = [
        crate::parts::lint::format_needs(),
        vec![Need::Miri, Need::Tool(&AVR_LINKER), Need::Tool(&SIMAVR)],
    ]
    .concat();
    targets.chain(others).collect()
}

pub(crate) fn run(report: &mut Report) {
    avr(report);
    let mut format = cargo(&["fmt", "--check"]);
    report.check("firmware, format", format.current_dir(workspace()));
    for target in TARGETS {
        if LACKING.contains(&target.name) {
            size::check(report, target);
        }
        let Some(emulator) = report.tool(target.emulator, target.name) else {
            continue;
        };
        if build(report, target) {
            let image = image(target);
            for machine in target.machines {
                report.tests(machine.name, &mut emulate(&emulator, machine, &image));
            }
            if target.name == POWER_CUTS {
                cut_power(report, &emulator);
            }
            if target.name == MULTIPLIERS {
                without_multiplications(report, target, &emulator);
            }
        }
    }
}

/// An 8-bit machine whose `usize` has 16 bits.
fn avr(report: &mut Report) {
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

/// The same with the cipher for chips that multiply slowly.
fn without_multiplications(report: &mut Report, target: &Target, emulator: &Path) {
    let mut build = command("build", target);
    let what = format!("{}, small multiplier", target.name);
    build.env("RUSTFLAGS", "--cfg sparx64_small_multiplier");
    if report.check(&what, &mut build) {
        for machine in target.machines {
            report.tests(&what, &mut emulate(emulator, machine, &image(target)));
        }
    }
}

fn cut_power(report: &mut Report, emulator: &Path) {
    let issued = power_cuts::run(
        emulator,
        &target_folder().join(POWER_CUTS).join("release/power_cut"),
    );
    if let Ok(ids) = &issued {
        report.say(&format!("power cuts: {ids} ids, no duplicate"));
    }
    report.verdict("power cuts", issued.map(drop));
}

pub(crate) fn workspace() -> PathBuf {
    root().join("randflake-embedded/firmware")
}

/// Where the workspace is built: beside the libraries, whose flags differ.
pub(crate) fn target_folder() -> PathBuf {
    target().join("firmware")
}

fn build(report: &mut Report, target: &Target) -> bool {
    let [mut lint, mut build] = ["clippy", "build"].map(|what| command(what, target));
    report.check(
        &format!("clippy, {}", target.name),
        lint.args(crate::parts::lint::DENY),
    );
    report.check(target.name, &mut build)
}

fn image(target: &Target) -> PathBuf {
    target_folder().join(target.name).join("release/firmware")
}

fn command(what: &str, target: &Target) -> Command {
    let mut command = cargo(&[what, "--locked", "--release", "--target", target.name]);
    command
        .current_dir(workspace())
        .env("CARGO_TARGET_DIR", target_folder());
    if target.name == POWER_CUTS {
        command.args(["--features", "pflash"]);
    }
    command
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
    let mut command = program("timeout", &["--signal=KILL", "60"]);
    command
        .arg(emulator)
        .args(machine.options)
        .args(["-bios", "none", "-nographic", "-monitor", "none"])
        .args(["-serial", "none"])
        .args(["-semihosting-config", "enable=on,target=native", "-kernel"])
        .arg(image);
    command
}
