//! The code in `docs/firmware.md` is that of an example which compiles.

use std::fs;
use std::io;

use crate::cargo::root;

const GUIDE: &str = "docs/firmware.md";
const PROGRAM: &str = "randflake-embedded/examples/pico/src/main.rs";
const MANIFEST: &str = "randflake-embedded/examples/pico/Cargo.toml";

pub(crate) fn check() -> Result<(), String> {
    let read = |path| fs::read_to_string(root().join(path));
    let texts = || Ok([read(GUIDE)?, read(PROGRAM)?, read(MANIFEST)?]);
    let [guide, program, manifest] = texts().map_err(|error: io::Error| error.to_string())?;
    shows(&guide, &program, &manifest)
}

/// The guide's blocks of Rust are the program, whole and in order, without its documentation; those of TOML are lines of
/// its manifest.
fn shows(guide: &str, program: &str, manifest: &str) -> Result<(), String> {
    let program = program.lines().filter(|line| !line.starts_with("//!"));
    let mut program = program.filter(|line| !line.trim().is_empty());
    for line in blocks(guide, "rust") {
        let next = program.next().unwrap_or("the end");
        if line != next {
            return Err(format!(
                "{GUIDE} has\n    {line}\n  where {PROGRAM} has\n    {next}"
            ));
        }
    }
    if let Some(left) = program.next() {
        return Err(format!("{GUIDE} ends before\n    {left}\n  of {PROGRAM}"));
    }
    let known: Vec<_> = manifest.lines().collect();
    match blocks(guide, "toml")
        .iter()
        .find(|line| !known.contains(line))
    {
        Some(line) => Err(format!(
            "{GUIDE} has\n    {line}\n  which {MANIFEST} has not"
        )),
        None => Ok(()),
    }
}

/// The lines that are not empty of the blocks in a language.
fn blocks<'a>(guide: &'a str, language: &str) -> Vec<&'a str> {
    let begin = format!("```{language}");
    let mut lines = Vec::new();
    let mut is_inside = false;
    for line in guide.lines() {
        if line.starts_with("```") {
            is_inside = line == begin;
        } else if is_inside && !line.trim().is_empty() {
            lines.push(line);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = "//! Doc\nuse a;\n\n/// ```text\nfn b() {}\n";
    const MANIFEST: &str = "[dependencies]\nc = \"1\"\n";

    #[test]
    fn a_guide_that_has_the_program_is_right() {
        let guide = "Text\n\n```rust\nuse a;\n```\n\n```toml\nc = \"1\"\n```\n\n```rust\n/// ```text\nfn b() {}\n```\n";
        assert_eq!(shows(guide, PROGRAM, MANIFEST), Ok(()));
    }

    #[test]
    fn what_differs_is_named() {
        for (guide, said) in [
            ("```rust\nuse a;\n```", "ends before\n    /// ```text"),
            ("```rust\nuse b;\n```", "has\n    use b;"),
            (
                "```rust\nuse a;\n/// ```text\nfn b() {}\nfn c() {}\n```",
                "the end",
            ),
            (
                "```rust\nuse a;\n/// ```text\nfn b() {}\n```\n```toml\nc = \"2\"\n```",
                "which",
            ),
        ] {
            let error = shows(guide, PROGRAM, MANIFEST).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
