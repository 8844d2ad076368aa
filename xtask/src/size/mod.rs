//! `size`: what calls of the libraries take of a microcontroller's flash, RAM, stack and time.

mod check;
pub(crate) mod elf;
mod goals;
mod images;
mod page;
mod row;
mod trace;
mod wanted;
pub(crate) mod wasm;

use std::fs;
use std::path::PathBuf;

use crate::apart::{self, Arguments, ExitResult};
use crate::cargo::{output_of, program, root};
use crate::qemu::{TARGETS, Target, boot_first};
use crate::report::Report;
use crate::setup::Need;
pub(crate) use check::run as check;
use elf::{Elf, Function};
use images::{EMPTY, LEVELS, Level};
use row::{Quantity, Row};
pub(crate) use wanted::HELP;
use wanted::SizeArguments;

const PAGE: &str = "randflake-embedded/SIZE.md";
const CIPHER_README: &str = "sparx64/README.md";

pub(crate) fn main(typed: Arguments) -> ExitResult {
    let wanted = SizeArguments::parse(typed)?;
    let mut needs = crate::qemu::needs();
    needs.push(Need::Target(wasm::TARGET));
    Ok(apart::run("size", &needs, Report::new(false), |report| {
        if wanted.check {
            for target in TARGETS.iter().filter(|target| wanted.has(target.name)) {
                check::run(report, target);
            }
        } else {
            measure_all(report, &wanted);
        }
    }))
}

fn measure_all(report: &mut Report, wanted: &SizeArguments) {
    let mut rows = Vec::new();
    let mut add = |report: &mut Report, target, measured: Result<Vec<Row>, _>| match measured {
        Ok(measured) => {
            print(target, &measured, wanted.functions);
            rows.extend(measured);
        }
        Err(reason) => _ = report.verdict(target, Err(reason)),
    };
    for level in LEVELS.iter().filter(|level| wanted.has_level(level)) {
        for target in TARGETS.iter().filter(|target| wanted.has(target.name)) {
            let measured = measure(report, target, level);
            add(report, target.name, measured);
        }
        if wanted.has(wasm::TARGET) {
            let measured = wasm::measure(report, level).map(|row| vec![row]);
            add(report, wasm::TARGET, measured);
        }
    }
    if report.failed() == 0 && wanted.is_all() {
        report.verdict("written", files(&rows).and_then(write));
    }
}

/// What is to be written.
fn files(rows: &[Row]) -> Result<[(PathBuf, String); 2], String> {
    let rustc = output_of(&mut program("rustc", &["--version"])).unwrap_or_default();
    let page = page::page(&rustc, rows);
    let file = root().join(CIPHER_README);
    let readme = fs::read_to_string(&file).map_err(|error| error.to_string())?;
    let readme = page::cipher_readme(&readme, rows).ok_or("its table has no place")?;
    Ok([(root().join(PAGE), page), (file, readme)])
}

fn write(files: [(PathBuf, String); 2]) -> Result<(), String> {
    for (file, content) in files {
        fs::write(&file, content).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}

fn measure(report: &mut Report, target: &Target, level: &Level) -> Result<Vec<Row>, String> {
    let emulator = target.emulator.find().ok_or("no emulator")?;
    let images: Vec<_> = images::of_target(target.name).collect();
    let mut names: Vec<&str> = images.iter().map(|image| image.name).collect();
    names.push(EMPTY);
    let mut build = |features: &[&str]| {
        let what = format!("{}, {}", target.name, level.name);
        let mut build = images::command("build", target.name, level, &names);
        if report.check(&what, build.args(features)) {
            Ok(())
        } else {
            Err("does not build".to_owned())
        }
    };
    let read = |name| Elf::read(&images::file(target.name, level, name));
    build(&[])?;
    let empty = read(EMPTY)?;
    let held: Vec<Elf> = images
        .iter()
        .map(|image| read(image.name))
        .collect::<Result<_, _>>()?;
    build(&["--features", "run"])?;
    let mut rows = Vec::new();
    for (image, held) in images.iter().zip(held) {
        let file = images::file(target.name, level, image.name);
        let mut boot = boot_first(&emulator, target, &file).ok_or("no machine")?;
        let running = read(image.name)?;
        match same_probe(&held, &running).and_then(|()| trace::run(&mut boot, &running)) {
            Ok(calls) => rows.push(Row {
                target: target.name,
                level: level.name,
                image: image.name,
                flash: held.flash.saturating_sub(empty.flash),
                ram: held.ram.saturating_sub(empty.ram),
                calls,
                functions: brought(&held, &empty),
            }),
            Err(reason) => _ = report.verdict(image.name, Err(reason)),
        }
    }
    Ok(rows)
}

/// What is run is what is held: the compiler learnt nothing from seeing the call.
fn same_probe(held: &Elf, running: &Elf) -> Result<(), String> {
    let bytes = |image: &Elf| image.function("probe").map(|probe| probe.bytes);
    if bytes(held) == bytes(running) {
        Ok(())
    } else {
        Err(format!(
            "its probe has {:?} bytes where it is called, and else {:?}",
            bytes(running),
            bytes(held)
        ))
    }
}

/// The functions that an image has beyond an empty one.
fn brought(image: &Elf, empty: &Elf) -> Vec<Function> {
    let functions = image.functions.iter();
    let brought = functions.filter(|function| {
        function.bytes > 0
            && empty.function(&function.name).is_none()
            && !function.name.ends_with("cortex_m_rt_main")
    });
    brought.cloned().collect()
}

fn print(target: &str, rows: &[Row], functions: bool) {
    println!(
        "\n{target:28} {:5} {:>5} {:>5} {:>5} {:>12} {:>5} {:>6}",
        "level", "flash", "RAM", "stack", "instructions", "most", "masked"
    );
    for row in rows {
        println!(
            "{:28} {:5} {:5} {:5} {:5} {:12} {:5} {:6}",
            row.image,
            row.level,
            row.flash,
            row.ram,
            row.quantity(Quantity::Stack),
            row.quantity(Quantity::Instructions),
            row.quantity(Quantity::MostInstructions),
            row.quantity(Quantity::Masked)
        );
        if functions {
            for function in &row.functions {
                println!("    {:5} {}", function.bytes, function.name);
            }
        }
    }
}
