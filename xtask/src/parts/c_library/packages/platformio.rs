//! The PlatformIO library, built by PlatformIO itself. Its registry is not reached, so a
//! development platform of the tests stands in for those of processors, and `PyPI`'s SCons for
//! PlatformIO's own package of it.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::builds::{Build, Customer, Steps, linker_words, sources};
use super::{Package, copy_all};
use crate::helpers::prelude::*;
use crate::parts::c_library::build::{OPTIONS, scripts};
use crate::parts::c_library::test_folder;

#[rustfmt::skip]
pub(super) const PACKAGE: Package = Package {
    name: "platformio",
    has: |_| true,
    // A real board's file says the chip; here the compiler's options say all.
    choice: |target| target.name,
    build,
    check,
    refused: &[
        ("Armv8-M Baseline", "--target=thumbv8m.base-none-eabi", "Armv8-M Baseline"),
        ("Armv7-M with hard-float calls", "--target=thumbv7m-none-eabihf -mfloat-abi=hard", "Armv7-M with hard-float calls"),
        ("rv32imac with hard-float calls", "--target=riscv32 -march=rv32imafc -mabi=ilp32f", "rv32imac with hard-float calls"),
        ("atmega328p", "--target=avr -mmcu=atmega328p", "atmega328p"),
    ],
};

/// A project, whose only libraries are those of the customer.
fn build(build: &Build<'_>) -> Result<Steps, String> {
    let core = home(build.customer)?;
    let project = &build.folder;
    let headers = ["suite.h", "board.h"].map(|name| test_folder().join(name));
    for source in sources(build.target).iter().chain(&headers) {
        files::copy(
            source,
            &project
                .join("src")
                .join(source.file_name().unwrap_or_default()),
        )?;
    }
    let scripts: Vec<_> = scripts(build.target)
        .iter()
        .map(|script| format!("-T {}", script.display()))
        .collect();
    let settings = format!(
        "[platformio]\nlib_dir = {}\n[env:board]\nplatform = boards\ncustom_mcu = {}\ncustom_cc = {}\n\
         custom_link = {}\ncustom_ccflags = {} {OPTIONS}\ncustom_linkflags = --gc-sections {}\n",
        build.customer.unpacked.display(),
        build.choice,
        build.customer.clang.display(),
        linker_words().join(" "),
        build.options,
        scripts.join(" "),
    );
    files::write(&project.join("platformio.ini"), settings)?;
    let mut run = pio(build.customer, &core);
    run.args(["run", "--project-dir"]).arg(project);
    Ok(Steps {
        commands: vec![run],
        image: project.join(".pio/build/board/program"),
    })
}

/// The home of PlatformIO, with what it would install.
fn home(customer: &Customer<'_>) -> Result<PathBuf, String> {
    let core = customer.scratch.join("core");
    if !core.is_dir() {
        copy_all(&test_folder().join("packages/platformio/core"), &core, "")?;
        // SCons runs a shell for each command.
        let shell = customer.venv.program("sh");
        symlink("/bin/sh", &shell).map_err(files::of(&shell))?;
    }
    Ok(core)
}

fn pio(customer: &Customer<'_>, core: &Path) -> Command {
    let mut command = customer.tool("pio");
    command
        .env("PLATFORMIO_CORE_DIR", core)
        .env("PLATFORMIO_SETTING_ENABLE_TELEMETRY", "No")
        .env("PLATFORMIO_SETTING_CHECK_PLATFORMIO_INTERVAL", "9999");
    command
}

fn check(report: &mut Report, customer: &Customer<'_>) {
    let mut pack = customer.tool("python");
    pack.arg(test_folder().join("packages/platformio/pack.py"))
        .arg(customer.package())
        .arg(customer.scratch.join("packed.tar.gz"));
    report.check("the library's manifest, packed", &mut pack);
}
