//! `boards`: `randflake-embedded/examples`: what is for a board compiles for it, and what needs
//! none is tested. The crates of each chip take half a minute, so `test` has one board of each
//! family of processors; `deep targets` has all. And the guide for boards has code of these
//! examples alone.

use std::process::Command;

use crate::helpers::prelude::*;
use crate::parts::lint::{self, DENY};

/// Examples, and the target that their `.cargo/config.toml` names. Those of one target are checked
/// together, so that what they stand on is compiled once.
type Board = (&'static str, &'static [&'static str]);

const IN_TEST: &[Board] = &[
    ("riscv32imc-unknown-none-elf", &["esp32c3@0.0.0"]),
    ("thumbv7em-none-eabihf", &["nrf52840"]),
];

const ALL: &[Board] = &[
    IN_TEST[0],
    (IN_TEST[1].0, &["nrf52840", "rtic-stm32f411", "stm32g431"]),
    ("thumbv6m-none-eabi", &["pico"]),
];

/// Has one set of features for what macros stand on, so that all boards share it.
const HOST_MACROS: &str = "host-macros";

const TESTED: &[&str] = &["i2c-rtc", "pace", "settings"];

pub(crate) fn needs() -> Vec<Need> {
    needs_of(IN_TEST)
}

fn needs_of(boards: &[Board]) -> Vec<Need> {
    let targets = boards.iter().map(|(target, _)| Need::Target(target));
    targets.chain(lint::format_needs()).collect()
}

pub(crate) fn run(report: &mut Report) {
    report.check("examples, format", &mut inside("fmt --check"));
    report.verdict("the guide's code is that of an example", guide());
    check(report, IN_TEST);
    let mut tests = inside("test --locked");
    report.tests("examples for any board", tests.args(packages(TESTED)));
}

/// Of `deep targets`.
pub(crate) fn all_needs() -> Vec<Need> {
    needs_of(ALL)
}

/// Of `deep targets`.
pub(crate) fn check_all(report: &mut Report) {
    check(report, ALL);
}

fn check(report: &mut Report, all: &[Board]) {
    for (target, boards) in all {
        let mut clippy = inside(&format!("clippy --locked --target {target}"));
        report.check(&boards.join(", "), clippy.args(packages(boards)).args(DENY));
    }
}

fn packages<'a>(names: &'a [&str]) -> impl Iterator<Item = &'a str> {
    let names = names.iter().copied().chain([HOST_MACROS]);
    names.flat_map(|name| ["--package", name])
}

/// Cargo in the workspace of the examples.
fn inside(words: &str) -> Command {
    cargo_in(
        &root().join("randflake-embedded/examples"),
        &target().join("examples"),
        words,
    )
}

const GUIDE: &str = "docs/firmware.md";
const EXAMPLES: [(&str, &str); 3] = [
    ("rust", "randflake-embedded/examples/pico/src/main.rs"),
    ("rust", "randflake-embedded/examples/nrf52840/src/main.rs"),
    ("toml", "randflake-embedded/examples/pico/Cargo.toml"),
];

fn guide() -> Result<(), String> {
    let read = |path: &str| files::read(&root().join(path));
    let example = |(language, path): (&'static str, &str)| Ok((language, read(path)?));
    let examples = EXAMPLES
        .into_iter()
        .map(example)
        .collect::<Result<Vec<_>, String>>()?;
    match lost(&read(GUIDE)?, &examples) {
        Some(lost) => Err(format!("{GUIDE} has\n{lost}\nwhich no example has")),
        None => Ok(()),
    }
}

/// A block that is no part of a program of its language, or a line of TOML that no manifest has.
/// Empty lines do not count.
fn lost(guide: &str, examples: &[(&str, String)]) -> Option<String> {
    let blocks = guide.split("```").skip(1).step_by(2);
    blocks
        .filter_map(|block| block.split_once('\n'))
        .find_map(|(language, block)| {
            let of_language = examples.iter().filter(|(own, _)| *own == language);
            let texts: Vec<_> = of_language
                .map(|(_, text)| format!("\n{}\n", dense(text)))
                .collect();
            let block = dense(block);
            let parts: Vec<&str> = if language == "toml" {
                block.lines().collect()
            } else {
                vec![&block]
            };
            parts
                .iter()
                .find(|part: &&&str| {
                    !texts
                        .iter()
                        .any(|text| text.contains(&format!("\n{part}\n")))
                })
                .filter(|_| !texts.is_empty())
                .map(|part| (*part).to_owned())
        })
}

fn dense(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guide_has_parts_of_programs() {
        let examples = [
            (
                "rust",
                "//! Doc\nuse a;\n\n/// It.\nfn b() {}\nfn c() {}\n".to_owned(),
            ),
            ("toml", "[dependencies]\nc = \"1\"\n".to_owned()),
        ];
        for (guide, expected) in [
            (
                "Text\n\n```rust\nuse a;\n\n/// It.\n```\n\n```toml\nc = \"1\"\n```\n```sh\nx\n```\n",
                None,
            ),
            ("```rust\nuse b;\n```", Some("use b;")),
            ("```rust\nuse a;\nfn b() {}\n```", Some("use a;\nfn b() {}")),
            (
                "```rust\nuse a;\n```\n```toml\nc = \"2\"\n```",
                Some("c = \"2\""),
            ),
        ] {
            assert_eq!(lost(guide, &examples).as_deref(), expected, "{guide}");
        }
    }
}
