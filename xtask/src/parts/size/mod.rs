//! `bench size`: what calls of the libraries take of a microcontroller's flash, RAM, stack and
//! time; and a part of `qemu`: what the calls bring into an image is theirs alone.

pub(crate) mod elf;
mod page;
mod trace;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::helpers::prelude::*;
use crate::parts::firmware::{self, TARGETS, Target, boot_first, inside, target_folder, workspace};
use crate::parts::lint::DENY;
use elf::{Elf, Function};
use trace::Call;

/// Images of `randflake-embedded/firmware/size` by the names of their programs, and what each
/// holds.
#[rustfmt::skip]
const IMAGES: &[(&str, &str)] = &[
    ("cipher_table", "block, key table"),
    ("cipher_on_the_fly", "block, keys on the fly"),
    ("key_schedule", "making the key table"),
    ("generate_table_masked", "`generate`, table, critical section"),
    ("generate_ok_masked", "`generate().ok()`, on the fly, critical section"),
    ("generate_kind_masked", "`generate().map_err(GenerateError::kind)`, on the fly, critical section"),
    ("generate_on_the_fly_masked", "`generate`, on the fly, critical section"),
    ("generate_key_in_flash_masked", "`generate`, on the fly, key in flash, critical section"),
    ("generate_table_native", "`generate`, table, native atomic"),
    ("generate_on_the_fly_native", "`generate`, on the fly, native atomic"),
    ("generate_ticks_masked", "`generate`, on the fly, `UnixClock` over `Uptime` of 32,768 Hz, critical section"),
    ("generate_ticks_1_khz", "`generate`, on the fly, `UnixClock` over `Uptime` of 1 kHz, critical section"),
    ("generate_ticks_1_mhz", "`generate`, on the fly, `UnixClock` over `Uptime` of 1 MHz, critical section"),
    ("generate_ticks_64_mhz", "`generate`, on the fly, `UnixClock` over `Uptime` of 64 MHz, critical section"),
    ("lane_table", "`Lane`, table"),
    ("lane_on_the_fly", "`Lane`, on the fly"),
    ("lane_key_in_flash", "`Lane`, on the fly, key in flash"),
    ("horizon", "`FlashHorizon`: open and raise"),
    ("horizon_open", "`FlashHorizon`: open alone"),
    ("horizon_16", "`FlashHorizon`, slots of 16 bytes: open and raise"),
    ("horizon_32", "`FlashHorizon`, slots of 32 bytes: open and raise"),
    ("blocks", "`Blocks` over `FlashHorizon`: open and begin"),
    ("ticket", "`TicketReader::accept`"),
    ("text", "`id_string`"),
    ("text_parse", "an id parsed"),
];

/// The targets with the fewest instructions, for which the compiler falls back on its library most:
/// what their images hold is checked. `cargo xtask bench size --check` checks all.
pub(crate) const LACKING: [&str; 2] = ["thumbv6m-none-eabi", "riscv32imc-unknown-none-elf"];

/// Calls nothing that is measured.
const EMPTY: &str = "empty";

/// Images that must be caught, and by what.
const PLANTED: [(&str, &str); 2] = [
    ("planted_panic", "core::panicking::"),
    ("planted_copy", "memcpy"),
];

/// Images, and functions that they may have until those are gone.
#[rustfmt::skip]
const EXCEPTIONS: &[(&[&str], &[&str])] = &[
    // The string of `heapless` is made on the stack and copied, 20 bytes: on RISC-V that is a call.
    (&["text"], &["memcpy", "compiler_builtins::mem::memcpy"]),
    // Slots longer than a record are compared and filled by calls.
    (&["horizon_16", "horizon_32"], &["memcmp", "memset", "__aeabi_memclr8", "__aeabi_memset8",
        "compiler_builtins::mem::memcmp", "compiler_builtins::mem::memset"]),
];

