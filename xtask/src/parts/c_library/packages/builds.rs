//! Each package unpacked in an empty folder, and the README's program built there from nothing but
//! that copy: by the build system it is for, or by what stands in for that, without cargo in
//! `PATH`; then run on an emulated board.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{MORE_TARGETS, NAME, PACKAGES, Package, RefusedTarget};
use crate::helpers::prelude::*;
use crate::parts::c_library::build::{EXAMPLE, OPTIONS, clang_target, linker, machine, scripts};
use crate::parts::c_library::{Form, test_folder};
use crate::parts::firmware::{TARGETS, Target, emulate};

/// What builds, and what checks manifests.
const TOOLS: &[&str] = &[
    "cmake==4.4.4",
    "idf-component-manager==3.1.2",
    "kconfiglib==14.1.0",
    "ninja==1.13.2",
    "platformio==6.2.0",
    "pyyaml==6.0.3",
    // PlatformIO asks for just this one.
    "scons==4.11.1",
];

pub(crate) fn needs() -> Vec<Need> {
    let targets = MORE_TARGETS.iter().map(|target| Need::Target(target.name));
    targets
        .chain([Need::Tool(&AR), Need::Tool(&PYTHON)])
        .collect()
}

pub(crate) fn run(report: &mut Report, clang: &Path) {
    let Some(venv) = Venv::with(report, "c-packages", "tools for the C packages", TOOLS) else {
        return;
    };
    for package in PACKAGES {
        let Some(scratch) = report.scratch(package.name) else {
            return;
        };
        let Some(file) = package.make(report, &scratch.path().join("made")) else {
            continue;
        };
        let unpacked = scratch.path().join("unpacked");
        let customer = Customer {
            clang,
            venv: &venv,
            scratch: scratch.path(),
            unpacked,
        };
        let emptied = fs::create_dir(&customer.unpacked);
        let mut unpack = program("tar", "--extract --file");
        unpack.arg(file).current_dir(&customer.unpacked);
        let what = format!("unpacked, {}", package.name);
        if !report.verdict(&what, emptied) || !report.check(&what, &mut unpack) {
            continue;
        }
        (package.check)(report, &customer);
        for refusal in package.refused {
            customer.see_refusal(report, package, *refusal);
        }
        for target in package.targets() {
            customer.link_and_run(report, package, target);
        }
    }
}

/// A user of a package, who builds with it.
pub(super) struct Customer<'a> {
    pub(super) clang: &'a Path,
    pub(super) venv: &'a Venv,
    pub(super) scratch: &'a Path,
    /// Has nothing in it but the package.
    pub(super) unpacked: PathBuf,
}

/// What builds a program, and where that is then.
pub(super) struct Steps {
    pub(super) commands: Vec<Command>,
    pub(super) image: PathBuf,
}

/// A program to build.
pub(super) struct Build<'a> {
    pub(super) customer: &'a Customer<'a>,
    /// How the package's build system is told the processor.
    pub(super) choice: &'a str,
    /// How the compiler is.
    pub(super) options: &'a str,
    pub(super) target: &'a Target,
    /// A folder of its own for what the build writes.
    pub(super) folder: PathBuf,
}

