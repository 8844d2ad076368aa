//! NIST SP 800-22: a program around the crate `nistrs`, which is compared with NIST's published answers by its own tests. It is
//! written into the target directory and built there: nothing that is published depends on what it stands on.

use std::path::PathBuf;
use std::{fs, io};

use super::{Extent, tests};
use crate::helpers::cargo::{cargo, target};
use crate::helpers::report::Report;

const FILES: [(&str, &str); 3] = [
    ("Cargo.toml", include_str!("nist/Cargo.toml.txt")),
    ("Cargo.lock", include_str!("nist/Cargo.lock.txt")),
    ("src/main.rs", include_str!("nist/program.rs")),
];

pub(super) fn run(report: &mut Report, extent: &Extent) {
    let Some(folder) = report.ok("program of NIST's tests", written()) else {
        return;
    };
    let mut build = cargo(&["build", "--quiet", "--release", "--locked"]);
    build
        .current_dir(&folder)
        .env("CARGO_TARGET_DIR", folder.join("target"));
    if !report.check("program of NIST's tests", &mut build) {
        return;
    }
    let mut tests = tests("nist");
    tests.env("RANDFLAKE_NIST", folder.join("target/release/nist"));
    tests.env("RANDFLAKE_JUDGED_IDS", extent.ids.to_string());
    tests.env("RANDFLAKE_JUDGED_SEQUENCES", extent.sequences.to_string());
    report.tests("ids judged by NIST SP 800-22", &mut tests);
}

fn written() -> io::Result<PathBuf> {
    let folder = target().join("nist");
    fs::create_dir_all(folder.join("src"))?;
    for (name, text) in FILES {
        fs::write(folder.join(name), text)?;
    }
    Ok(folder)
}