/// Levels of optimisation, and their profiles. `Oz` is measured when asked for: it makes every call
/// slower than `Os`, and the cipher larger.
type Level = (&'static str, &'static str);
const LEVELS: [Level; 3] = [("Os", "release"), ("Oz", "oz"), ("O3", "o3")];

/// A module whose host gives it the time, and what it may have, all of it.
pub(crate) const WASM: &str = "wasm32-unknown-unknown";
const WASM_IMAGE: &str = "wasm";
const MOST_WASM_BYTES: u64 = 1_500;

/// What is known of one image.
struct Row {
    target: &'static str,
    level: &'static str,
    image: &'static str,
    /// Bytes more than an image that does nothing.
    flash: u64,
    ram: u64,
    /// In the order of the trace.
    calls: Vec<Call>,
    /// What it holds beyond an image that does nothing.
    functions: Vec<Function>,
}

impl Row {
    fn most(&self, of: fn(&Call) -> u64) -> u64 {
        self.calls.iter().map(of).max().unwrap_or_default()
    }

    /// Of the usual call, which is the last.
    fn instructions(&self) -> u64 {
        self.calls.last().map_or(0, |call| call.instructions)
    }
}

pub(crate) fn plan(mut typed: Arguments) -> Planned {
    let wanted = arguments::text(&mut typed, "--target")?.unwrap_or_default();
    let level = arguments::text(&mut typed, "--level")?;
    let (lists, checks) = (typed.contains("--functions"), typed.contains("--check"));
    arguments::nothing_else(typed)?;
    let all = TARGETS.iter().map(|target| target.name).chain([WASM]);
    let names: Vec<_> = all.filter(|name| name.starts_with(&wanted)).collect();
    let levels: Vec<Level> = LEVELS
        .into_iter()
        .filter(|(name, _): &Level| {
            level
                .as_deref()
                .map_or(*name != "Oz", |level| level == *name)
        })
        .collect();
    if names.is_empty() || levels.is_empty() {
        return Err(format!(
            "no target begins with {wanted:?}, or the level is none of Os, Oz and O3"
        ));
    }
    let is_all = wanted.is_empty() && level.is_none();
    let needs = [firmware::needs(), vec![Need::Target(WASM)]].concat();
    Plan::of(needs, move |report| {
        let targets = TARGETS.iter().filter(|target| names.contains(&target.name));
        if checks {
            return targets.for_each(|target| check(report, target));
        }
        let mut rows = Vec::new();
        for level in levels {
            for target in targets.clone() {
                let measured = measure(report, target, level);
                rows.extend(report.ok(target.name, measured).unwrap_or_default());
            }
            if names.contains(&WASM) {
                let measured = measure_wasm(report, level);
                rows.extend(report.ok(WASM, measured));
            }
        }
        print(report, &rows, lists);
        if report.failed() == 0 && is_all {
            report.verdict("written", page::write(&rows));
        }
    })
}

/// The names of a target's images.
fn of_target(target: &str) -> Vec<&'static str> {
    // Without compare-and-swap the compiler's library stands in for the native atomic.
    let lacks = LACKING.contains(&target);
    let names = IMAGES.iter().map(|(name, _)| *name);
    names
        .filter(|name| !(lacks && name.ends_with("_native")))
        .collect()
}

/// What cargo does with images that hold what is measured. With the feature `run` they also call
/// it.
fn command(what: &str, target: &str, level: Level, names: &[&str]) -> Command {
    let mut command = of_package(what, "size", target, level);
    command.args(names.iter().flat_map(|name| ["--bin", name]));
    command
}

fn of_package(what: &str, package: &str, target: &str, (_, profile): Level) -> Command {
    let choice = format!("--package {package} --profile {profile} --target {target}");
    inside(&format!("{what} --locked {choice}"))
}

fn file(target: &str, (_, profile): Level, name: &str) -> PathBuf {
    target_folder().join(target).join(profile).join(name)
}

