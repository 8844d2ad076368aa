//! Reads and writes of texts as SQL.
//!
//! Texts stand in it as hexadecimal, and all of an operation is sent at once: a prepared statement would cost a round
//! trip more on each connection, and could be but one.

use core::fmt::Write as _;

use crate::lease::EngineError;
use crate::lease::database::{Only, expected, key};
use crate::ledger::{Before, Entry, Key, Keys, Write};

/// Keys in one statement.
const ROWS: usize = 500;

/// The key and the text of a row.
pub(super) fn record(kind: u8, number: u32, value: Vec<u8>) -> Result<(Key, String), EngineError> {
    let text = String::from_utf8(value).map_err(|_| damaged())?;
    Ok((key(kind, number)?, text))
}

pub(super) fn damaged() -> EngineError {
    EngineError::unusable("the lease store was damaged")
}

/// What reads the texts of some keys.
pub(super) fn read(name: &str, keys: &[Keys]) -> Vec<String> {
    let statements = keys.chunks(ROWS).map(|keys| {
        let ranges = keys.iter().map(|keys| {
            let (first, last) = keys.bounds();
            let ((kind, first), (_, last)) = (first.numbers(), last.numbers());
            format!("kind = {kind} AND number BETWEEN {first} AND {last}")
        });
        let ranges = joined(ranges, " OR ");
        format!(
            "SELECT kind, number, value FROM randflake_record WHERE namespace = '{name}' AND ({ranges})"
        )
    });
    statements.collect()
}

/// What reads the texts of node ids from one on.
pub(super) fn list(name: &str, first: u32, most: usize) -> String {
    let (kind, first) = Key::Node(first).numbers();
    format!(
        "SELECT kind, number, value FROM randflake_record
        WHERE namespace = '{name}' AND kind = {kind} AND number >= {first} ORDER BY number LIMIT {most}"
    )
}

/// The one statement of the most frequent write. `fit` is what must hold besides, as SQL.
pub(super) fn update(name: &str, only: &Only<'_>, fit: &str) -> String {
    let still = only.kept.map_or("TRUE".to_owned(), |kept| {
        // MySQL reads the table that it updates only in a table within the statement.
        format!(
            "(SELECT found FROM (SELECT COUNT(*) AS found FROM randflake_record
                WHERE namespace = '{name}' AND {} LOCK IN SHARE MODE) AS checked) = 1",
            there(Key::Namespace, kept)
        )
    });
    format!(
        "UPDATE randflake_record SET value = {}
        WHERE namespace = '{name}' AND {} AND {still} AND {fit}",
        hex(only.after.as_bytes()),
        there(only.key, only.before)
    )
}

/// Any write as a transaction that fails as a whole unless all is as expected, and gives the time.
pub(super) fn transaction(name: &str, write: &Write, clock: &str, fit: &str) -> Vec<String> {
    let (puts, checks): (Vec<_>, Vec<_>) = write
        .entries
        .iter()
        .partition(|entry| entry.after.is_some());
    let mut found = 0;
    let mut statements = vec!["START TRANSACTION".to_owned(), set("found", "0")];
    // Where nothing should be, whatever is there counts against what is found.
    for (entries, lock) in [(&puts, "FOR UPDATE"), (&checks, "LOCK IN SHARE MODE")] {
        let texts: Vec<_> = entries
            .iter()
            .filter_map(|entry| Some(there(entry.key, expected(entry)?)))
            .collect();
        found += texts.len();
        statements.extend(count(name, '+', &texts, lock));
    }
    let absent = checks
        .iter()
        .filter(|entry| entry.before == Before::Nothing)
        .map(|entry| place(entry.key));
    statements.extend(count(
        name,
        '-',
        &absent.collect::<Vec<_>>(),
        "LOCK IN SHARE MODE",
    ));
    statements.push(set("now", clock));
    statements.push(format!(
        "SELECT CAST(IF(@randflake_found = {found} AND {fit}, @randflake_now, (SELECT 1 UNION SELECT 2)) AS UNSIGNED)"
    ));
    let (new, others): (Vec<_>, Vec<_>) = puts
        .into_iter()
        .partition(|entry| entry.before == Before::Nothing);
    statements.extend(insert(name, &new, ""));
    let replaces = " ON DUPLICATE KEY UPDATE value = VALUES(value)";
    statements.extend(insert(name, &others, replaces));
    statements.push("COMMIT".to_owned());
    statements
}

fn set(variable: &str, value: &str) -> String {
    format!("SET @randflake_{variable} = {value}")
}

/// A key as a condition.
fn place(key: Key) -> String {
    let (kind, number) = key.numbers();
    format!("kind = {kind} AND number = {number}")
}

/// A key and its text as a condition.
fn there(key: Key, text: &str) -> String {
    format!("{} AND value = {}", place(key), hex(text.as_bytes()))
}

fn count<'a>(
    name: &'a str,
    sign: char,
    conditions: &'a [String],
    lock: &'a str,
) -> impl Iterator<Item = String> + 'a {
    conditions.chunks(ROWS).map(move |conditions| {
        format!(
            "SELECT @randflake_found {sign} COUNT(*) INTO @randflake_found FROM randflake_record
            WHERE namespace = '{name}' AND ({}) {lock}",
            conditions.join(" OR ")
        )
    })
}

fn insert<'a>(
    name: &'a str,
    entries: &'a [&Entry],
    or: &'a str,
) -> impl Iterator<Item = String> + 'a {
    entries.chunks(ROWS).map(move |entries| {
        let rows = entries.iter().map(|entry| {
            let (kind, number) = entry.key.numbers();
            let after = hex(entry.after.as_deref().unwrap_or_default().as_bytes());
            format!("('{name}', {kind}, {number}, {after})")
        });
        let rows = joined(rows, ",");
        format!("INSERT INTO randflake_record VALUES {rows}{or}")
    })
}

fn joined(parts: impl Iterator<Item = String>, by: &str) -> String {
    parts.collect::<Vec<_>>().join(by)
}

/// Bytes as SQL.
pub(super) fn hex(bytes: &[u8]) -> String {
    let mut text = String::from("x'");
    for byte in bytes {
        // Writing to a string cannot fail.
        _ = write!(text, "{byte:02x}");
    }
    text.push('\'');
    text
}
