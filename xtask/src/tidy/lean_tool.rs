//! `cargo randflake` is the first command of the README, and mostly compiles: no crate joins its build unnoticed.

use std::fs;

use super::arrows::unexpected;
use crate::cargo::{cargo, output_of, root};

const CONFIG: &str = ".cargo/config.toml";
/// What it compiles on Linux, the crates here among it.
const CRATES: &str = include_str!("lean_tool.txt");

pub(crate) fn check() -> Vec<String> {
    let config = fs::read_to_string(root().join(CONFIG)).unwrap_or_default();
    let Some(choice) = choice(&config) else {
        return vec![format!(
            "{CONFIG}: the alias `randflake` names a package without default features"
        )];
    };
    let arguments = "tree --edges normal,build --prefix none --target x86_64-unknown-linux-gnu";
    let mut tree = cargo(&arguments.split(' ').collect::<Vec<_>>());
    let tree = output_of(tree.args(choice)).unwrap_or_default();
    unexpected(&CRATES.lines().collect::<Vec<_>>(), &tree)
}

/// The package that the alias builds, with the least features.
fn choice(config: &str) -> Option<[&str; 3]> {
    let line = config
        .lines()
        .find_map(|line| line.strip_prefix("randflake = \""))?;
    let words: Vec<_> = line.split(' ').collect();
    let package = words.iter().position(|word| *word == "--package")?;
    let lean = "--no-default-features";
    let is_lean = words.contains(&lean) && !words.contains(&"--features");
    is_lean.then_some(["--package", words.get(package + 1)?, lean])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alias_is_read() {
        let alias =
            |lean: &str| format!("[alias]\nrandflake = \"run --package a {lean} --bin a --\"\n");
        let expected = ["--package", "a", "--no-default-features"];
        assert_eq!(choice(&alias("--no-default-features")), Some(expected));
        assert_eq!(choice(&alias("--no-default-features --features b")), None);
        assert_eq!(choice(&alias("")), None);
        assert_eq!(choice(""), None);
    }
}
