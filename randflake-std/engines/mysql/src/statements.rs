//! SQL statements of the MySQL engine.

use super::sql::Sql;
use randflake_lease::unstable::engine::{Before, Entry, Key, Keys, Write};
use randflake_sql::{SingleUpdate, SqlValue, expected};

/// Keys in one statement.
const ROWS: usize = 500;

/// The server's clock, in microseconds.
// Not `NOW`, which is when the statement began: it may have waited for a lock since.
pub(crate) const CLOCK: &str = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', SYSDATE(6))";

/// Whether no answered write is lost.
const DURABLE: &str = "@@GLOBAL.innodb_flush_log_at_trx_commit = 1
    AND NOT (@@GLOBAL.log_bin AND @@GLOBAL.sync_binlog <> 1)";

/// Held by who makes the tables.
// Hashed: in MySQL a lock's name has at most 64 characters, and a database's alone may have as
// many.
pub(crate) const LOCK: &str = "SELECT GET_LOCK(MD5(CONCAT('randflake.', DATABASE())), 15)";
pub(crate) const UNLOCK: &str = "DO RELEASE_LOCK(MD5(CONCAT('randflake.', DATABASE())))";

/// What a copy within the server changes. A replica that takes over has the same name, so all else
/// that tells servers apart would call a failover a copy. Where the server ignores the case of
/// names, so does this.
const IDENTITY: &str =
    "CONCAT('the database ', IF(@@lower_case_table_names = 0, DATABASE(), LOWER(DATABASE())))";
/// What a server and the table of records are known by, where the server has a number of its own.
pub(crate) const KNOWN_BY_UUID: &str = "(
    SELECT CONCAT(@@server_uuid, '/', UNIX_TIMESTAMP(create_time), '/', COALESCE(auto_increment, 0))
    FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'randflake_record'
)";
/// The same with the number by which replication tells servers apart: `MariaDB` has no other.
pub(crate) const KNOWN_BY_ID: &str = "(
    SELECT CONCAT(@@server_id, '/', UNIX_TIMESTAMP(create_time), '/', COALESCE(auto_increment, 0))
    FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'randflake_record'
)";

/// Finds tables of another engine, views and triggers in the place of the store's own tables.
// A view has no engine, which is `NULL`: `COALESCE` finds it too.
pub(crate) const CHECK: &str = r#"
    SELECT CONCAT('the lease store was changed: ', how, ', which no randflake has made: remove it') FROM (
        SELECT CONCAT('"', table_name, '" is no table of InnoDB') AS how FROM information_schema.tables
        WHERE table_schema = DATABASE() AND table_name LIKE 'randflake\_%' AND COALESCE(engine, '') <> 'InnoDB'
        UNION ALL SELECT CONCAT('it has a trigger "', trigger_name, '"') FROM information_schema.triggers
        WHERE event_object_schema = DATABASE() AND event_object_table LIKE 'randflake\_%'
    ) AS changed LIMIT 1"#;

/// The number of the tables, as a holder asks between renewals.
pub(crate) const ID: &str = "SELECT id FROM randflake_store";

/// The text of a namespace.
pub(crate) const NAMESPACE: &str =
    "SELECT value FROM randflake_record WHERE namespace = ? AND kind = 0 AND number = 0";

/// The next namespace. A name is bytes, some of which may be no text: its place is their
/// hexadecimal, in the same order.
pub(crate) const NEXT_NAMESPACE: &str = "
    SELECT HEX(namespace), CONVERT(namespace USING utf8mb4), CONVERT(value USING utf8mb4) FROM randflake_record
    WHERE kind = 0 AND number = 0 AND namespace > UNHEX(?) ORDER BY namespace LIMIT 1";

/// `MySQL` reads a table that it changes only in a table within the statement. Where there is no
/// record of the namespace, the comparison with it is not true.
pub(crate) const REMOVE: &str = "
    DELETE FROM randflake_record
    WHERE namespace = ? AND kind BETWEEN ? AND ? AND number BETWEEN ? AND ? AND ? IN ('', (
        SELECT value FROM (
            SELECT value FROM randflake_record WHERE namespace = ? AND kind = 0 AND number = 0
        ) AS checked
    ))";

/// How server and session stand, what was marked last, and whether the server is read-only. In a
/// recovery, what the engine has prepared and the binary log does not have is rolled back.
pub(crate) fn state(clock: &Sql, session: u64, known: &'static str) -> Sql {
    Sql::new("SELECT ", &[])
        .then(clock)
        .with(", @randflake_session = ?, ", &[SqlValue::Number(session)])
        .with(IDENTITY, &[])
        .with(", ", &[])
        .with(known, &[])
        .with(", id, CASE WHEN ", &[])
        .with(DURABLE, &[])
        .with(
            " THEN ''
            WHEN @@GLOBAL.innodb_flush_log_at_trx_commit <> 1 THEN CONCAT('innodb_flush_log_at_trx_commit=',
                @@GLOBAL.innodb_flush_log_at_trx_commit, ': set innodb_flush_log_at_trx_commit to 1')
            ELSE CONCAT('log_bin and sync_binlog=', @@GLOBAL.sync_binlog, ': set sync_binlog to 1') END,
            marked, @@GLOBAL.read_only
            FROM randflake_store",
            &[],
        )
}

