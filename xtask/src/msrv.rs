//! `msrv`: the workspace compiles with the oldest Rust that is promised. No part of `test`, which needs no second
//! toolchain: there clippy's lint `incompatible_msrv` watches the standard library's younger items.

use std::process::ExitCode;

use crate::cargo::{program, root};
use crate::matrix::all_features;
use crate::report::Report;

#[expect(clippy::print_stderr, reason = "usage errors belong on standard error")]
pub(crate) fn main(arguments: &[String]) -> ExitCode {
    if !arguments.is_empty() {
        eprintln!(
            "error: unknown arguments {}\n\nusage: cargo xtask msrv",
            arguments.join(" ")
        );
        return ExitCode::from(2);
    }
    let mut report = Report::new(false);
    report.begin("msrv");
    match promised() {
        Some(version) => {
            let check = [
                "run",
                "--install",
                &version,
                "cargo",
                "check",
                "--workspace",
            ];
            let mut command = program("rustup", &check);
            command.args(["--all-targets", "--features", &all_features()]);
            report.check(&version, &mut command);
        }
        None => {
            report.verdict("Cargo.toml", Err("it has no rust-version".to_owned()));
        }
    }
    if report.finish() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn promised() -> Option<String> {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).ok()?;
    let (_, rest) = manifest.split_once("rust-version = \"")?;
    let (version, _) = rest.split_once('"')?;
    Some(version.to_owned())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_manifest_names_a_version() {
        let version = super::promised().unwrap();
        assert!(version.starts_with("1."), "{version}");
    }
}
