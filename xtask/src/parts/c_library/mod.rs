//! `c`: `randflake-embedded/c`: its header in C and C++, a C program that is linked with the
//! shipped archive and run, on this machine and on emulated microcontrollers, and the packages.

mod archive;
mod build;
mod header;
pub(crate) mod packages;
mod vectors;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::helpers::prelude::*;
use crate::parts::firmware::{self, TARGETS, Target};
use crate::parts::lint::DENY;
use build::{CImage, compile, link};

/// Where interrupts must be masked, by functions that a program may replace.
const NO_COMPARE_AND_SWAP: [&str; 2] = ["thumbv6m-none-eabi", "riscv32imc-unknown-none-elf"];

/// One target is enough to see that a panic is caught.
const PLANTED: &str = "thumbv6m-none-eabi";

/// One target that masks interrupts and one that compares and swaps: there each two calls are tried
/// at each instruction, and clippy looks at the library.
const PAIRS: [&str; 2] = ["thumbv6m-none-eabi", "thumbv7m-none-eabi"];

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// The parts of the test that need no board.
const ANYWHERE: &[&str] = &["suite.c", "calls.c", "vectors.c", "flash.c"];
const ON_THIS_MACHINE: &[&str] = &["host.c", "tasks.c", "threads.c"];
const ON_BOARDS: &[&str] = &["device.c", "console.c", "resets.c", "pairs.c", "sweep.c"];

pub(crate) fn needs() -> Vec<Need> {
    let mut needs = firmware::needs();
    needs.extend([&CLANG, &GCC].map(Need::Tool));
    needs.extend(packages::needs());
    needs
}

pub(crate) fn run(report: &mut Report) {
    report.check("format", cargo("fmt --check").current_dir(folder()));
    let written = Form::ALL.iter().try_for_each(|form| {
        vectors::write(form)?;
        build::example(&form.out())
    });
    if !report.verdict("vectors and the README's program", written) {
        return;
    }
    for form in &Form::ALL {
        on_this_machine(report, form);
    }
    let clang = report.tool(&CLANG, "the C library on microcontrollers and its packages");
    let gcc = report.tool(&GCC, "the C library's header, by gcc");
    if let (Some(clang), Some(gcc)) = (&clang, &gcc) {
        header::check(report, [clang, gcc]);
    }
    for target in TARGETS {
        for form in Form::ALL.iter().filter(|form| form.is_for(target)) {
            if let (Some(archive), Some(clang)) = (for_target(report, form, target), &clang) {
                on_boards(report, clang, form, target, &archive);
            }
        }
    }
    if let Some(clang) = &clang {
        packages::run(report, clang);
    }
}

/// The folder of the library.
fn folder() -> PathBuf {
    root().join("randflake-embedded/c")
}

/// The form of the ids that an archive makes.
pub(super) struct Form {
    /// Behind what is said; nothing of ids of 64 bits.
    name: &'static str,
    features: &'static str,
    /// What a program is compiled with.
    pub(super) flags: &'static [&'static str],
}

impl Form {
    const BITS_64: Self = Self {
        name: "",
        features: "",
        flags: &[],
    };
    const BITS_53: Self = Self {
        name: ", 53 bits",
        features: "--features bits53",
        flags: &["-DRF_BITS53"],
    };
    const ALL: [Self; 2] = [Self::BITS_64, Self::BITS_53];

    fn is_53(&self) -> bool {
        !self.features.is_empty()
    }

    /// What differs is arithmetic: the smallest processors, where most is left out, are enough for
    /// 53 bits.
    fn is_for(&self, target: &Target) -> bool {
        !self.is_53() || NO_COMPARE_AND_SWAP.contains(&target.name)
    }

    /// Where it is built: its profile is its own.
    pub(super) fn out(&self) -> PathBuf {
        target().join(if self.is_53() { "c53" } else { "c" })
    }

    fn library(&self, what: &str, words: &str) -> Command {
        let words = format!("{what} --locked --release {} {words}", self.features);
        cargo_in(&folder(), &self.out(), &words)
    }

    /// What the linker knows a function of the header as.
    pub(super) fn symbol(&self, name: &str) -> String {
        match name {
            "rf_init" | "rf_wake" if self.is_53() => name.replacen("rf_", "rf53_", 1),
            _ => name.to_owned(),
        }
    }

    /// The header, and the vectors.
    pub(super) fn includes(&self) -> [String; 2] {
        [folder(), self.out()].map(|folder| format!("-I{}", folder.display()))
    }
}

