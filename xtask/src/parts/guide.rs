//! The code in `docs/firmware.md` is that of examples which compile.

use std::{fs, io};

use crate::helpers::cargo::root;

const GUIDE: &str = "docs/firmware.md";
const EXAMPLES: [(&str, &str); 3] = [
    ("rust", "randflake-embedded/examples/pico/src/main.rs"),
    ("rust", "randflake-embedded/examples/nrf52840/src/main.rs"),
    ("toml", "randflake-embedded/examples/pico/Cargo.toml"),
];

pub(crate) fn check() -> Result<(), String> {
    let read = |path: &str| fs::read_to_string(root().join(path));
    let example = |(language, path): (&'static str, &str)| Ok((language, read(path)?));
    let examples: io::Result<Vec<_>> = EXAMPLES.map(example).into_iter().collect();
    let texts = examples.and_then(|examples| Ok((read(GUIDE)?, examples)));
    let (guide, examples) = texts.map_err(|error| error.to_string())?;
    match lost(&guide, &examples) {
        Some(lost) => Err(format!("{GUIDE} has\n{lost}\nwhich no example has")),
        None => Ok(()),
    }
}

/// A block that is no part of a program of its language, or a line of TOML that no manifest has. Empty lines do not count.
fn lost(guide: &str, examples: &[(&str, String)]) -> Option<String> {
    let mut blocks = guide
        .split("```")
        .skip(1)
        .step_by(2)
        .filter_map(|block| block.split_once('\n'));
    blocks.find_map(|(language, block)| {
        let mut examples = examples
            .iter()
            .filter(|(own, _)| *own == language)
            .peekable();
        examples.peek()?;
        let texts: Vec<String> = examples.map(|(_, text)| dense(text)).collect();
        let block = dense(block);
        let parts: Vec<&str> = if language == "toml" {
            block.lines().collect()
        } else {
            vec![&block]
        };
        let is_lost = |part: &&&str| {
            !texts
                .iter()
                .any(|text| format!("\n{text}\n").contains(&format!("\n{part}\n")))
        };
        parts.iter().find(is_lost).map(|part| (*part).to_owned())
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
