//! The code in `docs/firmware.md` is that of examples which compile.

use std::fs;
use std::io;

use crate::helpers::cargo::root;

const GUIDE: &str = "docs/firmware.md";
const PROGRAMS: [&str; 2] = [
    "randflake-embedded/examples/pico/src/main.rs",
    "randflake-embedded/examples/nrf52840/src/main.rs",
];
const MANIFEST: &str = "randflake-embedded/examples/pico/Cargo.toml";

pub(crate) fn check() -> Result<(), String> {
    let read = |path| fs::read_to_string(root().join(path));
    let texts = || {
        Ok([
            read(GUIDE)?,
            read(PROGRAMS[0])?,
            read(PROGRAMS[1])?,
            read(MANIFEST)?,
        ])
    };
    let [guide, blocking, awaited, manifest] =
        texts().map_err(|error: io::Error| error.to_string())?;
    shows(&guide, [&blocking, &awaited], &manifest)
}

/// The guide's blocks of Rust are parts of the programs, in their order; those of TOML are lines of a manifest.
fn shows(guide: &str, programs: [&str; 2], manifest: &str) -> Result<(), String> {
    let mut rests = programs.map(|program| {
        let lines = program.lines().filter(|line| !line.trim().is_empty());
        lines.collect::<Vec<_>>()
    });
    for block in blocks(guide, "rust") {
        let found = rests.iter_mut().find_map(|rest| {
            let at = rest.windows(block.len()).position(|part| part == block)?;
            Some(rest.drain(..at + block.len()).count())
        });
        if found.is_none() {
            let block = block.join("\n    ");
            let programs = PROGRAMS.join(" nor ");
            return Err(format!(
                "{GUIDE} has\n    {block}\n  which neither {programs} has, or not there"
            ));
        }
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

    const PROGRAMS: [&str; 2] = [
        "//! Doc\nuse a;\n\n/// It.\nfn b() {}\nfn c() {}\n",
        "fn d() {}\n",
    ];
    const MANIFEST: &str = "[dependencies]\nc = \"1\"\n";

    #[test]
    fn a_guide_that_has_parts_of_the_program_is_right() {
        let guide = "Text\n\n```rust\nuse a;\n\n/// It.\n```\n\n```toml\nc = \"1\"\n```\n\n```rust\nfn d() {}\n```\n\n```rust\nfn c() {}\n```\n";
        assert_eq!(shows(guide, PROGRAMS, MANIFEST), Ok(()));
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
            let error = shows(guide, PROGRAMS, MANIFEST).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
