//! `public-api`: what others may call, kept in a file beside each library. No part of `test`: its tool is built from
//! source, in three minutes.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::apart;
use crate::cargo::{cargo, output_of, program, root, shown};
use crate::matrix::{LIBRARIES, Library, published};
use crate::report::Report;
use crate::tools::folder;

/// A subcommand of cargo, at the version that reads what the nightly toolchain's rustdoc writes.
struct Subcommand {
    name: &'static str,
    version: &'static str,
}

const PUBLIC_API: Subcommand = Subcommand {
    name: "cargo-public-api",
    version: "0.52.0",
};

impl Subcommand {
    /// Its program, which is built first if it is not there.
    fn bring(&self, report: &mut Report) -> Option<PathBuf> {
        let home = folder().join(format!("{}-{}", self.name, self.version));
        let file = home.join("bin").join(self.name);
        if !file.is_file() {
            let arguments = ["install", "--locked", self.name, "--version", self.version];
            let mut install = cargo(&arguments);
            // It runs for seconds, so it is not worth optimising.
            install.args(["--debug", "--root"]).arg(&home);
            if !report.check(self.name, &mut install) {
                return None;
            }
        }
        Some(file)
    }
}

/// `cargo xtask public-api`, with what was typed behind it.
pub(crate) fn main(arguments: &[String]) -> Result<ExitCode, String> {
    let writes = arguments == ["--write"];
    if !writes {
        apart::no_arguments(arguments)?;
    }
    let report = Report::new(false);
    Ok(apart::run("public-api", &[], report, |report| {
        if let Some(tool) = PUBLIC_API.bring(report) {
            for library in LIBRARIES {
                let result = compare(&tool.to_string_lossy(), library, writes);
                report.verdict(library.name, result);
            }
        }
    }))
}

/// Compares a library's interface with its file, or writes that. Without integrations, which add impls of traits but no
/// names, and take minutes to build.
fn compare(tool: &str, library: &Library, writes: bool) -> Result<(), String> {
    let mut list = program(tool, &["public-api", "--package", library.name]);
    list.args(["-sss", "--color", "never", "--features"])
        .arg(library.all_features())
        .env("RUSTUP_TOOLCHAIN", "nightly");
    println!("\n$ {}", shown(&list));
    let found = output_of(&mut list).ok_or("there is no list: does the library compile?")? + "\n";
    let types = types(&found);
    let errors = types.iter().filter(|name| is_error(name)).count();
    println!(
        "{}: {} public types, {} of them outside errors",
        library.name,
        types.len(),
        types.len() - errors
    );
    let path = root().join(library.name).join("public-api.txt");
    if writes {
        return fs::write(&path, found).map_err(|error| format!("{}: {error}", path.display()));
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    let differs = |one: &str, other: &str, sign: char| {
        let gone = one
            .lines()
            .filter(|line| !other.lines().any(|kept| kept == *line));
        gone.for_each(|line| println!("{sign} {line}"));
    };
    if kept == found {
        return Ok(());
    }
    differs(&kept, &found, '-');
    differs(&found, &kept, '+');
    Err(format!(
        "it differs from {}: if that is meant, `cargo xtask public-api --write`",
        path.display()
    ))
}

/// The paths of structs, enums, traits, aliases and macros. A type that is associated with another stands below its path.
fn types(list: &str) -> BTreeSet<&str> {
    const KINDS: [&str; 7] = ["struct", "enum", "union", "trait", "type", "macro", "mod"];
    let mut modules: Vec<&str> = Vec::new();
    let mut types = BTreeSet::new();
    for line in list.lines() {
        let attribute = line
            .strip_prefix("#[")
            .and_then(|line| line.split_once("] "));
        let line = attribute.map_or(line, |(_, line)| line);
        let Some(line) = line.strip_prefix("pub ") else {
            continue;
        };
        let line = line.strip_prefix("unsafe ").unwrap_or(line);
        let Some((kind, rest)) = line.split_once(' ') else {
            continue;
        };
        if !KINDS.contains(&kind) {
            continue;
        }
        let end = rest.find(['<', '(', ' ', ';', '!', '{']);
        let path = rest[..end.unwrap_or(rest.len())].trim_end_matches(':');
        if kind == "mod" {
            modules.push(path);
        } else if path
            .rsplit_once("::")
            .is_some_and(|(at, _)| modules.contains(&at))
        {
            types.insert(path);
        }
    }
    types
}

fn is_error(path: &str) -> bool {
    ["Error", "ErrorKind"].iter().any(|end| path.ends_with(end))
}

/// `cargo xtask package`: what would be published.
pub(crate) fn package(arguments: &[String]) -> Result<ExitCode, String> {
    apart::no_arguments(arguments)?;
    let report = Report::new(false);
    Ok(apart::run("package", &[], report, |report| {
        let mut package = cargo(&["package", "--allow-dirty"]);
        let names = published().map(|library| library.name);
        report.check(
            "the libraries and the tool",
            package.args(names.flat_map(|name| ["--package", name])),
        );
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_counted_once_and_without_what_belongs_to_them() {
        let list = "pub mod a\npub enum a::E\npub a::E::One\npub mod a::b\npub struct a::b::S<T>(_)\n\
             impl X for a::b::S\npub type a::b::S::Target = u8\npub type a::Alias = a::b::S<u8>\n\
             pub trait a::T: Sized\npub fn a::f() -> a::E\n#[non_exhaustive] pub enum a::SomeError\npub macro a::m!\n";
        let found = types(list);
        let expected = [
            "a::E",
            "a::b::S",
            "a::Alias",
            "a::T",
            "a::SomeError",
            "a::m",
        ];
        assert_eq!(found, expected.into());
        assert_eq!(found.iter().filter(|path| is_error(path)).count(), 1);
    }
}
