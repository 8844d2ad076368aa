//! `size`: what calls of the libraries take of a microcontroller's flash, RAM, stack and time.

mod check;
mod elf;
mod goals;
mod images;
mod page;
mod row;
mod trace;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::cargo::{output_of, program, root};
use crate::qemu::{TARGETS, Target, boot_first};
use crate::report::Report;
use crate::setup;
pub(crate) use check::run as check;
use elf::{Elf, Function};
use images::{EMPTY, LEVELS, Level};
use row::{Quantity, Row};

const USAGE: &str =
    "usage: cargo xtask size [--json FILE] [--target NAME] [--level Os|Oz|O3] [--functions]
       cargo xtask size --check [--target NAME]

Without `--target` and `--level` the page randflake-embedded/SIZE.md is written anew.

flags:
  --json FILE    the figures, with the functions that each call brings
  --target NAME  only targets whose name begins so
  --level LEVEL  only this level of optimisation
  --functions    print the functions that each call brings
  --check        measure nothing: only look for what no image may hold, as `cargo xtask qemu` does
";

const PAGE: &str = "randflake-embedded/SIZE.md";

/// What was asked for.
#[derive(Default)]
struct Wanted {
    target: String,
    level: Option<String>,
    json: Option<PathBuf>,
    functions: bool,
    check: bool,
}

pub(crate) fn main(arguments: &[String]) -> ExitCode {
    let wanted = match parse(arguments) {
        Ok(Some(wanted)) => wanted,
        Ok(None) => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(message) => return usage_error(&message),
    };
    let mut report = Report::new(false);
    report.begin("setup");
    setup::prepare(&crate::qemu::needs(), &mut report);
    report.begin("size");
    if wanted.check {
        let targets = TARGETS.iter();
        for target in targets.filter(|target| target.name.starts_with(&wanted.target)) {
            check::run(&mut report, target);
        }
    } else {
        measure_all(&mut report, &wanted);
    }
    if report.finish() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn measure_all(report: &mut Report, wanted: &Wanted) {
    let mut rows = Vec::new();
    for target in TARGETS {
        for level in &LEVELS {
            if wanted.has(target, level) {
                match measure(report, target, level) {
                    Ok(measured) => {
                        print(&measured, wanted.functions);
                        rows.extend(measured);
                    }
                    Err(reason) => _ = report.verdict(target.name, Err(reason)),
                }
            }
        }
    }
    if report.failed() == 0 {
        for (file, content) in wanted.files(&rows) {
            let written = fs::write(&file, content);
            let file = file.display().to_string();
            report.verdict(&file, written.map_err(|error| error.to_string()));
        }
    }
}

impl Wanted {
    fn has(&self, target: &Target, level: &Level) -> bool {
        target.name.starts_with(&self.target)
            && self.level.as_deref().is_none_or(|name| name == level.name)
    }

    /// What is to be written.
    fn files(&self, rows: &[Row]) -> Vec<(PathBuf, String)> {
        let rustc = output_of(&mut program("rustc", &["--version"])).unwrap_or_default();
        let mut files = Vec::new();
        if let Some(file) = &self.json {
            files.push((file.clone(), row::json(&rustc, rows)));
        }
        if self.target.is_empty() && self.level.is_none() {
            files.push((root().join(PAGE), page::page(&rustc, rows)));
        }
        files
    }
}

fn parse(arguments: &[String]) -> Result<Option<Wanted>, String> {
    let mut wanted = Wanted::default();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value = || {
            let value = arguments.next().cloned();
            value.ok_or_else(|| format!("`{argument}` needs a value"))
        };
        match argument.as_str() {
            "--help" | "-h" => return Ok(None),
            "--target" => wanted.target = value()?,
            "--level" => wanted.level = Some(value()?),
            "--json" => wanted.json = Some(value()?.into()),
            "--functions" => wanted.functions = true,
            "--check" => wanted.check = true,
            other => return Err(format!("unknown argument `{other}`")),
        }
    }
    let all = TARGETS
        .iter()
        .flat_map(|target| LEVELS.iter().map(move |level| (target, level)));
    if !all
        .into_iter()
        .any(|(target, level)| wanted.has(target, level))
    {
        return Err("no such target or level".to_owned());
    }
    Ok(Some(wanted))
}

#[expect(clippy::print_stderr, reason = "usage errors belong on standard error")]
fn usage_error(message: &str) -> ExitCode {
    eprint!("error: {message}\n\n{USAGE}");
    ExitCode::from(2)
}

fn measure(report: &mut Report, target: &Target, level: &Level) -> Result<Vec<Row>, String> {
    let emulator = (target.emulator.find)().ok_or("no emulator")?;
    let images: Vec<_> = images::of_target(target.name).collect();
    let mut names: Vec<&str> = images.iter().map(|image| image.name).collect();
    names.push(EMPTY);
    let mut build = |runs| {
        let what = format!("{}, {}", target.name, level.name);
        if report.check(&what, &mut images::build(target.name, level, &names, runs)) {
            Ok(())
        } else {
            Err("does not build".to_owned())
        }
    };
    let read = |name| Elf::read(&images::file(target.name, level, name));
    build(false)?;
    let empty = read(EMPTY)?;
    let held: Vec<Elf> = images
        .iter()
        .map(|image| read(image.name))
        .collect::<Result<_, _>>()?;
    build(true)?;
    let mut rows = Vec::new();
    for (image, held) in images.iter().zip(held) {
        let file = images::file(target.name, level, image.name);
        let mut boot = boot_first(&emulator, target, &file).ok_or("no machine")?;
        let calls = trace::run(&mut boot, &read(image.name)?)
            .map_err(|reason| format!("{}: {reason}", image.name))?;
        rows.push(Row {
            target: target.name,
            level: level.name,
            image: image.name,
            flash: held.flash.saturating_sub(empty.flash),
            ram: held.ram.saturating_sub(empty.ram),
            calls,
            functions: brought(&held, &empty),
        });
    }
    Ok(rows)
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

fn print(rows: &[Row], functions: bool) {
    println!(
        "\n{:28} {:5} {:>5} {:>5} {:>5} {:>12} {:>5} {:>6}",
        "", "level", "flash", "RAM", "stack", "instructions", "most", "masked"
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
