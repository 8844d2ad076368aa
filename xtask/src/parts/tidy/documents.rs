//! Rules about documents: they name only files and items that are there; what they guarantee is
//! answered for, word by word; and each failure that they list names a test that is there.

use std::collections::BTreeSet;
use std::path::Path;

use super::workspace::Workspace;
use crate::helpers::prelude::*;

/// Those that name files and items, beside the READMEs of libraries.
const DOCUMENTS: &str = "ARCHITECTURE.md CONTRIBUTING.md DESIGN.md README.md RELEASING.md docs/security.md \
                         docs/server.md docs/testing.md randflake-core/DESIGN.md randflake-embedded/DESIGN.md";

/// Stand for what differs.
const PLACEHOLDERS: [&str; 2] = ["NAME", "NUMBER"];

/// Words of other programs and of formats, and what stands for a name.
const FOREIGN: &str =
    "BigInteger Date NameArgs OpenAPI Os Slaves_running StatefulSet Unreleased bwmarrin/snowflake";

const GIVEN: &str = "README.md";
const ANSWERED_FOR: &str = "docs/verification.md";
const SECTION: &str = "\n## Guarantees\n";

/// The failures of all engines; those of one are in its README.
const FAILURES: &str = "randflake-std/lease/src/faults.md";

/// Programs with tests that are documents: each heading is the name of one.
const CASES: &str = "randflake-std/tool/tests";

fn read(path: &str) -> String {
    files::read(&root().join(path)).unwrap_or_default()
}

fn readmes(below: &str) -> impl Iterator<Item = String> {
    let libraries = LIBRARIES
        .iter()
        .filter(move |library| library.folder.starts_with(below));
    libraries.map(|library| format!("{}/README.md", library.folder))
}

pub(crate) fn names(workspace: &Workspace) -> Vec<String> {
    let items = workspace.words(false);
    let mut violations = Vec::new();
    for document in DOCUMENTS.split(' ').map(str::to_owned).chain(readmes("")) {
        let path = root().join(&document);
        let folder = path.parent().unwrap_or(&path);
        for span in spans(&read(&document)) {
            let is_there = match Named::of(span) {
                Some(Named::File(file)) => is_file(workspace, folder, file),
                Some(Named::Item(path)) => path.split("::").all(|name| items.contains(name)),
                None => true,
            };
            if !is_there {
                violations.push(format!("{document}: `{span}` is not there"));
            }
        }
    }
    violations
}

/// What is between backticks, outside of blocks.
fn spans(text: &str) -> impl Iterator<Item = &str> {
    let texts = text.split("```").step_by(2);
    texts.flat_map(|text| text.split('`').skip(1).step_by(2))
}

