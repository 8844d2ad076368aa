//! Reads and writes of texts as SQL.
//!
//! Texts stand in it as hexadecimal, and all of an operation is sent at once: a prepared statement would cost a round
//! trip more on each connection, and could be but one.

use core::fmt::Write as _;

use crate::lease::EngineError;
use crate::ledger::{Before, Entry, Key, Keys, Write};

/// Keys in one statement.
const ROWS: usize = 500;

/// The columns `kind` and `number`.
pub(super) fn columns(key: Key) -> (&'static str, u32) {
    match key {
        Key::Namespace => ("namespace", 0),
        Key::Counter => ("counter", 0),
        Key::Node(node_id) => ("node", node_id),
        Key::Page(page) => ("page", page),
    }
}

/// The key and the text of a row.
pub(super) fn record(
    kind: &[u8],
    number: u32,
    value: Vec<u8>,
) -> Result<(Key, String), EngineError> {
    let key = match kind {
        b"namespace" => Key::Namespace,
        b"counter" => Key::Counter,
        b"node" => Key::Node(number),
        b"page" => Key::Page(number),
        _ => return Err(damaged()),
    };
    Ok((key, String::from_utf8(value).map_err(|_| damaged())?))
}

pub(super) fn damaged() -> EngineError {
    EngineError::unusable("the lease store was damaged")
}

/// What reads the texts of some keys.
pub(super) fn read(name: &str, keys: &[Keys]) -> Vec<String> {
    let statements = keys.chunks(ROWS).map(|keys| {
        let ranges = keys.iter().map(|keys| {
            let (first, last) = keys.bounds();
            let ((kind, first), (_, last)) = (columns(first), columns(last));
            format!("kind = '{kind}' AND number BETWEEN {first} AND {last}")
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
    format!(
        "SELECT kind, number, value FROM randflake_record
        WHERE namespace = '{name}' AND kind = 'node' AND number >= {first} ORDER BY number LIMIT {most}"
    )
}

/// The one statement of the most frequent write: one text takes another's place, as far as texts besides are as
/// expected. `fit` is what must hold besides, as SQL.
pub(super) fn update(name: &str, write: &Write, fit: &str) -> Option<String> {
    let (puts, checks) = split(write);
    let [put] = &puts[..] else {
        return None;
    };
    let (after, before) = (hex(put.after.as_deref()?.as_bytes()), expected(put)?);
    let checked: Option<Vec<_>> = checks.iter().map(|entry| expected(entry)).collect();
    let (checked, count) = (checked?.join(" OR "), checks.len());
    let still = if count == 0 {
        "TRUE".to_owned()
    } else {
        // MySQL reads the table that it updates only in a table within the statement.
        format!(
            "(SELECT found FROM (SELECT COUNT(*) AS found FROM randflake_record
                WHERE namespace = '{name}' AND ({checked}) LOCK IN SHARE MODE) AS checked) = {count}"
        )
    };
    Some(format!(
        "UPDATE randflake_record SET value = {after}
        WHERE namespace = '{name}' AND {before} AND {still} AND {fit}"
    ))
}

/// Any write as a transaction that fails as a whole unless all is as expected, and gives the time.
pub(super) fn transaction(name: &str, write: &Write, clock: &str, fit: &str) -> Vec<String> {
    let (puts, checks) = split(write);
    let mut found = 0;
    let mut statements = vec!["START TRANSACTION".to_owned(), set("found", "0")];
    // Where nothing should be, whatever is there counts against what is found.
    for (entries, lock) in [(&puts, "FOR UPDATE"), (&checks, "LOCK IN SHARE MODE")] {
        let texts: Vec<_> = entries.iter().filter_map(|entry| expected(entry)).collect();
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

/// What is put, and what is only looked at.
fn split(write: &Write) -> (Vec<&Entry>, Vec<&Entry>) {
    write
        .entries
        .iter()
        .partition(|entry| entry.after.is_some())
}

fn set(variable: &str, value: &str) -> String {
    format!("SET @randflake_{variable} = {value}")
}

/// A key as a condition.
fn place(key: Key) -> String {
    let (kind, number) = columns(key);
    format!("kind = '{kind}' AND number = {number}")
}

/// The text that must be there as a condition, if one must.
fn expected(entry: &Entry) -> Option<String> {
    let Before::Text(text) = &entry.before else {
        return None;
    };
    Some(format!(
        "{} AND value = {}",
        place(entry.key),
        hex(text.as_bytes())
    ))
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
            let (kind, number) = columns(entry.key);
            let after = hex(entry.after.as_deref().unwrap_or_default().as_bytes());
            format!("('{name}', '{kind}', {number}, {after})")
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
