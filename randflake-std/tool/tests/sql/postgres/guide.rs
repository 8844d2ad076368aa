//! The chapter on PostgreSQL.

use postgres::{Client, SimpleQueryMessage};

use super::Database;
use crate::guide;
use crate::user::KEY;

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
    let chapter = guide::chapter("PostgreSQL");
    guide::walk(&chapter, 31, |statement| run(&mut client, statement));
}
