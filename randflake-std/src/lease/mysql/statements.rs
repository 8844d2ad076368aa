//! What is said to the server. Texts stand in it as hexadecimal.

use core::fmt::Write as _;

use crate::lease::database::{Only, expected};
use crate::ledger::{Before, Entry, Key, Keys, Write};

/// Keys in one statement.
const ROWS: usize = 500;

/// The server's clock, in microseconds.
pub(super) const CLOCK: &str = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', SYSDATE(6))";

/// Whether no answered write is lost.
pub(super) const DURABLE: &str = "@@GLOBAL.innodb_flush_log_at_trx_commit = 1
    AND NOT (@@GLOBAL.log_bin AND @@GLOBAL.sync_binlog <> 1)";

/// Held by who makes the tables.
pub(super) const LOCK: &str =
    "SELECT COALESCE(GET_LOCK(MD5(CONCAT('randflake.', DATABASE())), 15), 0)";
pub(super) const UNLOCK: &str = "DO RELEASE_LOCK(MD5(CONCAT('randflake.', DATABASE())))";

/// What no randflake has made.
pub(super) const CHANGED: &str = r#"
    SELECT CONCAT('"', table_name, '" is no table of InnoDB') FROM information_schema.tables
    WHERE table_schema = DATABASE() AND table_name LIKE 'randflake\_%' AND COALESCE(engine, '') <> 'InnoDB'
    UNION ALL SELECT CONCAT('it has a trigger "', trigger_name, '"') FROM information_schema.triggers
    WHERE event_object_schema = DATABASE() AND event_object_table LIKE 'randflake\_%' LIMIT 1"#;

/// How server and session stand.
pub(super) fn header(clock: &str, known: &str) -> String {
    format!(
        "SELECT {clock}, @randflake_session, {known}, fingerprint, id, @@GLOBAL.innodb_flush_log_at_trx_commit,
            @@GLOBAL.log_bin, @@GLOBAL.sync_binlog, @@GLOBAL.read_only
        FROM randflake_store"
    )
}

/// Whether somebody is connected, as far as this user can see, who has used what is not there: then the tables were
/// emptied or made anew meanwhile.
pub(super) fn is_used(name: &str, missing: &[Key]) -> String {
    let is_locked = |key: &Key| format!("IS_USED_LOCK({}) = id", mark(name, *key, "id"));
    let is_locked = joined(missing.iter().map(is_locked), " OR ");
    format!("SELECT EXISTS (SELECT 1 FROM information_schema.processlist WHERE {is_locked})")
}

/// The name of a connection's lock.
pub(super) fn mark(name: &str, key: Key, id: &str) -> String {
    let (kind, _) = key.numbers();
    format!("MD5(CONCAT('randflake/{kind}/{name}/', {id}, '/', DATABASE()))")
}

/// What reads the texts of some keys, at most so many of a range.
pub(super) fn read(name: &str, keys: &[Keys], most: Option<usize>) -> Vec<String> {
    let limit = most.map_or(String::new(), |most| {
        format!("ORDER BY number LIMIT {most}")
    });
    let statements = keys.chunks(ROWS).map(|keys| {
        let ranges = keys.iter().map(|keys| {
            let (first, last) = keys.bounds();
            let ((kind, first), (_, last)) = (first.numbers(), last.numbers());
            format!("kind = {kind} AND number BETWEEN {first} AND {last}")
        });
        let ranges = joined(ranges, " OR ");
        format!(
            "SELECT kind, number, value FROM randflake_record WHERE namespace = '{name}' AND ({ranges}) {limit}"
        )
    });
    statements.collect()
}

/// The one statement of the most frequent write. `may` is what must hold besides.
pub(super) fn update(name: &str, only: &Only<'_>, may: &str) -> String {
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
        WHERE namespace = '{name}' AND {} AND {still} AND {may}",
        hex(only.after.as_bytes()),
        there(only.key, only.before)
    )
}

/// Any write as a transaction that fails as a whole unless all is as expected, and gives the time.
pub(super) fn transaction(name: &str, write: &Write, clock: &str, may: &str) -> Vec<String> {
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
        "SELECT CAST(IF(@randflake_found = {found} AND {may}, @randflake_now, (SELECT 1 UNION SELECT 2)) AS UNSIGNED)"
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
