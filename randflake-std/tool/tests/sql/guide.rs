//! Chapters of `docs/sql.md`, walked through: their statements give what stands behind them.

use std::fs;
use std::path::Path;

/// A statement of the guide, and the lines that it answers.
struct Step {
    statement: String,
    answer: Vec<String>,
}

pub(crate) fn text() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sql.md");
    fs::read_to_string(path).unwrap()
}

pub(crate) fn chapter(title: &str) -> String {
    let guide = text();
    let (_, chapter) = guide.split_once(&format!("\n## {title}\n")).unwrap();
    chapter.split("\n## ").next().unwrap().to_owned()
}

/// Code of one language.
pub(crate) fn blocks<'a>(chapter: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    let rests: Vec<_> = chapter.match_indices(&fence).collect();
    let block = |at: usize| chapter[at + fence.len()..].split("```").next().unwrap();
    rests.into_iter().map(|(at, _)| block(at)).collect()
}

/// The statements of the blocks ```` ```sql ````. A line `-- ...` behind a statement is a line of its answer, its
/// columns set apart by `|`; `-- ...` alone leaves out what follows.
fn steps(chapter: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for block in blocks(chapter, "sql") {
        let mut statement = String::new();
        for line in block.lines() {
            match line.strip_prefix("-- ") {
                Some(answer) if statement.is_empty() => {
                    steps.last_mut().unwrap().answer.push(answer.to_owned());
                }
                _ => {
                    statement += line;
                    statement += "\n";
                }
            }
            let is_within_body = statement.matches("$$").count() % 2 == 1;
            if statement.trim_end().ends_with(';') && !is_within_body {
                let statement = core::mem::take(&mut statement);
                steps.push(Step {
                    statement,
                    answer: Vec::new(),
                });
            }
        }
        assert_eq!(statement.trim(), "", "a statement without its end");
    }
    steps
}

/// Runs the statements of a chapter, by a function that gives the lines of an answer or `ERROR` and more.
pub(crate) fn walk(chapter: &str, at_least: usize, mut run: impl FnMut(&str) -> Vec<String>) {
    let steps = steps(chapter);
    assert!(steps.len() >= at_least, "{} statements", steps.len());
    for Step { statement, answer } in steps {
        let found = run(&statement);
        let failed = found.first().is_some_and(|line| line.starts_with("ERROR"));
        if answer.is_empty() {
            assert!(!failed, "{statement}{found:?}");
            continue;
        }
        let shown = match answer.split_last() {
            Some((last, shown)) if last == "..." => shown,
            _ => &answer[..],
        };
        let is_whole = shown.len() == answer.len();
        assert!(
            found.len() >= shown.len() && (found.len() == shown.len() || !is_whole),
            "{statement}{found:#?}"
        );
        for (found, shown) in found.iter().zip(shown) {
            assert_eq!(found.trim(), shown.trim(), "{statement}");
        }
    }
}
