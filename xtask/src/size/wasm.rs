//! The last consumer without an operating system: a WebAssembly module whose host gives it the time.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::images::{LEVELS, Level};
use super::row::Row;
use crate::cargo::{cargo, program, root};
use crate::qemu::{target_folder, workspace};
use crate::report::Report;
use crate::tools::NODE;

pub(crate) const TARGET: &str = "wasm32-unknown-unknown";
pub(super) const IMAGE: &str = "wasm";

/// What the module may have, all of it.
pub(super) const MOST_BYTES: u64 = 1_500;

/// A part of `emulated`: makes known ids under known keys.
pub(crate) fn run(report: &mut Report) {
    let what = "a module with an imported clock";
    let Some(node) = report.tool(&NODE, what) else {
        return;
    };
    let level = &LEVELS[0];
    let mut lint = command("clippy", level);
    report.check("clippy, wasm", lint.args(crate::lint::DENY));
    let measured = measure(report, level);
    let is_small = measured.and_then(|row| match row.flash {
        0..=MOST_BYTES => Ok(()),
        bytes => Err(format!("it has {bytes} bytes, and may have {MOST_BYTES}")),
    });
    if report.verdict(what, is_small) {
        let mut command = program(&node.to_string_lossy(), &[""; 0]);
        command
            .arg(workspace().join("wasm/host.mjs"))
            .arg(file(level))
            .arg(root().join("randflake-core/tests/vectors/reference.json"));
        report.tests(what, &mut command);
    }
}

/// How long the module is.
pub(super) fn measure(report: &mut Report, level: &Level) -> Result<Row, String> {
    if !report.check(TARGET, &mut command("build", level)) {
        return Err("does not build".to_owned());
    }
    let file = file(level);
    let module = fs::metadata(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(Row {
        target: TARGET,
        level: level.name,
        image: IMAGE,
        flash: module.len(),
        ram: 0,
        calls: Vec::new(),
        functions: Vec::new(),
    })
}

fn command(what: &str, level: &Level) -> Command {
    let mut command = cargo(&[what, "--locked", "--package", "wasm"]);
    command
        .args(["--profile", level.profile, "--target", TARGET])
        .current_dir(workspace())
        .env("CARGO_TARGET_DIR", target_folder());
    command
}

fn file(level: &Level) -> PathBuf {
    let folder = target_folder().join(TARGET).join(level.profile);
    folder.join("wasm.wasm")
}
