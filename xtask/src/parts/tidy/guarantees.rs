//! The guarantees that the README gives are those that `docs/verification.md` answers for, word by
//! word. Each failure that a document lists names a test that is there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::TokenTree;

use super::source::each_token;
use super::workspace::Workspace;
use crate::helpers::cargo::root;
use crate::helpers::matrix::{ENGINES, LIBRARIES};

const GIVEN: &str = "README.md";
const ANSWERED_FOR: &str = "docs/verification.md";
const SECTION: &str = "\n## Guarantees\n";

pub(crate) fn check(_: &Workspace) -> Vec<String> {
    let [given, answered_for] =
        [GIVEN, ANSWERED_FOR].map(|path| fs::read_to_string(root().join(path)).unwrap_or_default());
    violations(&given, &answered_for)
}

fn violations(given: &str, answered_for: &str) -> Vec<String> {
    let (_, section) = given.split_once(SECTION).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    let given: BTreeSet<_> = paragraphs(section, "- ", "  ").collect();
    let answered_for: BTreeSet<_> = paragraphs(answered_for, "> ", "> ").collect();
    let invented = answered_for.difference(&given).map(|sentence| {
        format!("{ANSWERED_FOR} quotes what is no guarantee of {GIVEN}: {sentence}")
    });
    let missing = given
        .difference(&answered_for)
        .map(|sentence| format!("{ANSWERED_FOR} does not quote this guarantee: {sentence}"));
    let mut violations: Vec<_> = missing.chain(invented).collect();
    if given.is_empty() {
        violations.push(format!("{GIVEN} gives no guarantees"));
    }
    violations
}

/// Paragraphs that begin with one text and go on with another, each as one line.
fn paragraphs(text: &str, begin: &str, next: &str) -> impl Iterator<Item = String> {
    let mut found: Vec<Vec<&str>> = Vec::new();
    let mut is_within = false;
    for line in text.lines() {
        let more = line.strip_prefix(next).filter(|_| is_within);
        if let Some(more) = more {
            found.last_mut().into_iter().for_each(|it| it.push(more));
        } else if let Some(first) = line.strip_prefix(begin) {
            found.push(vec![first]);
        }
        is_within = more.is_some() || line.starts_with(begin);
    }
    found
        .into_iter()
        .map(|lines| without_links(&lines.join(" ")))
}

/// Where a link leads depends on the document.
fn without_links(text: &str) -> String {
    let mut parts = text.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    let text = parts.fold(first, |text, part| {
        text + part.split_once(')').map_or(part, |(_, rest)| rest)
    });
    let text = text.replace('[', "");
    // Lines may break elsewhere, and be indented.
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Programs with tests that are documents: each heading is the name of one.
const CASES: &str = "randflake-std/tool/tests";

/// The failures of all engines; those of one are in its README.
const FAILURES: &str = "randflake-std/lease/src/faults.md";

pub(crate) fn check_failures(workspace: &Workspace) -> Vec<String> {
    let mut words = BTreeSet::new();
    for (_, source) in workspace.sources() {
        each_token(&source.code, &mut |tokens, at| {
            if let TokenTree::Ident(_) | TokenTree::Literal(_) = &tokens[at] {
                // A program that makes its tests names them in texts.
                let text = tokens[at].to_string();
                let found = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                words.extend(found.map(str::to_owned));
            }
        });
    }
    for case in documents_below(&root().join(CASES)) {
        let case = fs::read_to_string(case).unwrap_or_default();
        let headings = case.lines().filter_map(|line| line.strip_prefix("## "));
        words.extend(headings.map(str::to_owned));
    }
    let engines = LIBRARIES
        .iter()
        .filter(|one| one.folder.starts_with(ENGINES));
    let readmes = engines.map(|engine| format!("{}/README.md", engine.folder));
    let documents = readmes.chain([FAILURES.to_owned()]);
    let read = |path: &String| fs::read_to_string(root().join(path)).unwrap_or_default();
    documents
        .flat_map(|path| {
            untested(&read(&path), &words)
                .into_iter()
                .map(move |row| format!("{path}: {row}"))
        })
        .collect()
}

fn documents_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let found = entries.flat_map(|entry| {
        let path = entry.path();
        match path.extension() {
            _ if path.is_dir() => documents_below(&path),
            Some(kind) if kind == "md" => vec![path],
            _ => Vec::new(),
        }
    });
    found.collect()
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
            let names: Vec<_> = cell.split('`').skip(1).step_by(2).collect();
            let is_test = |name: &&&str| name.contains('_') && !name.contains(['/', ' ']);
            let missing: Vec<_> = names
                .iter()
                .filter(is_test)
                .filter(|name| !words.contains(**name))
                .collect();
            if names.is_empty() {
                violations.push(format!("no test shows this: {line}"));
            }
            violations.extend(
                missing
                    .iter()
                    .map(|name| format!("there is no test {name}")),
            );
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_has_a_test_that_is_there() {
        let words = BTreeSet::from(["it_is_noticed".to_owned()]);
        let row = |test| format!("| fault | what | test |\n|---|---|---|\n| a | b | {test} |\n");
        assert_eq!(
            untested(&row("`it_is_noticed` (`tests/engine`)"), &words).len(),
            0
        );
        assert_eq!(untested(&row("`it_is_gone`"), &words).len(), 1);
        assert_eq!(untested(&row("none"), &words).len(), 1);
    }

    const README: &str = "# It\n\n## Guarantees\n\n- **One.** Never [two](a.md),\n  or three.\n- **Stops.**\n\n## More\n\n- x\n";

    #[test]
    fn each_guarantee_is_quoted_word_by_word() {
        let quoted =
            "## One\n\n> **One.** Never\n> [two](../a.md), or three.\n\nProved.\n\n> **Stops.**\n";
        assert_eq!(violations(README, quoted), Vec::<String>::new());
        for (from, to) in [
            ("Never", "Seldom"),
            ("> **Stops.**", ""),
            ("\n\nProved", "\n\n> **Fast.**\n\nProved"),
        ] {
            let changed = quoted.replace(from, to);
            assert!(!violations(README, &changed).is_empty(), "{changed}");
        }
        assert!(!violations("", "").is_empty());
    }
}
