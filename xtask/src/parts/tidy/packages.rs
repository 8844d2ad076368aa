//! Rule: a published crate has its own files, and no test that only this repository can run; the
//! first command of the README compiles the crates of a list alone.

use std::fs;

use super::arrows::unexpected;
use crate::helpers::cargo::{cargo, output_of, root};
use crate::helpers::matrix::published;

/// The package of the servers that tests start. It is not published, so tests that need it do not
/// compile elsewhere.
const HARNESS: &str = "harness::";

pub(crate) fn check() -> Vec<String> {
    let mut violations = Vec::new();
    for library in published() {
        let list = [
            "package",
            "--list",
            "--allow-dirty",
            "--package",
            library.name,
        ];
        let Some(list) = output_of(&mut cargo(&list)) else {
            violations.push(format!("{}: `cargo package --list` failed", library.name));
            continue;
        };
        let folder = root().join(library.folder);
        let read = |path: &str| fs::read_to_string(folder.join(path)).unwrap_or_default();
        let wrong = list.lines().filter_map(|path| wrong(path, read));
        violations.extend(wrong.map(|why| format!("{}: {why}: add it to `exclude`", library.name)));
    }
    violations
}

/// Why a file does not belong in a package.
fn wrong(path: &str, read: impl Fn(&str) -> String) -> Option<String> {
    if path.ends_with("/Cargo.toml") {
        return Some(format!("{path} is of another crate"));
    }
    let is_test = path.starts_with("tests/") || path.starts_with("benches/");
    (is_test && read(path).contains(HARNESS)).then(|| format!("{path} needs the package `harness`"))
}

/// `cargo randflake` builds the package with the least features: what it compiles on Linux stands
/// in a list.
pub(crate) fn check_lean_tool() -> Vec<String> {
    const CHOICE: &str = "--package randflake --bin randflake --no-default-features";
    let config = fs::read_to_string(root().join(".cargo/config.toml")).unwrap_or_default();
    if !config.contains(&format!("{CHOICE} --\"")) {
        return vec![format!("the alias `randflake` has no `{CHOICE}`")];
    }
    let arguments = "tree --edges normal,build --prefix none --target x86_64-unknown-linux-gnu \
                     --package randflake --no-default-features";
    let tree = output_of(&mut cargo(
        &arguments.split_whitespace().collect::<Vec<_>>(),
    ));
    let crates: Vec<_> = include_str!("lean_tool.txt").lines().collect();
    unexpected(&crates, &tree.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_this_repository_can_use_is_found() {
        let read = |path: &str| match path {
            "tests/engines.rs" | "src/text.rs" => "use harness::Redis;".to_owned(),
            _ => "use std::fs;".to_owned(),
        };
        for fine in [
            "Cargo.toml",
            "src/lib.rs",
            "src/text.rs",
            "tests/offline.rs",
        ] {
            assert_eq!(wrong(fine, read), None);
        }
        for found in ["fuzz/Cargo.toml", "tests/engines.rs"] {
            assert!(wrong(found, read).is_some_and(|why| why.contains(found)));
        }
    }
}
