//! The header in each version of the languages that it is for, by two compilers, and what it
//! asserts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Form, folder};
use crate::helpers::report::Report;

const STANDARDS: [&str; 12] = [
    "c90", "c99", "c11", "c17", "c2x", "c++98", "c++03", "c++11", "c++14", "c++17", "c++20",
    "c++2b",
];

const WARNINGS: [&str; 5] = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"];

pub(super) fn check(report: &mut Report, compilers: [&Path; 2]) {
    let planted = planted();
    let all = compilers.map(|compiler| STANDARDS.map(|standard| (compiler, standard)));
    for (compiler, standard) in all.as_flattened() {
        let name = compiler.file_name().unwrap_or_default().display();
        let what = format!("the header, {standard}, {name}");
        report.check(
            &what,
            &mut compile(compiler, standard, &folder().join("randflake.h")),
        );
        let verdict = planted
            .clone()
            .and_then(|file| refused(&mut compile(compiler, standard, &file)));
        report.verdict(&format!("a wrong size is seen by {what}"), verdict);
    }
}

fn compile(compiler: &Path, standard: &str, header: &Path) -> Command {
    let language = if standard.starts_with("c++") {
        "c++"
    } else {
        "c"
    };
    let mut command = Command::new(compiler);
    command
        .args(WARNINGS)
        .arg(format!("-std={standard}"))
        .args(["-x", language, "-ffreestanding", "-fsyntax-only"])
        .arg(header);
    command
}

/// The header with an alignment that makes its type larger than the library's.
fn planted() -> Result<PathBuf, String> {
    let header = folder().join("randflake.h");
    let text = fs::read_to_string(&header).map_err(|error| error.to_string())?;
    let planted = text.replace("#define RF_ALIGN 128", "#define RF_ALIGN 512");
    if planted == text {
        return Err("the alignment is written otherwise".to_owned());
    }
    let file = Form::BITS_64.out().join("planted.h");
    fs::write(&file, planted).map_err(|error| error.to_string())?;
    Ok(file)
}

fn refused(compile: &mut Command) -> Result<(), String> {
    let output = compile.output().map_err(|error| error.to_string())?;
    let printed = String::from_utf8_lossy(&output.stderr);
    let is_seen = !output.status.success() && printed.contains("size_of_rf_t");
    is_seen.then_some(()).ok_or(printed.into_owned())
}
