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

/// The guide's blocks of Rust are parts of the program, in its order; those of TOML are lines of its manifest.
fn shows(guide: &str, program: &str, manifest: &str) -> Result<(), String> {
    let mut rest: Vec<_> = program
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    for block in blocks(guide, "rust") {
        let at = rest.windows(block.len()).position(|part| part == block);
        let Some(at) = at else {
            let block = block.join("\n    ");
            return Err(format!(
                "{GUIDE} has\n    {block}\n  which {PROGRAM} has not, or not there"
            ));
        };
        rest.drain(..at + block.len());
    }
    let known: Vec<_> = manifest.lines().collect();
    let toml = blocks(guide, "toml").concat();
    match toml.iter().find(|line| !known.contains(line)) {
        Some(line) => Err(format!(
            "{GUIDE} has\n    {line}\n  which {MANIFEST} has not"
        )),
        None => Ok(()),
    }
}

/// The lines that are not empty of each block in a language.
fn blocks<'a>(guide: &'a str, language: &str) -> Vec<Vec<&'a str>> {
    let begin = format!("```{language}\n");
    let blocks = guide.split(&begin).skip(1);
    let code = blocks.map(|rest| rest.split("```").next().unwrap_or(rest));
    let lines = |code: &'a str| code.lines().filter(|line| !line.trim().is_empty());
    code.map(|code| lines(code).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = "//! Doc\nuse a;\n\n/// It.\nfn b() {}\nfn c() {}\n";
    const MANIFEST: &str = "[dependencies]\nc = \"1\"\n";

    #[test]
    fn a_guide_that_has_parts_of_the_program_is_right() {
        let guide = "Text\n\n```rust\nuse a;\n\n/// It.\n```\n\n```toml\nc = \"1\"\n```\n\n```rust\nfn c() {}\n```\n";
        assert_eq!(shows(guide, PROGRAM, MANIFEST), Ok(()));
    }

    #[test]
    fn what_differs_is_named() {
        for (guide, said) in [
            ("```rust\nuse b;\n```", "has\n    use b;"),
            (
                "```rust\nuse a;\nfn b() {}\n```",
                "has\n    use a;\n    fn b",
            ),
            ("```rust\nfn c() {}\n```\n```rust\nuse a;\n```", "not there"),
            ("```rust\nuse a;\n```\n```toml\nc = \"2\"\n```", "c = \"2\""),
        ] {
            let error = shows(guide, PROGRAM, MANIFEST).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
