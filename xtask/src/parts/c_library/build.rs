//! C programs for microcontrollers: compiled by clang, linked by Rust's linker.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Form, WARNINGS, folder, test_folder};
use crate::helpers::cargo::{output_of, program};
use crate::parts::qemu::Target;

/// A program of some of the test's files.
pub(super) struct CImage {
    pub(super) name: &'static str,
    sources: Vec<&'static str>,
    flags: &'static [&'static str],
}

impl CImage {
    pub(super) fn of(
        name: &'static str,
        sources: &[&'static str],
        flags: &'static [&'static str],
    ) -> Self {
        let sources = sources.to_vec();
        Self {
            name,
            sources,
            flags,
        }
    }

    pub(super) fn file(&self, form: &Form, target: &Target) -> PathBuf {
        objects(form, target, self.name).join("image")
    }
}

/// Where clang, which names objects after sources, puts them.
fn objects(form: &Form, target: &Target, name: &str) -> PathBuf {
    form.out().join(target.name).join("images").join(name)
}

fn is_arm(target: &Target) -> bool {
    target.name.starts_with("thumb")
}

/// A file of the test, or the README's program.
fn source(form: &Form, name: &str) -> PathBuf {
    let folder = if name == EXAMPLE {
        form.out()
    } else {
        test_folder()
    };
    folder.join(name)
}

/// The name of the machine in `test`.
pub(super) fn machine(target: &Target) -> &'static str {
    if is_arm(target) { "arm" } else { "riscv" }
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

/// A target as clang names it.
pub(super) fn clang_target(target: &Target) -> &'static [&'static str] {
    match target.name {
        "thumbv6m-none-eabi" => &["--target=thumbv6m-none-eabi", "-mcpu=cortex-m0"],
        "thumbv7m-none-eabi" => &["--target=thumbv7m-none-eabi", "-mcpu=cortex-m3"],
        "thumbv7em-none-eabi" => &[
            "--target=thumbv7em-none-eabi",
            "-mcpu=cortex-m4",
            "-mfloat-abi=soft",
        ],
        "thumbv7em-none-eabihf" => &[
            "--target=thumbv7em-none-eabihf",
            "-mcpu=cortex-m4",
            "-mfloat-abi=hard",
        ],
        "thumbv8m.main-none-eabi" => &[
            "--target=thumbv8m.main-none-eabi",
            "-mcpu=cortex-m33",
            "-mfloat-abi=soft",
        ],
        "thumbv8m.main-none-eabihf" => &[
            "--target=thumbv8m.main-none-eabihf",
            "-mcpu=cortex-m33",
            "-mfloat-abi=hard",
        ],
        "riscv32imac-unknown-none-elf" => &[
            "--target=riscv32-none-elf",
            "-march=rv32imac",
            "-mabi=ilp32",
            "-mno-relax",
        ],
        _ => &[
            "--target=riscv32-none-elf",
            "-march=rv32imc",
            "-mabi=ilp32",
            "-mno-relax",
        ],
    }
}

fn clang(clang: &Path, target: &Target, inside: &Path) -> Command {
    _ = fs::create_dir_all(inside);
    let mut command = Command::new(clang);
    command
        .current_dir(inside)
        .args(clang_target(target))
        .args(["-std=c11", "-Os", "-ffreestanding", "-ffunction-sections"])
        .args(WARNINGS)
        .arg("-c");
    command
}

pub(super) fn compile(program: &Path, form: &Form, target: &Target, image: &CImage) -> Command {
    let mut command = clang(program, target, &objects(form, target, image.name));
    let board = format!("{}.c", machine(target));
    let sources = image.sources.iter().copied().chain([board.as_str()]);
    command
        .args(form.includes())
        .args(form.flags)
        .args(image.flags)
        .args(sources.map(|name| source(form, name)));
    command
}

pub(super) fn link(form: &Form, target: &Target, image: &CImage, archive: &Path) -> Command {
    let objects = objects(form, target, image.name);
    let mut command = linker();
    let board = machine(target);
    command
        .arg("--gc-sections")
        .args(
            scripts(target)
                .iter()
                .flat_map(|file| [Path::new("-T"), file.as_path()]),
        )
        .args(
            image
                .sources
                .iter()
                .map(|name| objects.join(name).with_extension("o")),
        )
        .arg(objects.join(board).with_extension("o"))
        .arg(archive)
        .arg("-o")
        .arg(image.file(form, target));
    command
}

/// The linker that comes with Rust.
pub(super) fn linker() -> Command {
    let sysroot = output_of(&mut program("rustc", &["--print", "sysroot"])).unwrap_or_default();
    let host = output_of(&mut program("rustc", &["--print", "host-tuple"])).unwrap_or_default();
    let file = Path::new(&sysroot)
        .join("lib/rustlib")
        .join(host)
        .join("bin/rust-lld");
    let mut command = Command::new(file);
    command.args(["-flavor", "gnu"]);
    command
}

/// The whole program of the README.
pub(super) const EXAMPLE: &str = "example.c";

/// Copies the README's program into a folder.
pub(super) fn example(to: &Path) -> Result<(), String> {
    let because = |error: std::io::Error| error.to_string();
    let readme = fs::read_to_string(folder().join("README.md")).map_err(because)?;
    let (_, code) = readme
        .split_once("```c\n")
        .ok_or("the README has no program")?;
    let (code, _) = code
        .split_once("```")
        .ok_or("the README's program does not end")?;
    fs::write(to.join(EXAMPLE), code).map_err(because)
}
