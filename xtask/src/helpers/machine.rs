//! The machine that figures are of, and where they are kept.

use core::ops::RangeInclusive;
use std::fs;
use std::path::PathBuf;

use crate::helpers::cargo::{output_of, program, root, rustc};
use crate::helpers::files;

/// A folder for each machine.
pub(crate) const RECORDS: &str = "randflake-std/benches/record";

/// Processors by vendor, family and models: names that people know.
const NAMES: [(&str, u32, RangeInclusive<u32>, &str); 2] = [
    ("AuthenticAMD", 25, 0x10..=0x1f, "amd-zen4"),
    ("GenuineIntel", 6, 0x8f..=0x8f, "intel-sapphire-rapids"),
];

/// When, on what, and how it was measured.
pub(crate) fn caption(command: &str) -> String {
    let info = info();
    let rustc = rustc("--version");
    let rustc: Vec<_> = rustc.split(' ').take(2).collect();
    let cores = info
        .lines()
        .filter(|line| line.starts_with("processor"))
        .count();
    let machine = if is_virtual(&info) {
        " of a virtual machine"
    } else {
        ""
    };
    format!(
        "{}; {} (family {}, model {}), {cores} cores{machine}; {}; cargo xtask {command}",
        date(),
        field(&info, "model name"),
        field(&info, "cpu family"),
        field(&info, "model"),
        rustc.join(" "),
    )
}

/// The commit that is checked out, and whether anything differs from it.
pub(crate) fn commit() -> String {
    let commit = output_of(&mut program("git", "rev-parse HEAD")).unwrap_or_default();
    let changes = output_of(&mut program(
        "git",
        "status --porcelain --untracked-files=no",
    ));
    let is_changed = changes.is_none_or(|changes| !changes.is_empty());
    format!("{commit}{}", if is_changed { ", with changes" } else { "" })
}

/// The file of today's figures of this machine, in a folder that is there.
pub(crate) fn record(ending: &str) -> Result<PathBuf, String> {
    let folder = root().join(RECORDS).join(name(&info()));
    fs::create_dir_all(&folder).map_err(files::of(&folder))?;
    Ok(folder.join(format!("{}{ending}", date())))
}

/// What the machine's folder is called.
fn name(info: &str) -> String {
    let number = |name| field(info, name).parse().unwrap_or_default();
    let vendor = field(info, "vendor_id");
    let (family, model) = (number("cpu family"), number("model"));
    let is_known = |(of, own, models, _): &&(&str, u32, RangeInclusive<u32>, &str)| {
        *of == vendor && *own == family && models.contains(&model)
    };
    let name = NAMES.iter().find(is_known).map_or_else(
        || format!("{}-{family}-{model}", vendor.to_lowercase()),
        |(.., known)| (*known).to_owned(),
    );
    if is_virtual(info) { name + "-vm" } else { name }
}

fn date() -> String {
    output_of(&mut program("date", "-u +%F")).unwrap_or_default()
}

fn info() -> String {
    fs::read_to_string("/proc/cpuinfo").unwrap_or_default()
}

fn is_virtual(info: &str) -> bool {
    field(info, "flags")
        .split(' ')
        .any(|flag| flag == "hypervisor")
}

/// What stands first behind a name.
fn field<'a>(info: &'a str, name: &str) -> &'a str {
    let mut fields = info.lines().filter_map(|line| line.split_once(':'));
    fields
        .find(|(own, _)| own.trim() == name)
        .map_or("unknown", |(_, value)| value.trim())
}
