//! The chapter PostgreSQL of `docs/sql.md`, walked through: its statements give what stands behind them.

use std::fs;
use std::path::Path;

use postgres::{Client, SimpleQueryMessage};

use super::Database;
use crate::user::KEY;

/// A statement of the guide, and the lines that it answers.
struct Step {
    statement: String,
    answer: Vec<String>,
}

/// The statements of the blocks ```` ```sql ````. A line `-- ...` behind a statement is a line of its answer, its
/// columns set apart by `|`; `-- ...` alone leaves out what follows.
fn steps(guide: &str) -> Vec<Step> {
    let blocks = guide.split("```sql\n").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().unwrap());
    let mut steps: Vec<Step> = Vec::new();
    for block in blocks {
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

fn run(client: &mut Client, statement: &str) -> Vec<String> {
    match client.simple_query(statement) {
        Ok(messages) => messages.iter().filter_map(row).collect(),
        Err(error) => {
            let error = error.as_db_error().unwrap_or_else(|| panic!("{error}"));
            let detail = error.detail().map(|detail| format!("DETAIL:  {detail}"));
            [format!("ERROR:  {}", error.message())]
                .into_iter()
                .chain(detail)
                .collect()
        }
    }
}

fn row(message: &SimpleQueryMessage) -> Option<String> {
    let SimpleQueryMessage::Row(row) = message else {
        return None;
    };
    let columns = (0..row.len()).map(|column| row.get(column).unwrap_or_default());
    Some(columns.collect::<Vec<_>>().join("|"))
}

#[test]
fn the_guide_is_right_line_by_line() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sql.md");
    let guide = fs::read_to_string(path).unwrap();
    let part = guide.split("\n## PostgreSQL\n").nth(1).unwrap();
    let part = part.split("\n## ").next().unwrap();
    let (database, mut client) = Database::with_orders(&[]);
    // What the guide does outside of SQL.
    let printed = database.printed(&["--namespace", "invoices", "--counter"]);
    client.batch_execute(&printed).unwrap();
    let arguments = ["keygen", "--derive", "invoices"];
    let derived = database
        .user
        .run_in(&[("RANDFLAKE_KEY", KEY)], &arguments)
        .ok();
    let url = database.url_of("postgres");
    let arguments = ["sql", "key", "--database", &url, "--namespace", "invoices"];
    database
        .user
        .run_in(&[("RANDFLAKE_KEY", derived.trim())], &arguments)
        .ok();
    client
        .batch_execute("CREATE ROLE shop; CREATE ROLE analyst; SET TimeZone = 'UTC'")
        .unwrap();

    let steps = steps(part);
    assert!(steps.len() > 30, "{} statements", steps.len());
    for Step { statement, answer } in steps {
        let found = run(&mut client, &statement);
        let failed = found.first().is_some_and(|line| line.starts_with("ERROR:"));
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
