//! The header in each version of the languages that it is for, by two compilers, and what it
//! asserts.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Form, folder};
use crate::helpers::prelude::*;

const STANDARDS: &str = "c90 c99 c11 c17 c2x c++98 c++03 c++11 c++14 c++17 c++20 c++2b";

const WARNINGS: &str = "-Wall -Wextra -Wpedantic -Wconversion -Werror";

pub(super) fn check(report: &mut Report, compilers: [&Path; 2]) {
    let planted = planted();
    for compiler in compilers {
        let name = compiler.file_name().unwrap_or_default().display();
        for standard in STANDARDS.split(' ') {
            let what = format!("the header, {standard}, {name}");
            let header = folder().join("randflake.h");
            report.check(&what, &mut compile(compiler, standard, &header));
            let verdict = planted
                .clone()
                .and_then(|file| refuses(&mut compile(compiler, standard, &file), "size_of_rf_t"));
            report.verdict(&format!("a wrong size is seen by {what}"), verdict);
        }
    }
}

fn compile(compiler: &Path, standard: &str, header: &Path) -> Command {
    let language = if standard.starts_with("c++") {
        "c++"
    } else {
        "c"
    };
    let options = format!("-std={standard} -x {language} -ffreestanding -fsyntax-only");
    let mut command = program(compiler, &format!("{WARNINGS} {options}"));
    command.arg(header);
    command
}

/// The header with an alignment that makes its type larger than the library's.
fn planted() -> Result<PathBuf, String> {
    let text = files::read(&folder().join("randflake.h"))?;
    let planted = text.replace("#define RF_ALIGN 128", "#define RF_ALIGN 512");
    if planted == text {
        return Err("the alignment is written otherwise".to_owned());
    }
    let file = Form::BITS_64.out().join("planted.h");
    files::write(&file, planted)?;
    Ok(file)
}
