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
use crate::helpers::arguments::{self, Arguments, Plan, Planned};
use crate::helpers::cargo::{program, root};
use crate::helpers::report::Report;
use crate::helpers::setup::Need;
use crate::helpers::tools::{AR, QEMU_ARM};
use crate::parts::qemu::{TARGETS, Target, machine};

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
type RefusedTarget = (&'static str, &'static [&'static str], &'static str);

const PACKAGES: [&Package; 3] = [&cmake::ZEPHYR, &cmake::ESP_IDF, &platformio::PACKAGE];

/// The folder in each package's file.
const NAME: &str = "randflake";

/// Where a manifest has the version of all crates.
const VERSION: &str = "@VERSION@";

/// `cargo xtask package c`, with what was typed behind it.
pub(crate) fn plan(mut typed: Arguments) -> Planned {
    let out = arguments::path(&mut typed, "--out")?.unwrap_or_else(packages_folder);
    let names = arguments::names(typed, &PACKAGES.map(|package| package.name))?;
    let is_named =
        |package: &&Package| names.is_empty() || names.iter().any(|name| name == package.name);
    let chosen: Vec<&Package> = PACKAGES.into_iter().filter(is_named).collect();
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
        let has = self.has;
        TARGETS
            .iter()
            .chain(MORE_TARGETS)
            .filter(move |target| has(target))
    }

    /// Builds what is in it; its file.
    fn make(&self, report: &mut Report, out: &Path) -> Option<PathBuf> {
        for target in self.targets() {
            let mut build = Form::BITS_64.library("build", &["--target", target.name]);
            if !report.check(target.name, &mut build) {
                return None;
            }
        }
        let ar = report.tool(&AR, self.name)?;
        match self.write(&ar, out) {
            Ok((folder, file)) if report.check(self.name, &mut pack(&folder, &file)) => {
                report.say(&format!("{}: {}", self.name, file.display()));
                Some(file)
            }
            Ok(_) => None,
            Err(error) => {
                report.verdict(self.name, Err(error));
                None
            }
        }
    }

    /// Puts its files into a folder; that, and the file to pack it into.
    fn write(&self, ar: &Path, out: &Path) -> Result<(PathBuf, PathBuf), String> {
        let version = version()?;
        fs::create_dir_all(out).map_err(said(out))?;
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
            copy(&from, &to.join(name))?;
        }
        for target in self.targets() {
            let file = to.join(format!("lib/{}/librandflake.a", target.name));
            copy(&archive(&Form::BITS_64, target), &file)?;
            strip(ar, &file)?;
        }
        Ok((
            to,
            out.join(format!("{NAME}-{}-{version}.tar.gz", self.name)),
        ))
    }
}

/// Takes the compiler's own functions out of an archive: the library calls none of them, as the
/// part `c` checks, and they are all but a twentieth of it.
fn strip(ar: &Path, archive: &Path) -> Result<(), String> {
    let run = |operation: &str, members: &[&str]| {
        let mut command = Command::new(ar);
        command.arg(operation).arg(archive).args(members);
        let output = command.output().map_err(|error| error.to_string())?;
        let printed = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() {
            Ok(printed(&output.stdout))
        } else {
            Err(printed(&output.stderr))
        }
    };
    let members = run("t", &[])?;
    let foreign: Vec<&str> = members
        .lines()
        .filter(|member| !member.starts_with(NAME))
        .collect();
    run("dD", &foreign).map(drop)
}

/// The same files make the same package on every machine.
fn pack(folder: &Path, file: &Path) -> Command {
    let mut pack = program(
        "tar",
        &[
            "--create",
            "--gzip",
            "--sort=name",
            "--mtime=@0",
            "--owner=0",
            "--group=0",
            "--numeric-owner",
            "--mode=u=rwX,go=rX",
        ],
    );
    pack.arg("--file").arg(file);
    pack.arg("--directory")
        .arg(folder.with_file_name(""))
        .arg(NAME);
    pack
}

/// Of the library's crate.
fn version() -> Result<String, String> {
    let file = folder().join("Cargo.toml");
    let manifest = fs::read_to_string(&file).map_err(said(&file))?;
    let mut lines = manifest.lines();
    let version = lines.find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    version
        .map(str::to_owned)
        .ok_or(format!("{} has no version", file.display()))
}

/// A folder of texts, with the version where it belongs.
fn copy_all(from: &Path, to: &Path, version: &str) -> Result<(), String> {
    fs::create_dir_all(to).map_err(said(to))?;
    for entry in fs::read_dir(from).map_err(said(from))? {
        let path = entry.map_err(said(from))?.path();
        let to = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy_all(&path, &to, version)?;
        } else {
            let text = fs::read_to_string(&path).map_err(said(&path))?;
            fs::write(&to, text.replace(VERSION, version)).map_err(said(&to))?;
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let inside = to.parent().unwrap_or(to);
    fs::create_dir_all(inside).map_err(said(inside))?;
    fs::copy(from, to).map(drop).map_err(said(from))
}

fn said(path: &Path) -> impl FnOnce(std::io::Error) -> String {
    move |error| format!("{}: {error}", path.display())
}
