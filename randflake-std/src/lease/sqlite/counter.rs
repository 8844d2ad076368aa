//! The counter of one namespace, in a transaction.

use rusqlite::{Connection, OptionalExtension, params};

use super::failure::Failure;
use super::leases::{from_sql, sql};
use crate::lease::{Namespace, StoreError};
use crate::segment::Counter;

/// Reads the counter, operates on it, and writes it if that has changed it; says whether it has.
pub(super) fn operate<T>(
    connection: &Connection,
    namespace: &Namespace,
    operation: impl FnOnce(&mut Counter, u64) -> Result<T, StoreError>,
) -> Result<(T, bool), Failure> {
    let breaks = connection.query_row("SELECT breaks FROM store", [], |row| from_sql(row, 0))?;
    let stored = connection
        .query_row(
            "SELECT next, vouched FROM counter JOIN namespace ON counter.namespace = namespace.id
            WHERE name = ?1",
            [namespace.name()],
            |row| {
                Ok(Counter {
                    next: from_sql(row, 0)?,
                    vouched: from_sql(row, 1)?,
                })
            },
        )
        .optional()?;
    let before = stored.unwrap_or(Counter::NEW);
    let mut counter = before;
    let answer = operation(&mut counter, breaks)?;
    let is_changed = (counter.next, counter.vouched) != (before.next, before.vouched);
    if is_changed {
        connection.execute(
            "INSERT INTO counter
            SELECT id, ?2, ?3 FROM namespace WHERE name = ?1
            ON CONFLICT DO UPDATE SET next = ?2, vouched = ?3",
            params![namespace.name(), sql(counter.next), sql(counter.vouched)],
        )?;
    }
    Ok((answer, is_changed))
}