/// Marks the table of records, so that neither a copy of it nor a replica's passes for it, and
/// notes as what it is known then. Of several that would mark it, one does.
pub(crate) fn mark(known: &'static str, random: u64) -> [Sql; 8] {
    /// More than the rows of any copy count up to, and room for millions of marks below 2^64.
    const STEPS: u64 = 1 << 40;
    let values = [random, STEPS + random % STEPS].map(SqlValue::Number);
    [
        Sql::new("START TRANSACTION", &[]),
        // The others wait here, and find it marked.
        Sql::new("SELECT marked FROM randflake_store FOR UPDATE", &[]),
        Sql::new("SAVEPOINT unmarked", &[]),
        Sql::new(
            "INSERT INTO randflake_record SELECT '', 255, ?, '', ? + (
                SELECT auto_increment FROM information_schema.tables
                WHERE table_schema = DATABASE() AND table_name = 'randflake_record'
            ) FROM randflake_store WHERE marked <> ",
            &values,
        )
        .with(known, &[]),
        // What is undone does not come into the binary log, and leaves the table's next number
        // where it is.
        Sql::new("ROLLBACK TO unmarked", &[]),
        // As a value: a replica that repeats statements would find its own.
        Sql::new("SET @randflake_known = ", &[]).with(known, &[]),
        Sql::new("UPDATE randflake_store SET marked = @randflake_known", &[]),
        Sql::new("COMMIT", &[]),
    ]
}

/// As SQL, whether this session and the server are those that a write was decided for, at a time.
pub(crate) fn may(
    session: u64,
    now: &Sql,
    (from, to): (i64, i64),
    known: &'static str,
    fingerprint: &str,
) -> Sql {
    // Times after 1970.
    let window = [from, to].map(|time| SqlValue::Number(time.cast_unsigned()));
    Sql::new("@randflake_session = ? AND ", &[SqlValue::Number(session)])
        .with(DURABLE, &[])
        .with(" AND ", &[])
        .then(now)
        .with(" BETWEEN ? AND ? AND (SELECT CONCAT(", &window)
        .with(known, &[])
        .with(
            ", '/', id) FROM randflake_store) = ?",
            &[SqlValue::Text(fingerprint)],
        )
}

/// What reads the texts of some keys, at most so many of a range.
pub(crate) fn read(name: &str, keys: &[Keys], most: Option<usize>) -> Vec<Sql> {
    let most = most.and_then(|most| u64::try_from(most).ok());
    let limit = most.map_or_else(Sql::default, |most| {
        Sql::new(" ORDER BY number LIMIT ?", &[SqlValue::Number(most)])
    });
    // Ranges of one kind are found by the primary key; a condition on several kinds would read the
    // namespace.
    let range = |keys: &Keys| {
        let (first, last) = keys.bounds();
        let ((kind, first), (_, last)) = (first.numbers(), last.numbers());
        let values = [kind.into(), first, last].map(SqlValue::Number);
        Sql::new("kind = ? AND number BETWEEN ? AND ?", &values)
    };
    // A limit is one of each range.
    let ranges = most.map_or(ROWS, |_| 1);
    let statements = keys.chunks(ranges).map(|keys| {
        Sql::new(
            "SELECT kind, number, value FROM randflake_record WHERE namespace = ? AND (",
            &[SqlValue::Text(name)],
        )
        .then(&Sql::joined(keys.iter().map(range), " OR "))
        .with(")", &[])
        .then(&limit)
    });
    statements.collect()
}

/// The one statement of the most frequent write. `may` is what must hold besides.
pub(crate) fn update(name: &str, update: &SingleUpdate<'_>, may: &Sql) -> Sql {
    let guard = update.guard.map(|guard| there(Key::Namespace, guard));
    let guard = guard.map_or_else(Sql::default, |guard| holds(name, &guard, 1));
    Sql::new(
        "UPDATE randflake_record SET value = ? WHERE namespace = ? AND ",
        &[SqlValue::Text(update.after), SqlValue::Text(name)],
    )
    .then(&there(update.key, update.before))
    .with(" AND ", &[])
    .then(may)
    .then(&guard)
}