impl Customer<'_> {
    /// The folder of the unpacked package.
    pub(super) fn package(&self) -> PathBuf {
        self.unpacked.join(NAME)
    }

    /// A program of the environment, which finds no other.
    pub(super) fn tool(&self, name: &str) -> Command {
        let file = self.venv.program(name);
        let mut command = program(&file, "");
        command
            .current_dir(self.scratch)
            .env("PATH", file.with_file_name(""));
        command
    }

    /// Takes the archives of all other targets out of the package: a linker may take one for
    /// another without a word.
    fn leave_only(&self, target: &Target) -> Result<(), String> {
        let (there, all) = (self.package().join("lib"), self.scratch.join("lib"));
        let moved = if all.is_dir() {
            fs::remove_dir_all(&there)
        } else {
            fs::rename(&there, &all)
        };
        moved.map_err(files::of(&there))?;
        let archive = Path::new(target.name).join("librandflake.a");
        files::copy(&all.join(&archive), &there.join(&archive))
    }

    fn link_and_run(&self, report: &mut Report, package: &Package, target: &Target) {
        let what = format!("{}, {}", package.name, target.name);
        let build = self.build((package.choice)(target), clang_target(target), target);
        let steps = self
            .leave_only(target)
            .and_then(|()| (package.build)(&build));
        let Some(steps) = report.ok(&what, steps) else {
            return;
        };
        let mut commands = steps.commands.into_iter();
        if !commands.all(|mut command| report.check(&what, &mut command)) {
            return;
        }
        let emulator = report.tool(target.emulator, target.name);
        if let (Some(emulator), [machine, ..]) = (emulator, target.machines) {
            report.tests(&what, &mut emulate(&emulator, machine, &steps.image));
        }
    }

    /// The build stops, and names what there is no archive for.
    fn see_refusal(
        &self,
        report: &mut Report,
        package: &Package,
        (choice, options, named): RefusedTarget,
    ) {
        let what = format!("{} without {}", package.name, named);
        // No program is linked, so any board does.
        let [target, ..] = TARGETS else { return };
        let build = self.build(choice, options, target);
        let verdict = (package.build)(&build).and_then(|steps| refused(steps, named));
        report.verdict(&what, verdict);
    }

    fn build<'a>(&'a self, choice: &'a str, options: &'a str, target: &'a Target) -> Build<'a> {
        let name = choice.replace(|letter: char| !letter.is_alphanumeric(), "-");
        Build {
            customer: self,
            choice,
            options,
            target,
            folder: self.scratch.join(name),
        }
    }
}

/// One of these fails, and says why; build systems break its line where they like.
fn refused(steps: Steps, named: &str) -> Result<(), String> {
    let sentence = format!("randflake has no archive for {named}. It has: ");
    for mut command in steps.commands {
        let output = command.output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            let printed = [output.stdout, output.stderr].concat();
            let printed = String::from_utf8_lossy(&printed);
            let words: Vec<_> = printed.split_whitespace().collect();
            let is_said = words.join(" ").contains(sentence.trim_end());
            return is_said.then_some(()).ok_or(printed.into_owned());
        }
    }
    Err("it was built".to_owned())
}

impl Build<'_> {
    /// CMake, for the build system whose stand-in is in that folder of the tests.
    pub(super) fn by_cmake(&self, stand_in: &str, definitions: &[String]) -> Steps {
        let define = |name: &str, value: &str| format!("-D{name}={value}");
        let list = |paths: Vec<PathBuf>| {
            paths
                .iter()
                .map(|path| path.display().to_string())
                .collect::<Vec<_>>()
                .join(";")
        };
        let mut configure = self.customer.tool("cmake");
        configure
            .args(["-G", "Ninja", "-S"])
            .arg(test_folder().join("packages").join(stand_in))
            .arg("-B")
            .arg(&self.folder)
            .args([
                define("CMAKE_SYSTEM_NAME", "Generic"),
                define("CMAKE_C_COMPILER", &self.customer.clang.to_string_lossy()),
                // It has no C library to link a first program with.
                define("CMAKE_C_COMPILER_WORKS", "TRUE"),
                define("CMAKE_C_FLAGS", &format!("{} {OPTIONS}", self.options)),
                define("LINKER", &linker_words().join(" ")),
                define("PACKAGE", &self.customer.package().to_string_lossy()),
                define("SOURCES", &list(sources(self.target))),
                define("SCRIPTS", &list(scripts(self.target))),
            ])
            .args(definitions);
        let mut build = self.customer.tool("cmake");
        build.arg("--build").arg(&self.folder);
        Steps {
            commands: vec![configure, build],
            image: self.folder.join("program"),
        }
    }
}

/// The README's program, and what runs it on a board.
pub(super) fn sources(target: &Target) -> Vec<PathBuf> {
    let board = format!("{}.c", machine(target));
    let names = ["suite.c", "console.c", "example_driver.c", &board];
    let mut files: Vec<_> = names.iter().map(|name| test_folder().join(name)).collect();
    files.push(Form::BITS_64.out().join(EXAMPLE));
    files
}

/// Rust's linker, which lies in no folder of `PATH`.
pub(super) fn linker_words() -> Vec<String> {
    let linker = linker();
    let words = [linker.get_program()].into_iter().chain(linker.get_args());
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}
