//! The records of a namespace, in a transaction.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Row, named_params, params};

use super::failure::{Failure, unusable};
use crate::lease::{StoreError, Token};
use crate::ledger::{Change, CounterRecord, NamespaceRecord, Node, NodeChange, NodeRecord, Wanted};

// Each statement says which index it needs: SQLite would choose a scan for some of them, and fails
// if it cannot use what it is told.

const COLUMNS: &str =
    "node_id, start_tick, end_tick, fencing_token, serial, token, nonce, held, contested, holder";

/// How many node ids are tried at random before those that were never leased are looked for one by one.
const PROBES: usize = 64;

/// The records of one namespace.
#[derive(Debug)]
pub(super) struct Records<'c> {
    pub(super) connection: &'c Connection,
    pub(super) name: &'c str,
    pub(super) max_node_id: u32,
}

impl Records<'_> {
    pub(super) fn namespace(&self) -> Result<Option<NamespaceRecord>, Failure> {
        let sql = "SELECT record FROM namespace WHERE name = ?1";
        let text: Option<String> = self
            .connection
            .query_row(sql, [self.name], |row| row.get(0))
            .optional()?;
        let read = |text: String| {
            NamespaceRecord::from_text(&text).map_err(|why| {
                let path = Path::new(self.connection.path().unwrap_or_default());
                unusable(
                    path,
                    &format!("the record of namespace {:?}: {why}", self.name),
                )
            })
        };
        Ok(text.map(read).transpose()?)
    }

    /// Whether any node id was ever leased.
    pub(super) fn any(&self) -> Result<bool, Failure> {
        let sql = "SELECT EXISTS (SELECT 1 FROM lease WHERE namespace = ?1)";
        Ok(self
            .connection
            .query_row(sql, [self.name], |row| row.get(0))?)
    }

    pub(super) fn list(&self) -> Result<Vec<NodeRecord>, Failure> {
        let sql = format!("SELECT {COLUMNS} FROM lease WHERE namespace = ?1 ORDER BY node_id");
        let mut statement = self.connection.prepare(&sql)?;
        let records = statement.query_map([self.name], node_record)?;
        Ok(records.collect::<Result<_, _>>()?)
    }

    /// What is wanted at a tick; and if fewer are free, the tick from which on as many are.
    pub(super) fn nodes(
        &self,
        wanted: &Wanted<'_>,
        tick: u64,
    ) -> Result<(Vec<Node>, Option<u64>), Failure> {
        let mut nodes = Vec::new();
        for &node_id in wanted.nodes {
            nodes.push(self.node(node_id)?);
        }
        let ended = self.ended(tick, wanted.free)?;
        let never = self.never_leased(wanted.free - ended.len())?;
        let missing = wanted.free - ended.len() - never.len();
        nodes.extend(ended.into_iter().map(|record| Node {
            node_id: record.node_id,
            record: Some(record),
        }));
        nodes.extend(never.into_iter().map(|node_id| Node {
            node_id,
            record: None,
        }));
        let free_from = match missing.checked_sub(1) {
            Some(place) => self.nth_end(tick, place)?,
            None => None,
        };
        Ok((nodes, free_from))
    }

    fn node(&self, node_id: u32) -> Result<Node, Failure> {
        let sql = format!("SELECT {COLUMNS} FROM lease WHERE namespace = ?1 AND node_id = ?2");
        let mut statement = self.connection.prepare(&sql)?;
        let record = statement
            .query_row(params![self.name, node_id], node_record)
            .optional()?;
        Ok(Node { node_id, record })
    }

    /// Those that ended first.
    fn ended(&self, tick: u64, count: usize) -> Result<Vec<NodeRecord>, Failure> {
        let sql = format!(
            "SELECT {COLUMNS} FROM lease INDEXED BY lease_by_end
             WHERE namespace = ?1 AND end_tick <= ?2 ORDER BY end_tick LIMIT ?3"
        );
        let mut statement = self.connection.prepare(&sql)?;
        let records = statement.query_map(
            params![self.name, sql_number(tick), sql_number(count as u64)],
            node_record,
        )?;
        Ok(records.collect::<Result<_, _>>()?)
    }

    /// When the n-th of the others ends, n from 0.
    fn nth_end(&self, tick: u64, place: usize) -> Result<Option<u64>, Failure> {
        let sql = "SELECT end_tick FROM lease INDEXED BY lease_by_end
                   WHERE namespace = ?1 AND end_tick > ?2 ORDER BY end_tick LIMIT 1 OFFSET ?3";
        let end = self.connection.query_row(
            sql,
            params![self.name, sql_number(tick), sql_number(place as u64)],
            |row| number(row, 0),
        );
        Ok(end.optional()?)
    }

    /// Node ids behind the last one that was ever leased; where there are none, any that were passed over
    /// because others were chosen.
    fn never_leased(&self, count: usize) -> Result<Vec<u32>, Failure> {
        if count == 0 {
            return Ok(Vec::new());
        }
        let sql = "SELECT max(node_id) FROM lease WHERE namespace = ?1";
        let last: Option<u32> = self
            .connection
            .query_row(sql, [self.name], |row| row.get(0))?;
        let next = last.map_or(Some(0), |last| last.checked_add(1));
        let behind = next.into_iter().flat_map(|next| next..=self.max_node_id);
        let mut found: Vec<u32> = behind.take(count).collect();
        for _ in 0..PROBES {
            if found.len() == count {
                return Ok(found);
            }
            let random = getrandom::u32().map_err(StoreError::unavailable)?;
            let node_id = random
                .checked_rem(self.max_node_id.saturating_add(1))
                .unwrap_or(random);
            if !found.contains(&node_id) && self.node(node_id)?.record.is_none() {
                found.push(node_id);
            }
        }
        let sql = "
            SELECT previous.node_id + 1 FROM lease AS previous
            WHERE previous.namespace = ?1 AND previous.node_id < ?2 AND NOT EXISTS (
                SELECT 1 FROM lease WHERE namespace = ?1 AND node_id = previous.node_id + 1
            )";
        let mut statement = self.connection.prepare(sql)?;
        let gaps = statement.query_map(params![self.name, self.max_node_id], |row| row.get(0))?;
        let mut gaps = gaps.collect::<Result<Vec<u32>, _>>()?;
        if self.node(0)?.record.is_none() {
            gaps.push(0);
        }
        gaps.retain(|gap| !found.contains(gap));
        // Of a gap of several only the first was found; the others are, when it is taken.
        found.extend(gaps.into_iter().take(count - found.len()));
        Ok(found)
    }

    /// Whether all is as the change was decided from.
    pub(super) fn allow(&self, change: &Change) -> Result<bool, Failure> {
        let version = |record: &NamespaceRecord| (record.origin, record.writes);
        let namespace = self.namespace()?.as_ref().map(version);
        if namespace != change.namespace_before.as_ref().map(version) {
            return Ok(false);
        }
        for NodeChange { before, after } in &change.nodes {
            if self.node(after.node_id)?.record != *before {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn apply(&self, change: &Change) -> Result<(), Failure> {
        if let Some(record) = &change.namespace_after {
            let sql = "INSERT INTO namespace VALUES (?1, ?2) ON CONFLICT DO UPDATE SET record = ?2";
            self.connection
                .execute(sql, params![self.name, record.to_text()])?;
        }
        let sql = format!(
            "REPLACE INTO lease (namespace, {COLUMNS}) VALUES (:namespace, :node_id, :start, :end, :fencing_token,
                :serial, :token, :nonce, :held, :contested, :holder)"
        );
        let mut statement = self.connection.prepare(&sql)?;
        for NodeChange { after, .. } in &change.nodes {
            statement.execute(named_params! {
                ":namespace": self.name,
                ":node_id": after.node_id,
                ":start": sql_number(after.start),
                ":end": sql_number(after.end),
                ":fencing_token": sql_number(after.fencing_token),
                ":serial": sql_number(after.serial),
                ":token": after.token.to_bytes(),
                ":nonce": after.nonce.cast_signed(),
                ":held": after.held,
                ":contested": after.contested,
                ":holder": after.holder,
            })?;
        }
        Ok(())
    }

    pub(super) fn counter(&self) -> Result<Option<CounterRecord>, Failure> {
        let sql = "SELECT next, vouched FROM counter WHERE name = ?1";
        let record = self.connection.query_row(sql, [self.name], |row| {
            Ok(CounterRecord {
                next: number(row, 0)?,
                vouched: row.get(1)?,
            })
        });
        Ok(record.optional()?)
    }

    pub(super) fn put_counter(&self, record: &CounterRecord) -> Result<(), Failure> {
        let sql = "REPLACE INTO counter VALUES (?1, ?2, ?3)";
        self.connection.execute(
            sql,
            params![self.name, sql_number(record.next), record.vouched],
        )?;
        Ok(())
    }
}

fn node_record(row: &Row<'_>) -> rusqlite::Result<NodeRecord> {
    Ok(NodeRecord {
        node_id: row.get(0)?,
        start: number(row, 1)?,
        end: number(row, 2)?,
        fencing_token: number(row, 3)?,
        serial: number(row, 4)?,
        token: Token::from_bytes(row.get(5)?),
        nonce: row.get::<_, i64>(6)?.cast_unsigned(),
        held: row.get(7)?,
        contested: row.get(8)?,
        holder: row.get(9)?,
    })
}

/// A number that is never negative, unless somebody has edited the tables.
pub(super) fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
}

/// A number as SQLite keeps it. Nothing that is kept exceeds that; what is compared may.
pub(super) fn sql_number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