fn measure(report: &mut Report, target: &Target, level: Level) -> Result<Vec<Row>, String> {
    let emulator = target.emulator.find().ok_or("no emulator")?;
    let images = of_target(target.name);
    let names = [&images[..], &[EMPTY]].concat();
    let mut build = |features: &[&str]| {
        let mut build = command("build", target.name, level, &names);
        let what = format!("{}, {}", target.name, level.0);
        report
            .check(&what, build.args(features))
            .then_some(())
            .ok_or("does not build")
    };
    let read = |name| Elf::read(&file(target.name, level, name));
    build(&[])?;
    let empty = read(EMPTY)?;
    let held = images
        .iter()
        .map(|name| read(name))
        .collect::<Result<Vec<Elf>, _>>()?;
    build(&["--features", "run"])?;
    let mut rows = Vec::new();
    for (image, held) in images.into_iter().zip(held) {
        let running = read(image)?;
        // What is run is what is held: the compiler learnt nothing from seeing the call.
        let [bytes, same] =
            [&running, &held].map(|image| image.function("probe").map(|probe| probe.bytes));
        if bytes != same {
            return Err(format!(
                "{image}: its probe has {bytes:?} bytes where it is called, and else {same:?}"
            ));
        }
        let path = file(target.name, level, image);
        let mut boot = boot_first(&emulator, target, &path).ok_or("no machine")?;
        rows.push(Row {
            target: target.name,
            level: level.0,
            image,
            flash: held.flash.saturating_sub(empty.flash),
            ram: held.ram.saturating_sub(empty.ram),
            calls: trace::run(&mut boot, &running).map_err(|why| format!("{image}: {why}"))?,
            functions: brought(&held, &empty),
        });
    }
    Ok(rows)
}

/// The functions that an image has beyond an empty one.
fn brought(image: &Elf, empty: &Elf) -> Vec<Function> {
    let functions = image.functions.iter().filter(|function| {
        function.bytes > 0
            && empty.function(&function.name).is_none()
            && !function.name.ends_with("cortex_m_rt_main")
    });
    functions.cloned().collect()
}

fn print(report: &mut Report, rows: &[Row], lists: bool) {
    report.say("target, image, level, flash, RAM, stack, instructions, most instructions, masked");
    for row in rows {
        let Row {
            target,
            image,
            level,
            flash,
            ram,
            ..
        } = row;
        report.say(&format!(
            "{target:28} {image:28} {level} {flash:5} {ram:5} {:5} {:6} {:6} {:5}",
            row.most(|call| call.stack),
            row.instructions(),
            row.most(|call| call.instructions),
            row.most(|call| call.masked)
        ));
        for function in row.functions.iter().filter(|_| lists) {
            report.say(&format!("    {:5} {}", function.bytes, function.name));
        }
    }
}

/// A part of `qemu`: no panic, with its messages and formatting, and no function of the compiler's
/// own library: no `memcpy`, no 64-bit division.
pub(crate) fn check(report: &mut Report, target: &Target) {
    let level = LEVELS[0];
    let images = of_target(target.name);
    let all = [&images[..], &PLANTED.map(|(name, _)| name), &[EMPTY]].concat();
    let what = format!("images of one call, {}", target.name);
    // One target is enough: the images are the same for all.
    if target.name == LACKING[0] {
        let mut lint = command("clippy", target.name, level, &all);
        report.check(&format!("clippy, {what}"), lint.args(DENY));
    }
    if report.check(&what, &mut command("build", target.name, level, &all)) {
        let verdict = nothing_foreign(target.name, level, &images);
        report.verdict(&format!("nothing foreign, {}", target.name), verdict);
    }
}

fn nothing_foreign(target: &str, level: Level, images: &[&str]) -> Result<(), String> {
    let read = |name: &str| Elf::read(&file(target, level, name));
    let empty = read(EMPTY)?;
    for (name, expected) in PLANTED {
        let found = foreign(name, &read(name)?, &empty);
        if !found.iter().any(|found| found.contains(expected)) {
            return Err(format!("{name} was not caught, only {found:?}"));
        }
    }
    let mut faults = Vec::new();
    for name in images {
        let found = foreign(name, &read(name)?, &empty);
        faults.extend(found.iter().map(|found| format!("\n    {name}: {found}")));
    }
    if faults.is_empty() {
        Ok(())
    } else {
        Err(faults.concat())
    }
}

