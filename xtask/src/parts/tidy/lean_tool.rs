//! `cargo randflake` is the first command of the README, and mostly compiles: no crate joins its build unnoticed.

use std::fs;

use super::arrows::unexpected;
use crate::helpers::cargo::{cargo, output_of, root};

const CONFIG: &str = ".cargo/config.toml";
/// What the alias in it builds: the package with the least features.
const CHOICE: &str = "--package randflake --bin randflake --no-default-features";
/// What it compiles on Linux, the crates here among it.
const CRATES: &str = include_str!("lean_tool.txt");

pub(crate) fn check() -> Vec<String> {
    let config = fs::read_to_string(root().join(CONFIG)).unwrap_or_default();
    if !config.contains(&format!("{CHOICE} --\"")) {
        return vec![format!("{CONFIG}: the alias `randflake` has no `{CHOICE}`")];
    }
    let arguments = "tree --edges normal,build --prefix none --target x86_64-unknown-linux-gnu \
                     --package randflake --no-default-features";
    let mut tree = cargo(&arguments.split_whitespace().collect::<Vec<_>>());
    let tree = output_of(&mut tree).unwrap_or_default();
    unexpected(&CRATES.lines().collect::<Vec<_>>(), &tree)
}
