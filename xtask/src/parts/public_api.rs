//! `public-api`: what others may call, kept in a file beside each library. No part of `test`: its
//! tool is built from source, in three minutes.

use std::path::{Path, PathBuf};

use crate::helpers::prelude::*;
use crate::parts::c_library::packages;

pub(crate) const PACKAGE_HELP: &str = "each crate as it would be published, built from what is in its package, and its pages on docs.rs (nightly)

`package c` makes a Zephyr module, an ESP-IDF component and a PlatformIO library of the C library: all three unless some are
named, into target/c/packages unless `--out` names another folder.
";

/// A subcommand of cargo, at the version that reads what the nightly toolchain's rustdoc writes.
const PUBLIC_API: &str = "cargo-public-api";
const VERSION: &str = "0.52.0";

/// Its program, which is built first if it is not there.
fn bring(report: &mut Report) -> Option<PathBuf> {
    let home = folder().join(format!("{PUBLIC_API}-{VERSION}"));
    let file = home.join("bin").join(PUBLIC_API);
    // It runs for seconds, so it is not worth optimising.
    let words = format!("install --locked {PUBLIC_API} --version {VERSION} --debug --root");
    let is_there = file.is_file() || report.check(PUBLIC_API, cargo(&words).arg(&home));
    is_there.then_some(file)
}

/// Compares, or writes.
pub(crate) fn plan(mut typed: Arguments) -> Planned {
    let writes = typed.contains("--write");
    arguments::nothing_else(typed)?;
    Plan::of(Vec::new(), move |report| {
        if let Some(tool) = bring(report) {
            for library in LIBRARIES.iter() {
                report.verdict(library.name, compare(&tool, library, writes));
            }
        }
    })
}

/// Compares a library's interface with its file, or writes that. Without integrations, which add
/// impls of traits but no names, and take minutes to build.
fn compare(tool: &Path, library: &Library, writes: bool) -> Result<(), String> {
    let mut list = program(tool, "public-api -sss --color never --package");
    list.args([library.name, "--features", &library.all_features()])
        .env("RUSTUP_TOOLCHAIN", "nightly");
    println!("\n$ {}", shown(&list));
    let found = output_of(&mut list).ok_or("there is no list: does the library compile?")? + "\n";
    let path = root().join(library.folder).join("public-api.txt");
    if writes {
        return files::write(&path, found);
    }
    let kept = files::read(&path).unwrap_or_default();
    if kept == found {
        return Ok(());
    }
    for (one, other, sign) in [(&kept, &found, '-'), (&found, &kept, '+')] {
        let missing = one
            .lines()
            .filter(|line| !other.lines().any(|own| own == *line));
        missing.for_each(|line| println!("{sign} {line}"));
    }
    Err(format!(
        "it differs from {}: if that is meant, `cargo xtask public-api --write`",
        path.display()
    ))
}

/// What would be published, and what docs.rs would show of it: with integrations too, which the
/// part `doc` leaves out.
pub(crate) fn package(mut typed: Arguments) -> Planned {
    match typed
        .subcommand()
        .map_err(|error| error.to_string())?
        .as_deref()
    {
        Some("c") => return packages::plan(typed),
        Some(other) => return Err(format!("no packages {other:?}")),
        None => arguments::nothing_else(typed)?,
    }
    // It comes with a nightly toolchain, as docs.rs has.
    Plan::of(vec![Need::Miri], |report| {
        let names = published().map(|library| library.name);
        let mut package = cargo("package --allow-dirty");
        package.args(names.flat_map(|name| ["--package", name]));
        report.check("the libraries and the tool", &mut package);
        for library in LIBRARIES.iter() {
            let mut pages = nightly("cargo doc --no-deps --lib --all-features --package");
            pages
                .arg(library.name)
                .env("RUSTDOCFLAGS", "--cfg docsrs -Dwarnings");
            report.check(&format!("{} on docs.rs", library.name), &mut pages);
        }
    })
}