#[derive(Debug, PartialEq, Eq)]
enum Named<'a> {
    File(&'a str),
    /// A type, or a function of one: `Type::function`.
    Item(&'a str),
}

impl<'a> Named<'a> {
    fn of(span: &'a str) -> Option<Self> {
        if FOREIGN.split(' ').any(|foreign| foreign == span) {
            return None;
        }
        let ends = [".rs", ".md", ".toml"];
        let is_file = span.contains('/') || ends.iter().any(|end| span.ends_with(end));
        if span
            .chars()
            .all(|c: char| c.is_ascii_alphanumeric() || "_-./".contains(c))
            && is_file
        {
            let first = span.split('/').next().unwrap_or(span);
            let is_relative = !first.is_empty() && !first.contains('.') || first == span;
            let is_checked = is_relative
                && first != "target"
                && !PLACEHOLDERS.iter().any(|name| span.contains(name));
            return is_checked.then_some(Self::File(span));
        }
        let item = span.split(['<', '(']).next().unwrap_or(span);
        let is_type = item.starts_with(|c: char| c.is_ascii_uppercase())
            && item.contains(|c: char| c.is_ascii_lowercase());
        (is_type
            && item
                .chars()
                .all(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':'))
        .then_some(Self::Item(item))
    }
}

/// From the root, from the document, from a crate, or the end of a source's path.
fn is_file(workspace: &Workspace, folder: &Path, file: &str) -> bool {
    let mut crates = workspace.members.iter();
    let mut places = workspace
        .sources()
        .flat_map(|(_, source)| source.path.ancestors());
    root().join(file).exists()
        || folder.join(file).exists()
        || crates.any(|own| own.folder.join(file).exists())
        || places.any(|path| path.ends_with(file))
}

/// The guarantees that the README gives are those that `docs/verification.md` answers for.
pub(crate) fn guarantees(_: &Workspace) -> Vec<String> {
    unanswered(&read(GIVEN), &read(ANSWERED_FOR))
}

fn unanswered(given: &str, answered_for: &str) -> Vec<String> {
    let (_, section) = given.split_once(SECTION).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    let given = paragraphs(section, "- ", "  ");
    let answered_for = paragraphs(answered_for, "> ", "> ");
    let missing = given
        .difference(&answered_for)
        .map(|what| format!("{ANSWERED_FOR} does not quote this guarantee: {what}"));
    let invented = answered_for
        .difference(&given)
        .map(|what| format!("{ANSWERED_FOR} quotes what is no guarantee of {GIVEN}: {what}"));
    let none = given
        .is_empty()
        .then(|| format!("{GIVEN} gives no guarantees"));
    missing.chain(invented).chain(none).collect()
}

/// Paragraphs that begin with one text and go on with another, each as one line.
fn paragraphs(text: &str, begin: &str, next: &str) -> BTreeSet<String> {
    let mut found: Vec<String> = Vec::new();
    let mut is_within = false;
    for line in text.lines() {
        let more = line.strip_prefix(next).filter(|_| is_within);
        if let (Some(more), Some(paragraph)) = (more, found.last_mut()) {
            paragraph.extend([" ", more]);
        } else {
            let first = line.strip_prefix(begin).map(str::to_owned);
            is_within = first.is_some();
            found.extend(first);
        }
    }
    found
        .iter()
        .map(|paragraph| without_links(paragraph))
        .collect()
}

/// Where a link leads depends on the document.
fn without_links(text: &str) -> String {
    let mut parts = text.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    let text = parts.fold(first, |text, part| {
        text + part.split_once(')').map_or(part, |(_, rest)| rest)
    });
    // Lines may break elsewhere, and be indented.
    text.replace('[', "")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

pub(crate) fn failures(workspace: &Workspace) -> Vec<String> {
    // A program that makes its tests names them in texts.
    let mut words = workspace.words(true);
    let cases = files::below(&root().join(CASES), &|_| true).unwrap_or_default();
    for case in cases
        .iter()
        .filter(|path| path.extension().is_some_and(|kind| kind == "md"))
    {
        let case = files::read(case).unwrap_or_default();
        let headings = case.lines().filter_map(|line| line.strip_prefix("## "));
        words.extend(headings.map(str::to_owned));
    }
    let of_document = |path: String| {
        let rows = untested(&read(&path), &words).into_iter();
        rows.map(move |row| format!("{path}: {row}"))
    };
    readmes(ENGINES)
        .chain([FAILURES.to_owned()])
        .flat_map(of_document)
        .collect()
}

/// Rows of tables whose last column is `test`, and which name none, or one that is not there.
fn untested(document: &str, words: &BTreeSet<String>) -> Vec<String> {
    let mut is_within = false;
    let mut violations = Vec::new();
    for line in document.lines() {
        if !line.starts_with('|') {
            is_within = false;
        } else if line.ends_with("| test |") {
            is_within = true;
        } else if is_within && !line.starts_with("|---") {
            let cell = line
                .trim_end_matches([' ', '|'])
                .rsplit(" | ")
                .next()
                .unwrap_or_default();
            let mut names = cell.split('`').skip(1).step_by(2).peekable();
            if names.peek().is_none() {
                violations.push(format!("no test shows this: {line}"));
            }
            let tests = names.filter(|name| name.contains('_') && !name.contains(['/', ' ']));
            let missing = tests.filter(|name| !words.contains(*name));
            violations.extend(missing.map(|name| format!("there is no test {name}")));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_items_are_told_from_other_words() {
        for span in ["src/a.rs", "serve/access/", "state.rs", "docs/deploy"] {
            assert_eq!(Named::of(span), Some(Named::File(span)));
        }
        for (span, item) in [
            ("Id<User>", "Id"),
            ("Builder::node_ids(1..=64)", "Builder::node_ids"),
        ] {
            assert_eq!(Named::of(span), Some(Named::Item(item)));
        }
        let others = [
            "engines/NAME/",
            "/var/cache",
            "github.com/a/b",
            "target/tools",
            "RF_BUSY",
        ];
        for span in others.into_iter().chain(["cargo xtask test", "fsync"]) {
            assert_eq!(Named::of(span), None, "{span}");
        }
    }

    #[test]
    fn a_file_is_found_by_the_end_of_its_path() {
        let workspace = Workspace::of_source("m", "src/a/b.rs", "");
        let is_there = |file| is_file(&workspace, Path::new("/"), file);
        assert!(is_there("a/b.rs") && is_there("src/a") && is_there("Cargo.toml"));
        assert!(!is_there("b/a.rs") && !is_there("c.rs"));
    }

    #[test]
    fn each_failure_has_a_test_that_is_there() {
        let words = BTreeSet::from(["it_is_noticed".to_owned()]);
        let cells = [
            ("`it_is_noticed` (`tests/engine`)", 0),
            ("`it_is_gone`", 1),
            ("none", 1),
        ];
        for (test, expected) in cells {
            let row = format!("| fault | what | test |\n|---|---|---|\n| a | b | {test} |\n");
            assert_eq!(untested(&row, &words).len(), expected, "{test}");
        }
    }

    #[test]
    fn each_guarantee_is_quoted_word_by_word() {
        let given = "# It\n\n## Guarantees\n\n- **One.** Never [two](a.md),\n  or three.\n\
                     - **Stops.**\n\n## More\n\n- x\n";
        let quoted =
            "## One\n\n> **One.** Never\n> [two](../a.md), or three.\n\nProved.\n\n> **Stops.**\n";
        assert_eq!(unanswered(given, quoted), [""; 0]);
        for (from, to) in [
            ("Never", "Seldom"),
            ("> **Stops.**", ""),
            ("\n\nProved", "\n\n> **Fast.**\n\nProved"),
        ] {
            let changed = quoted.replace(from, to);
            assert!(!unanswered(given, &changed).is_empty(), "{changed}");
        }
        assert!(!unanswered("", "").is_empty());
    }
}