/// Any write as a transaction that fails as a whole unless all is as expected, and gives the time.
pub(crate) fn transaction(name: &str, write: &Write, clock: &Sql, may: &Sql) -> Vec<Sql> {
    let entries = write.entries.iter();
    let (puts, checks): (Vec<_>, Vec<_>) = entries.partition(|entry| entry.after.is_some());
    let (new, others): (Vec<_>, Vec<_>) = puts
        .into_iter()
        .partition(|entry| entry.before == Before::Nothing);
    let texts: Vec<_> = others
        .iter()
        .filter_map(|entry| Some((entry.key, expected(entry)?)))
        .map(|(key, text)| there(key, text))
        .collect();
    // What is only compared takes shared locks, so that two who renew do not wait for each other.
    let checks = checks.iter().map(|entry| match &entry.before {
        Before::Anything => Sql::default(),
        Before::Nothing => holds(name, &place(entry.key), 0),
        Before::Text(text) => holds(name, &there(entry.key, text), 1),
    });
    let mut statements = vec![
        Sql::new("START TRANSACTION", &[]),
        // Rows are locked and counted first: what is found then stays until the commit.
        Sql::new("SET @randflake_found = 0", &[]),
    ];
    statements.extend(texts.chunks(ROWS).map(|texts| {
        Sql::new(
            "SELECT @randflake_found + COUNT(*) INTO @randflake_found FROM randflake_record WHERE namespace = ? AND (",
            &[SqlValue::Text(name)],
        )
        .then(&Sql::joined(texts.iter().cloned(), " OR "))
        .with(") FOR UPDATE", &[])
    }));
    // After the locks were waited for: the clock of the write must be in its window, not that of
    // the try.
    statements.push(Sql::new("SET @randflake_now = ", &[]).then(clock));
    // Below 2^32.
    let found = SqlValue::Number(u64::try_from(texts.len()).unwrap_or(u64::MAX));
    statements.push(
        Sql::new("SELECT CAST(IF(@randflake_found = ? AND ", &[found])
            .then(may)
            .then(&Sql::joined(checks, " "))
            .with(
                // Two rows where one is expected are an error, which ends the batch before anything
                // is written.
                ", @randflake_now, (SELECT 1 UNION SELECT 2)) AS UNSIGNED)",
                &[],
            ),
    );
    // Fails where there is one.
    statements.extend(insert(name, &new, ""));
    let replaces = " ON DUPLICATE KEY UPDATE value = VALUES(value)";
    statements.extend(insert(name, &others, replaces));
    // A batch that ended before is rolled back by the caller.
    statements.push(Sql::new("COMMIT", &[]));
    statements
}

/// A further condition: so many rows are as they should be, until the write is done. `MySQL` reads
/// the table that it updates only in a table within the statement.
fn holds(name: &str, condition: &Sql, rows: u64) -> Sql {
    Sql::new(
        " AND (SELECT found FROM (SELECT COUNT(*) AS found FROM randflake_record WHERE namespace = ? AND ",
        &[SqlValue::Text(name)],
    )
    .then(condition)
    .with(
        // `FOR SHARE` says the same, and MariaDB does not know it.
        " LOCK IN SHARE MODE) AS checked) = ?",
        &[SqlValue::Number(rows)],
    )
}

/// A key as a condition.
fn place(key: Key) -> Sql {
    let (kind, number) = key.numbers();
    let values = [kind.into(), number].map(SqlValue::Number);
    Sql::new("kind = ? AND number = ?", &values)
}

/// A key and its text as a condition.
fn there(key: Key, text: &str) -> Sql {
    place(key).with(" AND value = ?", &[SqlValue::Text(text)])
}

fn insert<'a>(
    name: &'a str,
    entries: &'a [&Entry],
    or: &'static str,
) -> impl Iterator<Item = Sql> + 'a {
    entries.chunks(ROWS).map(move |entries| {
        let rows = entries.iter().map(|entry| {
            let (kind, number) = entry.key.numbers();
            let after = entry.after.as_deref().unwrap_or_default();
            let values = [
                SqlValue::Text(name),
                SqlValue::Number(kind.into()),
                SqlValue::Number(number),
                SqlValue::Text(after),
            ];
            Sql::new("(?, ?, ?, ?, 0)", &values)
        });
        Sql::new("INSERT INTO randflake_record VALUES ", &[])
            .then(&Sql::joined(rows, ","))
            .with(or, &[])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_of_each_range() {
        let keys = [Keys::Nodes(0..=9), Keys::Hints(0..=9)];
        let limited = read("orders", &keys, Some(3));
        assert_eq!(limited.len(), keys.len());
        for statement in limited {
            let statement = statement.as_ref();
            assert!(statement.ends_with("LIMIT 3"), "{statement}");
            assert!(!statement.contains(" OR "), "{statement}");
        }
        assert_eq!(read("orders", &keys, None).len(), 1);
    }
}
