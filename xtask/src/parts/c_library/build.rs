//! C programs for microcontrollers: compiled by clang, linked by Rust's linker.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Form, WARNINGS, folder, test_folder};
use crate::helpers::prelude::*;
use crate::parts::firmware::Target;

/// A program of some of the test's files.
pub(super) struct CImage {
    pub(super) name: &'static str,
    pub(super) sources: Vec<&'static str>,
    pub(super) flags: &'static [&'static str],
}

impl CImage {
    pub(super) fn file(&self, form: &Form, target: &Target) -> PathBuf {
        objects(form, target, self.name).join("image")
    }
}

/// Where clang, which names objects after sources, puts them.
fn objects(form: &Form, target: &Target, name: &str) -> PathBuf {
    form.out().join(target.name).join("images").join(name)
}

/// A file of the test, or the README's program.
fn source(form: &Form, name: &str) -> PathBuf {
    if name == EXAMPLE {
        form.out().join(name)
    } else {
        test_folder().join(name)
    }
}

/// The name of the machine in `test`.
pub(super) fn machine(target: &Target) -> &'static str {
    if target.name.starts_with("thumb") {
        "arm"
    } else {
        "riscv"
    }
}

/// Where memory is, and what belongs there.
pub(super) fn scripts(target: &Target) -> Vec<PathBuf> {
    let names: &[&str] = match target.name {
        name if name.starts_with("thumbv8m") => &["armv8m.ld", "arm_sections.ld"],
        name if name.starts_with("thumb") => &["arm.ld", "arm_sections.ld"],
        _ => &["riscv.ld"],
    };
    names.iter().map(|name| test_folder().join(name)).collect()
}

/// Words that tell clang of a target.
pub(super) fn clang_target(target: &Target) -> &'static str {
    match target.name {
        "thumbv6m-none-eabi" => "--target=thumbv6m-none-eabi -mcpu=cortex-m0",
        "thumbv7m-none-eabi" => "--target=thumbv7m-none-eabi -mcpu=cortex-m3",
        "thumbv7em-none-eabi" => "--target=thumbv7em-none-eabi -mcpu=cortex-m4 -mfloat-abi=soft",
        "thumbv7em-none-eabihf" => {
            "--target=thumbv7em-none-eabihf -mcpu=cortex-m4 -mfloat-abi=hard"
        }
        "thumbv8m.main-none-eabi" => {
            "--target=thumbv8m.main-none-eabi -mcpu=cortex-m33 -mfloat-abi=soft"
        }
        "thumbv8m.main-none-eabihf" => {
            "--target=thumbv8m.main-none-eabihf -mcpu=cortex-m33 -mfloat-abi=hard"
        }
        "riscv32imac-unknown-none-elf" => {
            "--target=riscv32-none-elf -march=rv32imac -mabi=ilp32 -mno-relax"
        }
        _ => "--target=riscv32-none-elf -march=rv32imc -mabi=ilp32 -mno-relax",
    }
}

/// As firmware is compiled.
pub(super) const OPTIONS: &str = "-std=c11 -Os -ffreestanding -ffunction-sections";

pub(super) fn compile(clang: &Path, form: &Form, target: &Target, image: &CImage) -> Command {
    let folder = objects(form, target, image.name);
    // Clang says it if the folder is not there.
    _ = fs::create_dir_all(&folder);
    let board = format!("{}.c", machine(target));
    let sources = image.sources.iter().copied().chain([board.as_str()]);
    let mut command = program(clang, &format!("{} {OPTIONS} -c", clang_target(target)));
    command
        .current_dir(folder)
        .args(WARNINGS)
        .args(form.includes())
        .args(form.flags)
        .args(image.flags)
        .args(sources.map(|name| source(form, name)));
    command
}

pub(super) fn link(form: &Form, target: &Target, image: &CImage, archive: &Path) -> Command {
    let objects = objects(form, target, image.name);
    let names = image.sources.iter().copied().chain([machine(target)]);
    let mut command = linker();
    command
        .arg("--gc-sections")
        .args(
            scripts(target)
                .iter()
                .flat_map(|file| [Path::new("-T"), file]),
        )
        .args(names.map(|name| objects.join(name).with_extension("o")))
        .arg(archive)
        .arg("-o")
        .arg(image.file(form, target));
    command
}

/// The linker that comes with Rust.
pub(super) fn linker() -> Command {
    let libraries = Path::new(&rustc("--print sysroot")).join("lib/rustlib");
    let file = libraries
        .join(rustc("--print host-tuple"))
        .join("bin/rust-lld");
    let mut command = Command::new(file);
    command.args(["-flavor", "gnu"]);
    command
}

/// The whole program of the README.
pub(super) const EXAMPLE: &str = "example.c";

/// Copies the README's program into a folder.
pub(super) fn example(to: &Path) -> Result<(), String> {
    let readme = files::read(&folder().join("README.md"))?;
    let (_, code) = readme
        .split_once("```c\n")
        .ok_or("the README has no program")?;
    let (code, _) = code
        .split_once("```")
        .ok_or("the README's program does not end")?;
    files::write(&to.join(EXAMPLE), code)
}
