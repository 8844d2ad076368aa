//! `msrv`: the workspace compiles with the oldest Rust that is promised, and so does core with each integration alone. No
//! part of `test`, which needs no second toolchain: there clippy's lint `incompatible_msrv` watches the standard library's
//! younger items.

use std::process::ExitCode;

use crate::apart;
use crate::cargo::{program, root};
use crate::matrix::{LIBRARIES, all_features};
use crate::report::Report;

pub(crate) fn main(arguments: &[String]) -> Result<ExitCode, String> {
    apart::no_arguments(arguments)?;
    Ok(apart::run("msrv", &[], Report::new(false), run))
}

fn run(report: &mut Report) {
    let Some(version) = promised() else {
        report.verdict("Cargo.toml", Err("it has no rust-version".to_owned()));
        return;
    };
    let check = ["run", "--install", &version, "cargo", "check"];
    let mut command = program("rustup", &check);
    command.args([
        "--workspace",
        "--all-targets",
        "--features",
        &all_features(),
    ]);
    report.check(&version, &mut command);
    // Those are of core; whoever passes them on adds no code.
    for library in LIBRARIES.iter().filter(|library| library.no_std) {
        for feature in library.integrations() {
            let mut command = program("rustup", &check);
            command.args(["--package", library.name, "--no-default-features"]);
            let what = format!("{version}, {} with {feature}", library.name);
            report.check(&what, command.args(["--features", feature]));
        }
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
