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
pub(super) const LOCK: &str = "SELECT GET_LOCK(MD5(CONCAT('randflake.', DATABASE())), 15)";
pub(super) const UNLOCK: &str = "DO RELEASE_LOCK(MD5(CONCAT('randflake.', DATABASE())))";

/// What no randflake has made.
pub(super) const CHECK: &str = r#"
    SELECT CONCAT('the lease store was changed: ', how, ', which no randflake has made: remove it') FROM (
        SELECT CONCAT('"', table_name, '" is no table of InnoDB') AS how FROM information_schema.tables
        WHERE table_schema = DATABASE() AND table_name LIKE 'randflake\_%' AND COALESCE(engine, '') <> 'InnoDB'
        UNION ALL SELECT CONCAT('it has a trigger "', trigger_name, '"') FROM information_schema.triggers
        WHERE event_object_schema = DATABASE() AND event_object_table LIKE 'randflake\_%'
    ) AS changed LIMIT 1"#;

/// How server and session stand, and whether the server is read-only. In a recovery, what the engine has prepared and the
/// binary log does not have is rolled back.
pub(super) fn state(clock: &str, session: u32, known: &str) -> String {
    format!(
        "SELECT {clock}, @randflake_session = {session}, {known}, id, CASE WHEN {DURABLE} THEN ''
            WHEN @@GLOBAL.innodb_flush_log_at_trx_commit <> 1 THEN CONCAT('innodb_flush_log_at_trx_commit=',
                @@GLOBAL.innodb_flush_log_at_trx_commit, ': set innodb_flush_log_at_trx_commit to 1')
            ELSE CONCAT('log_bin and sync_binlog=', @@GLOBAL.sync_binlog, ': set sync_binlog to 1') END,
            @@GLOBAL.read_only
        FROM randflake_store"
    )
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
    let kept = only.kept.map(|kept| there(Key::Namespace, kept));
    let kept = kept.map_or_else(String::new, |kept| holds(name, &kept, 1));
    format!(
        "UPDATE randflake_record SET value = {} WHERE namespace = '{name}' AND {} AND {may} {kept}",
        hex(only.after.as_bytes()),
        there(only.key, only.before)
    )
}

/// Any write as a transaction that fails as a whole unless all is as expected, and gives the time.
pub(super) fn transaction(name: &str, write: &Write, clock: &str, may: &str) -> Vec<String> {
    let entries = write.entries.iter();
    let (puts, checks): (Vec<_>, Vec<_>) = entries.partition(|entry| entry.after.is_some());
    let (new, others): (Vec<_>, Vec<_>) = puts
        .into_iter()
        .partition(|entry| entry.before == Before::Nothing);
    let texts = others
        .iter()
        .filter_map(|entry| Some((entry.key, expected(entry)?)));
    let texts: Vec<_> = texts.map(|(key, text)| there(key, text)).collect();
    let checks = checks.iter().map(|entry| match &entry.before {
        Before::Anything => String::new(),
        Before::Nothing => holds(name, &place(entry.key), 0),
        Before::Text(text) => holds(name, &there(entry.key, text), 1),
    });
    let mut statements = vec![
        "START TRANSACTION".to_owned(),
        "SET @randflake_found = 0".to_owned(),
    ];
    statements.extend(texts.chunks(ROWS).map(|texts| {
        format!(
            "SELECT @randflake_found + COUNT(*) INTO @randflake_found FROM randflake_record
            WHERE namespace = '{name}' AND ({}) FOR UPDATE",
            texts.join(" OR ")
        )
    }));
    statements.push(format!("SET @randflake_now = {clock}"));
    statements.push(format!(
        "SELECT CAST(IF(@randflake_found = {} AND {may} {}, @randflake_now, (SELECT 1 UNION SELECT 2)) AS UNSIGNED)",
        texts.len(),
        joined(checks, " ")
    ));
    // Fails where there is one.
    statements.extend(insert(name, &new, ""));
    let replaces = " ON DUPLICATE KEY UPDATE value = VALUES(value)";
    statements.extend(insert(name, &others, replaces));
    statements.push("COMMIT".to_owned());
    statements
}

/// A further condition: so many rows are as they should be, until the write is done. `MySQL` reads the table that it updates
/// only in a table within the statement.
fn holds(name: &str, condition: &str, rows: usize) -> String {
    format!(
        "AND (SELECT found FROM (SELECT COUNT(*) AS found FROM randflake_record
            WHERE namespace = '{name}' AND {condition} LOCK IN SHARE MODE) AS checked) = {rows}"
    )
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
