//! `deny`: what `deny.toml` says of dependencies, in every workspace of the tree.

use std::path::Path;
use std::process::Command;

use crate::cargo::{program, root};
use crate::report::Report;
use crate::setup::Need;
use crate::tools::CARGO_DENY;

/// The folders of the workspaces beside the libraries': nobody depends on these, and what boards or benchmarks bring
/// twice is not ours to choose.
const OTHERS: &[&str] = &[
    "sparx64/fuzz",
    "randflake-core/fuzz",
    "randflake-std/benches/index",
    "randflake-std/benches/instructions",
    "randflake-std/benches/peers",
    "randflake-std/examples",
    "randflake-embedded/examples",
    "randflake-embedded/firmware",
    "randflake-embedded/firmware/avr",
];

pub(crate) fn needs() -> Vec<Need> {
    vec![Need::Tool(&CARGO_DENY)]
}

pub(crate) fn run(report: &mut Report) {
    let Some(deny) = report.tool(&CARGO_DENY, "licences, sources and duplicates") else {
        return;
    };
    report.check("workspace", check(&deny, "").args(["--deny", "warnings"]));
    for folder in OTHERS {
        let mut check = check(&deny, folder);
        // The workspace's duplicates, which need not be there.
        for lint in ["duplicate", "unmatched-skip", "unnecessary-skip"] {
            check.args(["--allow", lint]);
        }
        report.check(folder, &mut check);
    }
}

fn check(deny: &Path, folder: &str) -> Command {
    let mut command = program(&deny.to_string_lossy(), &["--locked", "--config"]);
    command
        .arg(root().join("deny.toml"))
        .arg("--manifest-path")
        .arg(root().join(folder).join("Cargo.toml"))
        .args(["check", "bans", "licenses", "sources"]);
    command
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::OTHERS;
    use crate::cargo::root;

    #[test]
    fn no_workspace_is_forgotten() {
        let mut found = BTreeSet::new();
        find(&root(), &mut found);
        let expected = OTHERS.iter().map(|folder| root().join(folder));
        assert_eq!(found, expected.chain([root()]).collect());
    }

    /// The folders that have a lock file.
    fn find(folder: &Path, found: &mut BTreeSet<PathBuf>) {
        if folder.join("Cargo.lock").is_file() {
            found.insert(folder.to_owned());
        }
        let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
        for entry in entries.filter(|entry| entry.file_type().unwrap().is_dir()) {
            let name = entry.file_name();
            if name != "target" && !name.to_string_lossy().starts_with('.') {
                find(&entry.path(), found);
            }
        }
    }
}
