//! `c`: `randflake-embedded/c`: its header in C and C++, a C program that is linked with the shipped archive and run, on
//! this machine and on emulated microcontrollers, and the packages.

mod archive;
mod build;
mod header;
pub(crate) mod packages;
mod vectors;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::{cargo, program, root, target};
use crate::lint::DENY;
use crate::qemu::{self, TARGETS, Target};
use crate::report::Report;
use crate::setup::Need;
use crate::tools::{CLANG, GCC};
use build::{CImage, compile, link};

/// Where interrupts must be masked, by functions that a program may replace.
const NO_COMPARE_AND_SWAP: [&str; 2] = ["thumbv6m-none-eabi", "riscv32imc-unknown-none-elf"];

/// One target is enough to see that a panic is caught.
const PLANTED: &str = "thumbv6m-none-eabi";

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// The parts of the test that need no board.
const ANYWHERE: &[&str] = &["suite.c", "calls.c", "vectors.c", "flash.c"];
const ON_THIS_MACHINE: &[&str] = &["host.c", "threads.c"];
const ON_BOARDS: &[&str] = &["device.c", "console.c", "resets.c", "sweep.c"];

pub(crate) fn needs() -> Vec<Need> {
    let mut needs = qemu::needs();
    needs.extend([&CLANG, &GCC].map(Need::Tool));
    needs.extend(packages::needs());
    needs
}

pub(crate) fn run(report: &mut Report) {
    let mut format = cargo(&["fmt", "--check"]);
    report.check("format", format.current_dir(folder()));
    let written = fs::create_dir_all(out())
        .map_err(|error| error.to_string())
        .and_then(|()| vectors::write(&out()))
        .and_then(|()| build::example(&out()));
    if !report.verdict("vectors and the README's program", written) {
        return;
    }
    on_this_machine(report);
    let clang = report.tool(&CLANG, "the C library on microcontrollers and its packages");
    let gcc = report.tool(&GCC, "the C library's header, by gcc");
    if let (Some(clang), Some(gcc)) = (&clang, &gcc) {
        header::check(report, [clang, gcc]);
    }
    for target in TARGETS {
        if let (Some(archive), Some(clang)) = (for_target(report, target), &clang) {
            on_boards(report, clang, target, &archive);
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

/// Where it is built: its profile is its own.
fn out() -> PathBuf {
    target().join("c")
}

fn library(what: &str, arguments: &[&str]) -> Command {
    let mut command = cargo(&[what, "--locked", "--release"]);
    command
        .args(arguments)
        .current_dir(folder())
        .env("CARGO_TARGET_DIR", out());
    command
}

/// What a linker is there for: the program that builds here builds Rust.
fn on_this_machine(report: &mut Report) {
    if !report.check("this machine's library", &mut library("build", &[])) {
        return;
    }
    let program_file = out().join("host");
    let mut compiler = program("cc", &["-std=c11", "-g", "-O1"]);
    compiler
        .args(WARNINGS)
        .arg("-fsanitize=undefined,address")
        .arg("-fno-sanitize-recover")
        .args(includes())
        .arg("-pthread")
        .args(ON_THIS_MACHINE.iter().map(|name| test_folder().join(name)))
        .args(ANYWHERE.iter().map(|name| test_folder().join(name)))
        .arg(out().join("release/librandflake.a"))
        .arg("-o")
        .arg(&program_file);
    if report.check("a program for this machine", &mut compiler) {
        report.tests("this machine", &mut Command::new(program_file));
    }
}

/// The archive, and what it brings into a program.
fn for_target(report: &mut Report, target: &Target) -> Option<PathBuf> {
    let to_target = ["--target", target.name];
    report.check(
        &format!("clippy, {}", target.name),
        library("clippy", &to_target).args(DENY),
    );
    if target.name == PLANTED {
        planted_panic(report, target);
    }
    if !report.check(target.name, &mut library("build", &to_target)) {
        return None;
    }
    let archive = archive(target);
    let sizes = archive::check(&archive, target, &[]);
    if let Ok(sizes) = &sizes {
        report.say(sizes);
    }
    report.verdict(
        &format!("nothing foreign, {}", target.name),
        sizes.map(drop),
    );
    Some(archive)
}

fn on_boards(report: &mut Report, clang: &Path, target: &Target, archive: &Path) {
    let all = [ANYWHERE, ON_BOARDS].concat();
    let example = ["suite.c", "console.c", "example_driver.c", build::EXAMPLE];
    let mut images = vec![
        CImage::of("device", &all, &[]),
        CImage::of("example", &example, &[]),
    ];
    if NO_COMPARE_AND_SWAP.contains(&target.name) {
        let sources = ["suite.c", "console.c", "device.c", "sweep.c", "planted.c"];
        images.push(CImage::of("planted", &sources, &["-DPLANTED"]));
    }
    let Some(emulator) = report.tool(target.emulator, target.name) else {
        return;
    };
    for image in images {
        let what = format!("{}, {}", image.name, target.name);
        let mut compiled = compile(clang, target, &image);
        if !report.check(&format!("C, {what}"), &mut compiled) {
            continue;
        }
        if report.check(
            &format!("linked, {what}"),
            &mut link(target, &image, archive),
        ) {
            for machine in target.machines {
                let what = format!("{}, {}", image.name, machine.name);
                let mut emulate = qemu::emulate(&emulator, machine, &image.file(target));
                report.tests(&what, &mut emulate);
            }
        }
    }
}

fn archive(target: &Target) -> PathBuf {
    out().join(target.name).join("release/librandflake.a")
}

/// A panic is there, and the library does not link.
fn planted_panic(report: &mut Report, target: &Target) {
    let arguments = ["--target", target.name, "--features", "planted-panic"];
    if !report.check("planted panic", &mut library("build", &arguments)) {
        return;
    }
    let verdict = match archive::check(&archive(target), target, &["rf_text_at"]) {
        Err(why) if why.contains("randflake_has_a_panic") => Ok(()),
        other => Err(format!("it was not caught: {other:?}")),
    };
    report.verdict("a planted panic does not link", verdict);
}

fn test_folder() -> PathBuf {
    folder().join("test")
}

/// The header, and the vectors.
fn includes() -> [String; 2] {
    [folder(), out()].map(|folder| format!("-I{}", folder.display()))
}