/// What a linker is there for: the program that builds here builds Rust.
fn on_this_machine(report: &mut Report, form: &Form) {
    let Form { name, .. } = form;
    let mut library = form.library("build", "");
    if !report.check(&format!("this machine's library{name}"), &mut library) {
        return;
    }
    if form.is_53() {
        let wrong = Form::BITS_64.out().join("release/librandflake.a");
        let verdict = refuses(&mut for_this_machine(form, &wrong), "rf53_init");
        report.verdict("the archive of the other form does not link", verdict);
    }
    let mut compiler = for_this_machine(form, &form.out().join("release/librandflake.a"));
    if report.check(&format!("a program for this machine{name}"), &mut compiler) {
        report.tests(
            &format!("this machine{name}"),
            &mut Command::new(form.out().join("host")),
        );
    }
}

/// The compiler of a program for this machine.
fn for_this_machine(form: &Form, archive: &Path) -> Command {
    let sources = [ON_THIS_MACHINE, ANYWHERE].concat().into_iter();
    let mut compiler = program(
        "cc",
        "-std=gnu11 -g -O1 -fsanitize=undefined,address -pthread",
    );
    compiler
        .args(WARNINGS)
        .arg("-fno-sanitize-recover")
        .args(form.flags)
        .args(form.includes())
        .args(sources.map(|name| test_folder().join(name)))
        .arg(archive)
        .arg("-o")
        .arg(form.out().join("host"));
    compiler
}

/// The archive, and what it brings into a program.
fn for_target(report: &mut Report, form: &Form, target: &Target) -> Option<PathBuf> {
    let to_target = format!("--target {}", target.name);
    let what = format!("{}{}", target.name, form.name);
    // What is compiled differs by whether the processor compares and swaps.
    if PAIRS.contains(&target.name) {
        let mut lint = form.library("clippy", &to_target);
        report.check(&format!("clippy, {what}"), lint.args(DENY));
    }
    if target.name == PLANTED && !form.is_53() {
        planted_panic(report, target);
    }
    if !report.check(&what, &mut form.library("build", &to_target)) {
        return None;
    }
    let archive = archive(form, target);
    let sizes = archive::check(&archive, form, target, &[]);
    if let Ok(sizes) = &sizes {
        report.say(sizes);
    }
    report.verdict(&format!("nothing foreign, {what}"), sizes);
    Some(archive)
}

fn on_boards(report: &mut Report, clang: &Path, form: &Form, target: &Target, archive: &Path) {
    let all = [ANYWHERE, ON_BOARDS].concat();
    let example = ["suite.c", "console.c", "example_driver.c", build::EXAMPLE];
    // What differs between the forms is arithmetic.
    let is_for_pairs = !form.is_53() && PAIRS.contains(&target.name);
    let flags: &'static [&str] = if is_for_pairs { &["-DPAIRS"] } else { &[] };
    let mut images = vec![("device", all, flags), ("example", example.to_vec(), &[])];
    if NO_COMPARE_AND_SWAP.contains(&target.name) {
        let sources = ["suite.c", "console.c", "device.c", "sweep.c", "planted.c"];
        images.push(("planted", sources.to_vec(), &["-DPLANTED"]));
    }
    let Some(emulator) = report.tool(target.emulator, target.name) else {
        return;
    };
    for (name, sources, flags) in images {
        let image = CImage {
            name,
            sources,
            flags,
        };
        let what = format!("{name}, {}{}", target.name, form.name);
        let mut compiled = compile(clang, form, target, &image);
        let mut linked = link(form, target, &image, archive);
        if report.check(&format!("C, {what}"), &mut compiled)
            && report.check(&format!("linked, {what}"), &mut linked)
        {
            for machine in target.machines {
                let what = format!("{name}, {}{}", machine.name, form.name);
                let file = image.file(form, target);
                report.tests(&what, &mut firmware::emulate(&emulator, machine, &file));
            }
        }
    }
}

fn archive(form: &Form, target: &Target) -> PathBuf {
    form.out().join(target.name).join("release/librandflake.a")
}

/// A panic is there, and the library does not link.
fn planted_panic(report: &mut Report, target: &Target) {
    let words = format!("--target {} --features planted-panic", target.name);
    let form = &Form::BITS_64;
    if !report.check("planted panic", &mut form.library("build", &words)) {
        return;
    }
    let verdict = match archive::check(&archive(form, target), form, target, &["rf_text_at"]) {
        Err(why) if why.contains("randflake_has_a_panic") => Ok(()),
        other => Err(format!("it was not caught: {other:?}")),
    };
    report.verdict("a planted panic does not link", verdict);
}

fn test_folder() -> PathBuf {
    folder().join("test")
}
