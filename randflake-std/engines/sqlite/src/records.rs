//! The texts of one namespace, in a transaction.

use std::collections::BTreeMap;

use rusqlite::params;

use super::session::SqliteSession;
use randflake_lease::unstable::engine::NAMES_LISTED;
use randflake_lease::unstable::engine::{Entry, Key, Keys, Removal};

impl SqliteSession {
    /// Reads the texts that are there under some keys, at most `limit` of each range.
    pub(crate) fn read(
        &self,
        namespace: &str,
        keys: &[Keys],
        limit: Option<usize>,
    ) -> rusqlite::Result<BTreeMap<Key, String>> {
        let sql = "SELECT number, value FROM record
                   WHERE namespace = ?1 AND kind = ?2 AND number BETWEEN ?3 AND ?4
                   ORDER BY number LIMIT ?5";
        // A negative limit is none.
        let most = limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(i64::MAX));
        let mut statement = self.connection.prepare(sql)?;
        let mut texts = BTreeMap::new();
        for (first, last) in keys.iter().map(Keys::bounds) {
            let ((kind, first_number), (_, mut last_number)) = (numbers(first), numbers(last));
            // Behind the last node id nothing may be: it shows that somebody else has written here.
            if last == Key::Node(u32::MAX) {
                last_number = i64::MAX;
            }
            let name = first.scope(namespace);
            let range = params![name, kind, first_number, last_number, most];
            let mut rows = statement.query(range)?;
            while let Some(row) = rows.next()? {
                let number: i64 = row.get(0)?;
                let key = Key::of_numbers(kind, number.cast_unsigned())
                    .ok_or(rusqlite::Error::IntegralValueOutOfRange(0, number))?;
                texts.insert(key, row.get(1)?);
            }
        }
        Ok(texts)
    }

    /// The texts of namespaces, or of one, by name.
    pub(crate) fn namespaces(
        &self,
        only: Option<&str>,
    ) -> rusqlite::Result<BTreeMap<String, String>> {
        let sql = "SELECT namespace, value FROM record
                   WHERE kind = ?1 AND number = ?2 AND (?3 IS NULL OR namespace = ?3)
                   ORDER BY namespace LIMIT ?4";
        let mut statement = self.connection.prepare(sql)?;
        let (kind, number) = numbers(Key::Namespace);
        let most = i64::try_from(NAMES_LISTED).unwrap_or(i64::MAX);
        let names = statement.query_map(params![kind, number, only, most], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
        names.collect()
    }

    /// Removes what is there of a removal, if its guard holds.
    pub(crate) fn remove(&self, name: &str, removal: &Removal<'_>) -> rusqlite::Result<()> {
        let sql = "DELETE FROM record WHERE namespace = ?1
                       AND kind BETWEEN ?2 AND ?3 AND number BETWEEN ?4 AND ?5
                       AND (?6 IS NULL OR EXISTS (
                           SELECT * FROM record WHERE namespace = ?1 AND kind = ?7 AND value = ?6
                       ))";
        let ([low_kind, high_kind], numbers) = removal.kinds_and_numbers();
        // Below 2^63.
        let [from, to] = numbers.map(u64::cast_signed);
        let (namespace, _) = Key::Namespace.numbers();
        let guard = removal.guard();
        let values = params![name, low_kind, high_kind, from, to, guard, namespace];
        self.connection.execute(sql, values).map(drop)
    }

    /// Writes if all is there that must be; says whether it is.
    pub(crate) fn put(&self, namespace: &str, entries: &[Entry]) -> rusqlite::Result<bool> {
        let keys: Vec<_> = entries.iter().map(|entry| Keys::One(entry.key)).collect();
        // Again, with history and hints, which were not read before: in this transaction nobody
        // else can change them.
        let texts = self.read(namespace, &keys, None)?;
        if !entries.iter().all(|entry: &Entry| {
            let there = texts.get(&entry.key).map(String::as_str);
            entry.before.allows(there)
        }) {
            return Ok(false);
        }
        let sql = "REPLACE INTO record VALUES (?1, ?2, ?3, ?4)";
        let mut statement = self.connection.prepare(sql)?;
        for entry in entries.iter().filter(|entry| entry.after.is_some()) {
            let (kind, number) = numbers(entry.key);
            let name = entry.key.scope(namespace);
            statement.execute(params![name, kind, number, entry.after])?;
        }
        Ok(true)
    }
}

/// A key's kind and number, as the table has them.
fn numbers(key: Key) -> (u8, i64) {
    let (kind, number) = key.numbers();
    // Below 2^63.
    (kind, number.cast_signed())
}
