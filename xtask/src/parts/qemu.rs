//! `qemu`: `randflake-embedded/firmware`, run on emulated microcontrollers; and power that is cut
//! at any moment while a device issues ids past a horizon in its flash, again and again.

use core::hash::{BuildHasher as _, Hasher as _};
use core::time::Duration;
use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;

use crate::helpers::cargo::{cargo, nightly, program, root, target};
use crate::helpers::clippy::while_building;
use crate::helpers::report::Report;
use crate::helpers::scratch::Scratch;
use crate::helpers::setup::Need;
use crate::helpers::tools::{AVR_LINKER, QEMU_ARM, QEMU_RISCV, SIMAVR, Tool};
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

/// The target whose machine has a flash that can be a file.
const POWER_CUTS: &str = "riscv32imac-unknown-none-elf";

/// The target whose processors have a fast or a small multiplier.
const MULTIPLIERS: &str = "thumbv6m-none-eabi";

/// The targets with the fewest instructions, for which the compiler falls back on its library most:
/// what their images hold is checked. `cargo xtask bench size` checks all.
pub(crate) const LACKING: [&str; 2] = ["thumbv6m-none-eabi", "riscv32imc-unknown-none-elf"];

/// Runs the image `$1` by the simavr `$0`: that ends when that sleeps, at the latest after two
/// minutes. It shows each line in a colour, and the line's end as a dot.
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
    let mut build = command(target);
    let what = format!("{}, small multiplier", target.name);
    build.env("RUSTFLAGS", "--cfg sparx64_small_multiplier");
    if report.check(&what, while_building(&mut build)) {
        for machine in target.machines {
            report.tests(&what, &mut emulate(emulator, machine, &image(target)));
        }
    }
}

fn cut_power(report: &mut Report, emulator: &Path) {
    let issued = ids_past_cuts(
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
    // The libraries are no members of that workspace: the compiler alone builds them, as for a
    // device.
    report.check(target.name, while_building(&mut command(target)))
}

fn image(target: &Target) -> PathBuf {
    target_folder().join(target.name).join("release/firmware")
}

fn command(target: &Target) -> Command {
    let mut command = cargo(&["build", "--locked", "--release", "--target", target.name]);
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

const BOOTS: usize = 110;
/// Size of the flash of QEMU's machine `virt`.
const FLASH_BYTES: usize = 32 << 20;
/// What it erases at once.
const PAGE_BYTES: usize = 256 << 10;
/// So many records of the first page are free, so that the other is begun while the test runs.
const FREE: usize = 100;
/// Power is cut within so many milliseconds of the boot.
const MOST_MS: u64 = 100;
/// An emulator that has said nothing by then hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many ids the boots issued, or what was wrong.
fn ids_past_cuts(emulator: &Path, image: &Path) -> Result<usize, String> {
    let scratch = Scratch::new("power-cuts").map_err(|error| error.to_string())?;
    let flash = scratch.path().join("flash");
    fs::write(&flash, used_flash()).map_err(|error| error.to_string())?;
    let mut ids = HashSet::new();
    for boot in 1..=BOOTS {
        for id in ids_until_cut(emulator, image, &flash)? {
            if !ids.insert(id.clone()) {
                return Err(format!("boot {boot} repeats the id {id}"));
            }
        }
    }
    let other_page = fs::read(&flash).map_err(|error| error.to_string())?;
    if other_page.get(PAGE_BYTES..PAGE_BYTES + 8) == Some(&[0xff; 8]) {
        return Err(format!("{} ids, and the page was never turned", ids.len()));
    }
    Ok(ids.len())
}

/// A flash whose first page is nearly full of horizons, 4 s apart: see `HorizonRecord`.
fn used_flash() -> Vec<u8> {
    const EPOCH_UNIX_S: u32 = 1_730_000_000;
    let mut flash = Vec::with_capacity(FLASH_BYTES);
    for horizon in (EPOCH_UNIX_S..).step_by(4).take(PAGE_BYTES / 8 - 1 - FREE) {
        flash.extend(record(horizon));
        if horizon == EPOCH_UNIX_S {
            // The seal of this version.
            flash.extend(record(4));
        }
    }
    flash.resize(FLASH_BYTES, 0xff);
    flash
}

fn record(horizon: u32) -> [u8; 8] {
    let word = horizon | horizon.count_ones() & 1;
    (u64::from(word) | u64::from(!word) << 32).to_le_bytes()
}

/// What a boot says until it is killed.
fn ids_until_cut(emulator: &Path, image: &Path, flash: &Path) -> Result<Vec<String>, String> {
    let flash = format!("if=pflash,unit=1,format=raw,file={}", flash.display());
    let mut child = Command::new(emulator)
        .args(["-M", "virt", "-cpu", "rv32", "-nographic", "-monitor"])
        .args(["none", "-serial", "none", "-drive", &flash])
        .args(["-semihosting-config", "enable=on,target=native"])
        // With a flash, `-kernel` would leave the image for a boot loader to start.
        .arg("-bios")
        .arg(image)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let Some(output) = child.stdout.take() else {
        return Err("no output".to_owned());
    };
    let (sender, receiver) = channel();
    let reader = thread::spawn(move || {
        let mut output = BufReader::new(output);
        let mut line = String::new();
        // The last line may be cut too.
        while output.read_line(&mut line).is_ok() && line.ends_with('\n') {
            // Nobody listens any more after a boot that has failed.
            _ = sender.send(line.trim_end().to_owned());
            line.clear();
        }
    });
    let booted = receiver.recv_timeout(PATIENCE);
    if booted.is_ok() {
        let random = RandomState::new().build_hasher().finish();
        thread::sleep(Duration::from_millis(random % MOST_MS));
    }
    _ = child.kill();
    _ = child.wait();
    _ = reader.join();
    match booted.as_deref() {
        Ok("boot") => {
            let ids = receiver.iter();
            ids.map(|line| {
                let id = line.strip_prefix("id ").map(str::to_owned);
                id.ok_or(format!("the image said {line}"))
            })
            .collect()
        }
        other => Err(format!("did not boot: {other:?}")),
    }
}