/// What an image brings that is not the libraries' own.
fn foreign(name: &str, image: &Elf, empty: &Elf) -> Vec<String> {
    let is_allowed = |function: &str| {
        EXCEPTIONS
            .iter()
            .any(|(images, functions): &(&[&str], &[&str])| {
                images.contains(&name) && functions.contains(&function)
            })
    };
    let names = brought(image, empty)
        .into_iter()
        .map(|function| function.name);
    let mut found: Vec<_> = names
        .filter(|name| is_foreign(name) && !is_allowed(name))
        .collect();
    // Where a panic happened: `src/lib.rs`.
    if image.contains(".rs") && !empty.contains(".rs") {
        found.push("the name of a source file".to_owned());
    }
    found
}

/// What panics or formats, and what the compiler's own library has.
fn is_foreign(function: &str) -> bool {
    // C's names are the compiler's, unless an image has given them.
    let is_ours = function.starts_with("probe") || function.starts_with("_critical_section");
    panics(function)
        || function.starts_with("compiler_builtins::")
        || !(is_ours || function.contains("::"))
}

fn panics(function: &str) -> bool {
    let parts = [
        "panic",
        "core::fmt",
        "::fmt",
        "unwrap_failed",
        "expect_failed",
    ];
    parts.iter().any(|part| function.contains(part))
}

/// How long the module is.
fn measure_wasm(report: &mut Report, level: Level) -> Result<Row, String> {
    if !report.check(WASM, &mut of_package("build", "wasm", WASM, level)) {
        return Err("does not build".to_owned());
    }
    let file = file(WASM, level, "wasm.wasm");
    Ok(Row {
        target: WASM,
        level: level.0,
        image: WASM_IMAGE,
        flash: fs::metadata(&file).map_err(files::of(&file))?.len(),
        ram: 0,
        calls: Vec::new(),
        functions: Vec::new(),
    })
}

/// A part of `emulated`: the module makes known ids under known keys.
pub(crate) fn run_wasm(report: &mut Report) {
    let what = "a module with an imported clock";
    let Some(node) = report.tool(&NODE, what) else {
        return;
    };
    let level = LEVELS[0];
    let mut lint = of_package("clippy", "wasm", WASM, level);
    report.check("clippy, wasm", lint.args(DENY));
    let is_small = measure_wasm(report, level).and_then(|row| match row.flash {
        0..=MOST_WASM_BYTES => Ok(()),
        bytes => Err(format!(
            "it has {bytes} bytes, and may have {MOST_WASM_BYTES}"
        )),
    });
    if report.verdict(what, is_small) {
        let mut command = program(node, "");
        command
            .arg(workspace().join("wasm/host.mjs"))
            .arg(file(WASM, level, "wasm.wasm"))
            .arg(root().join("randflake-core/tests/vectors/reference.json"));
        report.tests(what, &mut command);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_refused() {
        for words in ["--target x86", "--level O2", "--target", "--sizes"] {
            assert!(plan(arguments::typed(words)).is_err(), "{words}");
        }
        assert!(plan(arguments::typed("--target thumbv6m --level Oz")).is_ok());
    }

    #[test]
    fn panics_and_library_calls_are_foreign() {
        let foreign = "memcpy __aeabi_lmul compiler_builtins::mem::memcpy core::panicking::panic_fmt \
                       core::option::unwrap_failed <core::fmt::Display>::fmt";
        assert!(foreign.split(' ').all(is_foreign));
        let own = "probe _critical_section_1_0_acquire sparx64::on_the_fly::splat \
                   core::str::converts::from_utf8";
        assert!(!own.split(' ').any(is_foreign));
    }
}
