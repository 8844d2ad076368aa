//! Answers of databases to statements, as lines of text: a row with `|` between its columns, or an
//! error.

use harness::mariadb::Client as MysqlClient;
use mysql_async::{Error, Row, Value};
use postgres::{Client as PostgresClient, SimpleQueryMessage};

pub(crate) fn of_postgres(client: &mut PostgresClient, statement: &str) -> Vec<String> {
    match client.simple_query(statement) {
        Ok(messages) => messages.iter().filter_map(postgres_row).collect(),
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

fn postgres_row(message: &SimpleQueryMessage) -> Option<String> {
    let SimpleQueryMessage::Row(row) = message else {
        return None;
    };
    let columns = (0..row.len()).map(|column| row.get(column).unwrap_or_default());
    Some(columns.collect::<Vec<_>>().join("|"))
}

pub(crate) fn of_mysql(client: &mut MysqlClient, statement: &str) -> Vec<String> {
    match client.query::<Row>(statement) {
        Ok(rows) => rows.into_iter().map(mysql_row).collect(),
        Err(Error::Server(error)) => {
            vec![format!(
                "ERROR {} ({}): {}",
                error.code, error.state, error.message
            )]
        }
        Err(error) => panic!("{statement}: {error}"),
    }
}

fn mysql_row(row: Row) -> String {
    let values = row.unwrap().into_iter().map(|value| match value {
        Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        other => other.as_sql(true),
    });
    values.collect::<Vec<_>>().join("|")
}

/// The statements of a file, as the client of MySQL reads it.
pub(crate) fn mysql_statements(file: &str) -> Vec<String> {
    let mut delimiter = ";";
    let mut statement = String::new();
    let mut statements = Vec::new();
    for line in file.lines().filter(|line| !line.starts_with("--")) {
        if let Some(other) = line.strip_prefix("DELIMITER ") {
            delimiter = if other == ";" { ";" } else { "//" };
            continue;
        }
        statement += line;
        statement += "\n";
        if let Some(whole) = statement.trim_end().strip_suffix(delimiter) {
            statements.push(whole.to_owned());
            statement.clear();
        }
    }
    assert_eq!(statement.trim(), "", "it ends within a statement");
    statements
}
