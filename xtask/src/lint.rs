//! `lint`: format, and clippy, which builds what the other parts run on this machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::{cargo, output_of, program};
use crate::matrix::host_tests;
use crate::report::Report;
use crate::setup::{CLIPPY, Need};

pub(crate) fn needs() -> Vec<Need> {
    vec![Need::Command("fmt", "rustfmt"), CLIPPY]
}

/// Warnings are denied to clippy, not in `RUSTFLAGS`: those would build every dependency once more.
pub(crate) const DENY: [&str; 3] = ["--", "-D", "warnings"];

/// What cargo calls for the crates of a workspace, instead of the compiler and with it.
const WRAPPER: &str = "RUSTC_WORKSPACE_WRAPPER";
/// What clippy reads when it is called so.
const ARGUMENTS: &str = "CLIPPY_ARGS";

/// Lets clippy build the crates of a workspace, and look at them meanwhile: what they stand on, which is most of the work, is
/// then compiled once and not checked once more.
pub(crate) fn while_building(command: &mut Command) -> &mut Command {
    // As `cargo clippy -- -D warnings` says it.
    command
        .env(WRAPPER, clippy())
        .env(ARGUMENTS, "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__")
}

/// Leaves it to the compiler alone, which optimises more.
pub(crate) fn not_while_building(command: &mut Command) -> &mut Command {
    command.env_remove(WRAPPER).env_remove(ARGUMENTS)
}

/// The compiler that lints what it compiles.
pub(crate) fn clippy() -> PathBuf {
    let sysroot = output_of(&mut program("rustc", &["--print", "sysroot"])).unwrap_or_default();
    Path::new(&sysroot).join("bin/clippy-driver")
}

/// All that other parts run on this machine is built here.
pub(crate) fn run(report: &mut Report) {
    report.check("format", &mut cargo(&["fmt", "--all", "--check"]));
    // Without a choice of targets, those that have `test = false` are passed over.
    for targets in [&[][..], &["--test", "*", "--bench", "*"]] {
        let mut build = host_tests();
        report.check("clippy", build.arg("--no-run").args(targets));
    }
    for arguments in [&["build"][..], &["test", "--no-run"]] {
        let mut build = cargo(arguments);
        build.args(["--package", "xtask"]);
        report.check("clippy, xtask", while_building(&mut build));
    }
}
