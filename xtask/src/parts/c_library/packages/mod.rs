//! Packages for C teams without Rust: a Zephyr module, an ESP-IDF component and a PlatformIO
//! library, each with the header, the licences and an archive for each listed target.

mod builds;
mod cmake;
mod platformio;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use builds::{Build, Customer, Steps};
pub(super) use builds::{needs, run};

use super::{Form, archive, folder};
use crate::helpers::prelude::*;
use crate::parts::firmware::{TARGETS, Target, machine};

/// The other calling convention, and the processors that Rust's firmware is not run on.
const MORE_TARGETS: &[Target] = &[
    Target {
        name: "thumbv7em-none-eabihf",
        emulator: &QEMU_ARM,
        machines: &[machine("Cortex-M4F", &["-M", "mps2-an386"], 6)],
    },
    Target {
        name: "thumbv8m.main-none-eabi",
        emulator: &QEMU_ARM,
        machines: &[machine("Cortex-M33", &["-M", "mps2-an505"], 6)],
    },
    Target {
        name: "thumbv8m.main-none-eabihf",
        emulator: &QEMU_ARM,
        machines: &[machine("Cortex-M33F", &["-M", "mps2-an505"], 6)],
    },
];

struct Package {
    name: &'static str,
    /// Whether it has an archive for a target.
    has: fn(&Target) -> bool,
    /// How its build system is told of a target's processor.
    choice: fn(&Target) -> &'static str,
    build: fn(&Build<'_>) -> Result<Steps, String>,
    /// Checks its manifest as its registry would.
    check: fn(&mut Report, &Customer<'_>),
    refused: &'static [RefusedTarget],
}

/// A processor without an archive: what the build is told, as choice and as options of the
/// compiler, and what it says of it.
type RefusedTarget = (&'static str, &'static str, &'static str);

const PACKAGES: [&Package; 3] = [&cmake::ZEPHYR, &cmake::ESP_IDF, &platformio::PACKAGE];

/// The folder in each package's file.
const NAME: &str = "randflake";

/// Where a manifest has the version of all crates.
const VERSION: &str = "@VERSION@";

/// `cargo xtask package c`, with what was typed behind it.
pub(crate) fn plan(mut typed: Arguments) -> Planned {
    let out = arguments::path(&mut typed, "--out")?.unwrap_or_else(packages_folder);
    let names = arguments::names(typed, &PACKAGES.map(|package| package.name))?;
    let chosen: Vec<&Package> = PACKAGES
        .into_iter()
        .filter(|package: &&Package| {
            names.is_empty() || names.iter().any(|name| name == package.name)
        })
        .collect();
    let targets = chosen.iter().flat_map(|package| package.targets());
    let needs = targets
        .map(|target| Need::Target(target.name))
        .chain([Need::Tool(&AR)]);
    Plan::of(needs.collect(), move |report| {
        for package in chosen {
            package.make(report, &out);
        }
    })
}

fn packages_folder() -> PathBuf {
    Form::BITS_64.out().join("packages")
}

impl Package {
    fn targets(&self) -> impl Iterator<Item = &'static Target> {
        TARGETS
            .iter()
            .chain(MORE_TARGETS)
            .filter(|target| (self.has)(target))
    }

    /// Builds what is in it; its file.
    fn make(&self, report: &mut Report, out: &Path) -> Option<PathBuf> {
        for target in self.targets() {
            let to_target = format!("--target {}", target.name);
            if !report.check(target.name, &mut Form::BITS_64.library("build", &to_target)) {
                return None;
            }
        }
        let ar = report.tool(&AR, self.name)?;
        let (folder, file) = report.ok(self.name, self.write(&ar, out))?;
        if !report.check(self.name, &mut pack(&folder, &file)) {
            return None;
        }
        report.say(&format!("{}: {}", self.name, file.display()));
        Some(file)
    }

    /// Puts its files into a folder; that, and the file to pack it into.
    fn write(&self, ar: &Path, out: &Path) -> Result<(PathBuf, PathBuf), String> {
        let version = version()?;
        fs::create_dir_all(out).map_err(files::of(out))?;
        let to = packages_folder().join(self.name).join(NAME);
        // Of an earlier version.
        _ = fs::remove_dir_all(&to);
        copy_all(&folder().join("packages").join(self.name), &to, &version)?;
        for (from, name) in [
            (folder().join("randflake.h"), "include/randflake.h"),
            (folder().join("README.md"), "README.md"),
            (root().join("LICENSE-MIT"), "LICENSE-MIT"),
            (root().join("LICENSE-APACHE"), "LICENSE-APACHE"),
        ] {
            files::copy(&from, &to.join(name))?;
        }
        for target in self.targets() {
            let file = to.join(format!("lib/{}/librandflake.a", target.name));
            files::copy(&archive(&Form::BITS_64, target), &file)?;
            strip(ar, &file)?;
        }
        let file = out.join(format!("{NAME}-{}-{version}.tar.gz", self.name));
        Ok((to, file))
    }
}

/// Takes the compiler's own functions out of an archive: the library calls none of them, as the
/// part `c` checks, and they are all but a twentieth of it.
fn strip(ar: &Path, archive: &Path) -> Result<(), String> {
    let members = answer(program(ar, "t").arg(archive))?;
    let foreign = members.lines().filter(|member| !member.starts_with(NAME));
    answer(program(ar, "dD").arg(archive).args(foreign)).map(drop)
}

/// The same files make the same package on every machine.
fn pack(folder: &Path, file: &Path) -> Command {
    let mut pack = program(
        "tar",
        "--create --gzip --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner \
         --mode=u=rwX,go=rX --file",
    );
    pack.arg(file)
        .arg("--directory")
        .arg(folder.with_file_name(""))
        .arg(NAME);
    pack
}

/// Of the library's crate.
fn version() -> Result<String, String> {
    let manifest = files::read(&folder().join("Cargo.toml"))?;
    let mut lines = manifest.lines();
    let version = lines.find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    Ok(version.ok_or("the manifest has no version")?.to_owned())
}

/// A folder of texts, with the version where it belongs.
fn copy_all(from: &Path, to: &Path, version: &str) -> Result<(), String> {
    for path in files::below(from, &|_| true).map_err(files::of(from))? {
        let text = files::read(&path)?.replace(VERSION, version);
        files::write(&to.join(path.strip_prefix(from).unwrap_or(&path)), text)?;
    }
    Ok(())
}
