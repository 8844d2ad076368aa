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
            "{CONFIG}: the alias `randflake` names package and features"
        )];
    };
    let arguments = "tree --edges normal,build --prefix none --target x86_64-unknown-linux-gnu";
    let mut tree = cargo(&arguments.split(' ').collect::<Vec<_>>());
    let tree = output_of(tree.args(choice)).unwrap_or_default();
    unexpected(&CRATES.lines().collect::<Vec<_>>(), &tree)
}

/// The package and features that the alias chooses. Without `--no-default-features` they are all.
fn choice(config: &str) -> Option<[&str; 5]> {
    let line = config
        .lines()
        .find_map(|line| line.strip_prefix("randflake = \""))?;
    let words: Vec<_> = line.split(' ').collect();
    let value = |name| {
        let at = words.iter().position(|word| *word == name)?;
        words.get(at + 1).copied()
    };
    let lean = "--no-default-features";
    words.contains(&lean).then_some([
        "--package",
        value("--package")?,
        lean,
        "--features",
        value("--features")?,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alias_is_read() {
        let alias = |lean: &str| {
            format!("[alias]\nrandflake = \"run --package a {lean}--features b,c --bin a --\"\n")
        };
        let expected = [
            "--package",
            "a",
            "--no-default-features",
            "--features",
            "b,c",
        ];
        assert_eq!(choice(&alias("--no-default-features ")), Some(expected));
        assert_eq!(choice(&alias("")), None);
        assert_eq!(choice(""), None);
    }
}
