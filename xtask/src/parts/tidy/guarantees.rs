//! The guarantees that the README gives are those that `docs/verification.md` answers for, word by
//! word.

use std::collections::BTreeSet;
use std::fs;

use super::workspace::Workspace;
use crate::helpers::cargo::root;

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

#[cfg(test)]
mod tests {
    use super::*;

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
