//! The machine that figures are of, and where they are kept.

use std::fs;
use std::path::PathBuf;

use crate::helpers::cargo::{output_of, program, root};

/// A folder for each machine.
pub(crate) const RECORDS: &str = "randflake-std/benches/record";

/// Processors by vendor, family and models: names that people know.
const NAMES: [(&str, u32, core::ops::RangeInclusive<u32>, &str); 2] = [
    ("AuthenticAMD", 25, 0x10..=0x1f, "amd-zen4"),
    ("GenuineIntel", 6, 0x8f..=0x8f, "intel-sapphire-rapids"),
];

/// When, on what, and how it was measured.
pub(crate) fn caption(command: &str) -> String {
    let info = info();
    let rustc = output_of(&mut program("rustc", &["--version"]))
        .unwrap_or_default()
        .split(' ')
        .take(2)
        .collect::<Vec<_>>()
        .join(" ");
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
        "{}; {} (family {}, model {}), {cores} cores{machine}; {rustc}; cargo xtask {command}",
        date(),
        field(&info, "model name"),
        field(&info, "cpu family"),
        field(&info, "model"),
    )
}

/// The commit that is checked out, and whether anything differs from it.
pub(crate) fn commit() -> String {
    let git = |arguments: &[&str]| output_of(&mut program("git", arguments));
    let commit = git(&["rev-parse", "HEAD"]).unwrap_or_default();
    let is_changed = git(&["status", "--porcelain", "--untracked-files=no"]) != Some(String::new());
    format!("{commit}{}", if is_changed { ", with changes" } else { "" })
}

/// The file of today's figures of this machine, in a folder that is there.
pub(crate) fn record(ending: &str) -> Result<PathBuf, String> {
    let folder = root().join(RECORDS).join(name(&info()));
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder.join(format!("{}{ending}", date())))
}

/// What the machine's folder is called.
fn name(info: &str) -> String {
    let number = |name| field(info, name).parse().unwrap_or_default();
    let (vendor, family, model) = (
        field(info, "vendor_id"),
        number("cpu family"),
        number("model"),
    );
    let known = NAMES
        .iter()
        .find(|name| name.0 == vendor && name.1 == family && name.2.contains(&model));
    let mut name = known.map_or_else(
        || format!("{}-{family}-{model}", vendor.to_lowercase()),
        |known| known.3.to_owned(),
    );
    if is_virtual(info) {
        name.push_str("-vm");
    }
    name
}

fn date() -> String {
    output_of(&mut program("date", &["-u", "+%F"])).unwrap_or_default()
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
    let line = info
        .lines()
        .find(|line| line.split(':').next().unwrap_or("").trim() == name);
    line.and_then(|line| line.split_once(": "))
        .map_or("unknown", |(_, value)| value.trim())
}
