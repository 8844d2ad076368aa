//! Check of the C archive: it brings the header's functions into a program, what they call, and
//! nothing else.

use std::path::Path;

use super::build::linker;
use super::{Form, folder};
use crate::helpers::prelude::*;
use crate::parts::firmware::Target;
use crate::parts::size::elf::Elf;

/// Of the libraries, as names of functions begin or contain.
const OURS: [&str; 4] = ["rf_", "rf53_", "randflake", "sparx64"];

/// What a program calls at least.
const LEAST: [&str; 4] = ["rf_init", "rf_set_clock", "rf_renew", "rf_next"];

/// The same with the horizon in raw flash.
#[rustfmt::skip]
const WITH_FLASH: [&str; 7] = [
    "rf_init", "rf_set_clock", "rf_renew", "rf_next", "rf_flash_open", "rf_flash_horizon", "rf_flash_raise",
];

/// Links all functions of the header, and `others`, as a program would that calls them; says what
/// they take.
pub(super) fn check(
    archive: &Path,
    form: &Form,
    target: &Target,
    others: &[&str],
) -> Result<String, String> {
    let of_header = functions_of_header()?;
    let all: Vec<&str> = of_header
        .iter()
        .map(String::as_str)
        .chain(others.iter().copied())
        .collect();
    let is_ours = |name: &str| OURS.iter().any(|ours| name.contains(ours));
    let functions = linked(archive, form, &all)?;
    let names = functions.iter().map(|(name, _)| name.as_str());
    let foreign: Vec<_> = names
        .filter(|name| !is_ours(name) || name.contains("panic"))
        .collect();
    if !foreign.is_empty() {
        return Err(foreign.join(", "));
    }
    let bytes = |names: &[&str]| {
        let functions = linked(archive, form, names)?;
        Ok::<u64, String>(functions.iter().map(|(_, bytes)| bytes).sum())
    };
    Ok(format!(
        "{}{}, bytes of code: rf_next {}, with {} {}, in raw flash {}, all of the header {}",
        target.name,
        form.name,
        bytes(&["rf_next"])?,
        LEAST[..3].join(", "),
        bytes(&LEAST)?,
        bytes(&WITH_FLASH)?,
        bytes(&all)?,
    ))
}

/// The functions that these bring into a program, with their bytes.
fn linked(archive: &Path, form: &Form, names: &[&str]) -> Result<Vec<(String, u64)>, String> {
    let image = archive.with_file_name("linked");
    let mut command = linker();
    command.args(["--gc-sections", "-e", "rf_next"]);
    command.args(
        names
            .iter()
            .flat_map(|name| ["-u".to_owned(), form.symbol(name)]),
    );
    answer(command.arg(archive).arg("-o").arg(&image))?;
    let functions = Elf::read(&image)?.functions.into_iter();
    Ok(functions
        .map(|function| (function.name, function.bytes))
        .collect())
}

/// What has a `(` and is no type.
fn functions_of_header() -> Result<Vec<String>, String> {
    let header = files::read(&folder().join("randflake.h"))?;
    let name_of = |line: &str| {
        let (before, _) = line.split_once('(')?;
        let name = before.rsplit([' ', '*']).next()?;
        let is_code = !line.starts_with([' ', '/', '#']);
        // Those are not there where the processor compares and swaps; the others call them where
        // they are.
        let is_function = name.starts_with("rf_") && !name.starts_with("rf_critical");
        (is_code && is_function).then(|| name.to_owned())
    };
    let names: Vec<String> = header.lines().filter_map(name_of).collect();
    if names.len() < 10 {
        return Err(format!("the header declares only {names:?}"));
    }
    Ok(names)
}
