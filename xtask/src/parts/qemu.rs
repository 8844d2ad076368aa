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

use crate::helpers::prelude::*;
use crate::parts::firmware::{self, TARGETS, Target, emulate, inside, target_folder};
use crate::parts::size;

/// The target whose machine has a flash that can be a file.
const POWER_CUTS: &str = "riscv32imac-unknown-none-elf";

/// The target whose processors have a fast or a small multiplier.
const MULTIPLIERS: &str = "thumbv6m-none-eabi";

/// Runs the image `$1` by the simavr `$0`: that ends when that sleeps, at the latest after two
/// minutes. It shows each line in a colour, and the line's end as a dot.
const EMULATE: &str = r#"timeout --signal=KILL 120 "$0" --mcu atmega1284p --freq 16000000 "$1" 2>&1 | sed 's/\x1b\[[0-9]*m//g; s/\.$//'"#;

pub(crate) fn needs() -> Vec<Need> {
    // The AVR's `core` is built from the source that Miri needs too.
    let of_avr = vec![Need::Miri, Need::Tool(&AVR_LINKER), Need::Tool(&SIMAVR)];
    [firmware::needs(), of_avr].concat()
}

pub(crate) fn run(report: &mut Report) {
    avr(report);
    report.check("firmware, format", &mut inside("fmt --check"));
    for target in TARGETS {
        if size::LACKING.contains(&target.name) {
            size::check(report, target);
        }
        let Some(emulator) = report.tool(target.emulator, target.name) else {
            continue;
        };
        // The libraries are no members of that workspace: the compiler alone builds them, as for a
        // device.
        if report.check(target.name, while_building(&mut command(target))) {
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
    let workspace = firmware::workspace().join("avr");
    report.check("format", inside("fmt --check").current_dir(&workspace));
    let tools = [&AVR_LINKER, &SIMAVR].map(|tool| report.tool(tool, "an AVR"));
    let [Some(linker), Some(emulator)] = tools else {
        return;
    };
    let mut build = nightly("cargo build --locked --release -Zbuild-std=core --target avr-none");
    build
        .current_dir(workspace)
        .env("CARGO_TARGET_DIR", target_folder())
        .env("CARGO_TARGET_AVR_NONE_LINKER", linker)
        .env("RUSTFLAGS", "-Ctarget-cpu=atmega1284p");
    if report.check("build", &mut build) {
        let image = target_folder().join("avr-none/release/firmware-avr.elf");
        let mut emulate = program("sh", "-c");
        report.tests("ATmega1284P", emulate.arg(EMULATE).arg(emulator).arg(image));
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
    let image = target_folder().join(POWER_CUTS).join("release/power_cut");
    let Some(scratch) = report.scratch("power-cuts") else {
        return;
    };
    let issued = ids_past_cuts(emulator, &image, &scratch.path().join("flash"));
    if let Ok(ids) = &issued {
        report.say(&format!("power cuts: {ids} ids, no duplicate"));
    }
    report.verdict("power cuts", issued);
}

fn image(target: &Target) -> PathBuf {
    target_folder().join(target.name).join("release/firmware")
}

fn command(target: &Target) -> Command {
    let mut command = inside("build --locked --release --target");
    command.arg(target.name);
    if target.name == POWER_CUTS {
        command.args(["--features", "pflash"]);
    }
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
fn ids_past_cuts(emulator: &Path, image: &Path, flash: &Path) -> Result<usize, String> {
    files::write(flash, used_flash())?;
    let mut ids = HashSet::new();
    for boot in 1..=BOOTS {
        for id in ids_until_cut(emulator, image, flash)? {
            if !ids.insert(id.clone()) {
                return Err(format!("boot {boot} repeats the id {id}"));
            }
        }
    }
    let other_page = fs::read(flash).map_err(files::of(flash))?;
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
    let output = child.stdout.take().ok_or("no output")?;
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
        Ok("boot") => receiver
            .iter()
            .map(|line| {
                let id = line.strip_prefix("id ").map(str::to_owned);
                id.ok_or(format!("the image said {line}"))
            })
            .collect(),
        other => Err(format!("did not boot: {other:?}")),
    }
}
