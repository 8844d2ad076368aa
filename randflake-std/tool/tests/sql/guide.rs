//! Runs the statements of the pages in `docs/sql`, and compares the answers with those that the
//! pages show.

use std::fs;
use std::path::Path;

/// A statement of the guide, and the lines that it answers.
struct Step {
    statement: String,
    answer: Vec<String>,
}

/// Text of a page of `docs/sql`.
fn page(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sql");
    fs::read_to_string(folder.join(name).with_extension("md")).unwrap()
}

/// Text under a heading of the page on tagged UUIDs.
fn tagged(database: &str) -> String {
    let page = page("tagged");
    let (_, chapter) = page.split_once(&format!("\n## {database}\n")).unwrap();
    chapter.split("\n## ").next().unwrap().to_owned()
}

/// All pages on `postgresql`, in the order in which they are run.
pub(crate) fn postgresql() -> String {
    page("postgresql") + &page("postgresql-tables") + &tagged("PostgreSQL")
}

/// All pages on `mysql` servers, in the order in which they are run.
pub(crate) fn mysql() -> String {
    page("mysql") + &tagged("MariaDB")
}

/// The page on `duckdb`.
pub(crate) fn duckdb() -> String {
    page("duckdb")
}

/// Code of one language.
pub(crate) fn blocks<'a>(chapter: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    let rests: Vec<_> = chapter.match_indices(&fence).collect();
    let block = |at: usize| chapter[at + fence.len()..].split("```").next().unwrap();
    rests.into_iter().map(|(at, _)| block(at)).collect()
}

/// The statements of the blocks ```` ```sql ````. A line `-- ...` behind a statement is a line of
/// its answer, its columns set apart by `|`; `-- ...` alone leaves out what follows.
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

/// Runs the statements of a chapter, by a function that gives the lines of an answer or `ERROR` and
/// more.
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
