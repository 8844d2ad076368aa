//! The texts of one namespace, in a transaction.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

use crate::ledger::{Entry, Key, Keys};

/// The texts of one namespace.
#[derive(Debug)]
pub(super) struct Records<'c> {
    pub(super) connection: &'c Connection,
    pub(super) namespace: &'c str,
}

impl Records<'_> {
    /// Those that are there.
    pub(super) fn read(&self, keys: &[Keys]) -> rusqlite::Result<BTreeMap<Key, String>> {
        let sql = "SELECT number, value FROM record
                   WHERE namespace = ?1 AND kind = ?2 AND number BETWEEN ?3 AND ?4";
        let mut statement = self.connection.prepare(sql)?;
        let mut texts = BTreeMap::new();
        for (first, last) in keys.iter().map(Keys::bounds) {
            let ((kind, first_number), (_, last_number)) = (first.numbers(), last.numbers());
            let within = params![self.namespace, kind, first_number, last_number];
            let mut rows = statement.query(within)?;
            while let Some(row) = rows.next()? {
                let key = Key::of_numbers(kind, row.get(0)?);
                texts.extend(key.zip(row.get(1)?));
            }
        }
        Ok(texts)
    }

    /// Those of node ids from one on.
    pub(super) fn list(&self, first: u32, most: usize) -> rusqlite::Result<Vec<(u32, String)>> {
        let sql = "SELECT number, value FROM record
                   WHERE namespace = ?1 AND kind = ?2 AND number >= ?3 ORDER BY number LIMIT ?4";
        let mut statement = self.connection.prepare(sql)?;
        let (kind, first) = Key::Node(first).numbers();
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let from = params![self.namespace, kind, first, most];
        let rows = statement.query_map(from, |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect()
    }

    /// Whether all is there that must be.
    pub(super) fn allow(&self, entries: &[Entry]) -> rusqlite::Result<bool> {
        let keys: Vec<_> = entries.iter().map(|entry| Keys::One(entry.key)).collect();
        let there = self.read(&keys)?;
        let is_so = |entry: &Entry| {
            let text = there.get(&entry.key).map(String::as_str);
            entry.before.allows(text)
        };
        Ok(entries.iter().all(is_so))
    }

    pub(super) fn put(&self, entries: &[Entry]) -> rusqlite::Result<()> {
        let sql = "REPLACE INTO record VALUES (?1, ?2, ?3, ?4)";
        let mut statement = self.connection.prepare(sql)?;
        for entry in entries.iter().filter(|entry| entry.after.is_some()) {
            let (kind, number) = entry.key.numbers();
            statement.execute(params![self.namespace, kind, number, entry.after])?;
        }
        Ok(())
    }
}
