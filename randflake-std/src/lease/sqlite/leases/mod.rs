//! The leases of one namespace, in a transaction.

#[cfg(test)]
mod tests;

use core::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row, named_params, params};

use super::diagnosis;
use super::failure::Failure;
use crate::lease::moment::Moment;
use crate::lease::{AcquireRequest, Finding, Grant, Namespace, Record, StoreError, Token};

// Each statement says which index it needs: SQLite would choose a scan for some of them, and fails
// if it cannot use what it is told.

/// The leases that ended first.
const FREE: &str = "
    SELECT node_id, fencing_token FROM lease INDEXED BY lease_by_end
    WHERE namespace = ?1 AND end_tick <= ?2
    ORDER BY end_tick LIMIT ?3";

/// When the n-th lease ends, n from 0.
const NTH_END: &str = "
    SELECT end_tick FROM lease INDEXED BY lease_by_end
    WHERE namespace = ?1
    ORDER BY end_tick LIMIT 1 OFFSET ?2";

const TAKE: &str = "
    INSERT INTO lease
        (namespace, node_id, start_tick, end_tick, fencing_token, token, held, holder)
    VALUES (:namespace, :node_id, :start, :end, :fencing_token, :token, 1, :holder)
    ON CONFLICT DO UPDATE SET
        start_tick = :start, end_tick = :end, fencing_token = :fencing_token,
        token = :token, held = 1, holder = :holder";

const RENEW: &str = "
    UPDATE lease SET end_tick = max(end_tick, :end)
    WHERE namespace = :namespace AND node_id = :node_id
        AND fencing_token = :fencing_token AND token = :token AND held = 1 AND end_tick > :now
    RETURNING end_tick";

const RELEASE: &str = "
    UPDATE lease SET end_tick = max(start_tick, min(end_tick, :end)), held = 0
    WHERE namespace = :namespace AND node_id = :node_id
        AND fencing_token = :fencing_token AND token = :token AND held = 1";

const BY_TOKEN: &str = "
    SELECT node_id, start_tick, end_tick, fencing_token, token, holder
    FROM lease INDEXED BY lease_by_token
    WHERE namespace = ?1 AND token = ?2 AND held = 1
    ORDER BY node_id";

const LET_GO: &str = "
    UPDATE lease INDEXED BY lease_by_token SET held = 0
    WHERE namespace = ?1 AND token = ?2";

const LIST: &str = "
    SELECT node_id, start_tick, end_tick, fencing_token, token, holder FROM lease
    WHERE namespace = ?1
    ORDER BY node_id";

/// Creates the namespace unless it is there with the same layout; says whether it did.
pub(super) fn ensure_namespace(
    connection: &Connection,
    namespace: &Namespace,
) -> Result<bool, Failure> {
    let stored = connection
        .query_row(
            "SELECT node_ids, epoch_unix_ms, tick_ms FROM namespace WHERE name = ?1",
            [namespace.name()],
            |row| Ok((from_sql(row, 0)?, from_sql(row, 1)?, from_sql(row, 2)?)),
        )
        .optional()?;
    if let Some((node_ids, epoch_unix_ms, tick_ms)) = stored {
        namespace.check_layout(node_ids, epoch_unix_ms, tick_ms)?;
        return Ok(false);
    }
    let spec = namespace.spec();
    let max_ttl_ms = u64::try_from(namespace.max_ttl().as_millis()).unwrap_or(u64::MAX);
    connection.execute(
        "INSERT INTO namespace
            (name, node_ids, epoch_unix_ms, tick_ms, max_ttl_ms, fence_tick, unused)
        VALUES (?1, ?2, ?3, ?4, ?5, 0, 0)",
        params![
            namespace.name(),
            sql(namespace.node_ids()),
            sql(spec.epoch_unix_ms()),
            sql(spec.tick_ms()),
            sql(max_ttl_ms)
        ],
    )?;
    Ok(true)
}

/// A namespace at one moment.
pub(super) struct Leases<'c> {
    connection: &'c Connection,
    namespace: &'c Namespace,
    row: i64,
    max_ttl: Duration,
    unused: u64,
    fence_tick: u64,
    fence_until_ms: u64,
    pub(super) now: Moment,
    /// Whether anything was changed.
    pub(super) changed: bool,
    /// The latest end of the leases granted or renewed.
    pub(super) until: u64,
}

impl<'c> Leases<'c> {
    pub(super) fn load(
        connection: &'c Connection,
        namespace: &'c Namespace,
        now: Moment,
    ) -> Result<Self, Failure> {
        let leases = connection.query_row(
            "SELECT namespace.id, max_ttl_ms, unused, fence_tick, fence_until_ms
            FROM namespace, store WHERE name = ?1",
            [namespace.name()],
            |row| {
                Ok(Self {
                    connection,
                    namespace,
                    row: row.get(0)?,
                    max_ttl: Duration::from_millis(from_sql(row, 1)?),
                    unused: from_sql(row, 2)?,
                    fence_tick: from_sql(row, 3)?,
                    fence_until_ms: from_sql(row, 4)?,
                    now,
                    changed: false,
                    until: 0,
                })
            },
        )?;
        Ok(leases)
    }

    pub(super) fn acquire(&mut self, request: &AcquireRequest<'_>) -> Result<Vec<Grant>, Failure> {
        StoreError::check(request, self.namespace, self.max_ttl)?;
        self.now.check_fence(self.fence())?;
        if let Some(grants) = self.repeated(request)? {
            return Ok(grants);
        }
        let end = self.now.end_after(request.ttl)?;
        let nodes = self.free(u64::from(request.count))?;
        let mut take = self.connection.prepare(TAKE)?;
        let mut grants = Vec::with_capacity(nodes.len());
        for (node_id, former_fencing_token) in nodes {
            let grant = Grant {
                node_id,
                start: self.now.tick,
                end,
                fencing_token: self.now.fencing_token(former_fencing_token),
                token: request.token,
            };
            take.execute(named_params! {
                ":namespace": self.row,
                ":node_id": grant.node_id,
                ":start": sql(grant.start),
                ":end": sql(grant.end),
                ":fencing_token": sql(grant.fencing_token),
                ":token": grant.token.to_bytes(),
                ":holder": request.holder,
            })?;
            grants.push(grant);
        }
        self.connection.execute(
            "UPDATE namespace SET unused = ?2 WHERE id = ?1",
            params![self.row, sql(self.unused)],
        )?;
        self.note(end);
        Ok(grants)
    }

    /// The grants of an earlier acquire with the same token, if all of them are live. If not, what is
    /// left of them is let go.
    fn repeated(&mut self, request: &AcquireRequest<'_>) -> Result<Option<Vec<Grant>>, Failure> {
        let token = request.token.to_bytes();
        let records = self
            .connection
            .prepare(BY_TOKEN)?
            .query_map(params![self.row, token], record)?
            .collect::<Result<Vec<_>, _>>()?;
        if records.is_empty() {
            return Ok(None);
        }
        if records.iter().any(|record| record.holder != request.holder) {
            return Err(StoreError::Foreign.into());
        }
        let live = records.iter().map(|record| record.grant);
        let live: Vec<_> = live.filter(|grant| self.now.tick < grant.end).collect();
        if live.len() == request.count as usize {
            return Ok(Some(live));
        }
        self.connection.execute(LET_GO, params![self.row, token])?;
        self.changed = true;
        Ok(None)
    }

    /// Node ids and their last fencing tokens: the leases that ended first, then what was never leased.
    fn free(&mut self, count: u64) -> Result<Vec<(u32, u64)>, Failure> {
        let mut nodes = self
            .connection
            .prepare(FREE)?
            .query_map(params![self.row, sql(self.now.tick), sql(count)], |row| {
                Ok((row.get(0)?, from_sql(row, 1)?))
            })?
            .collect::<Result<Vec<_>, _>>()?;
        let wanted = count.saturating_sub(nodes.len() as u64);
        let unused_end = self.unused.saturating_add(wanted);
        if unused_end > self.namespace.node_ids() {
            let still_unused = self.namespace.node_ids().saturating_sub(self.unused);
            return Err(self.exhausted(count - still_unused)?.into());
        }
        for node_id in self.unused..unused_end {
            // It is below the layout's number of node ids, which are 32 bits wide.
            nodes.push((u32::try_from(node_id).unwrap_or(u32::MAX), 0));
        }
        self.unused = unused_end;
        nodes.sort_unstable();
        Ok(nodes)
    }

    /// Too few are free until this many leases have ended.
    fn exhausted(&self, ended: u64) -> Result<StoreError, Failure> {
        let nth = sql(ended.saturating_sub(1));
        let end = self
            .connection
            .query_row(NTH_END, params![self.row, nth], |row| from_sql(row, 0))
            .optional()?;
        Ok(StoreError::Exhausted {
            retry_in: self.now.until(end.unwrap_or(self.now.tick)),
        })
    }

    pub(super) fn renew(
        &mut self,
        grants: &[Grant],
        ttl: u64,
    ) -> Result<Vec<Option<u64>>, Failure> {
        StoreError::check_ttl(ttl, self.namespace, self.max_ttl)?;
        let mut renew = self.connection.prepare(RENEW)?;
        let mut ends = Vec::with_capacity(grants.len());
        for grant in grants {
            let parameters = named_params! {
                ":namespace": self.row,
                ":node_id": grant.node_id,
                ":fencing_token": sql(grant.fencing_token),
                ":token": grant.token.to_bytes(),
                ":end": sql(self.now.extended(ttl)),
                ":now": sql(self.now.tick),
            };
            let end = renew
                .query_row(parameters, |row| from_sql(row, 0))
                .optional()?;
            if let Some(end) = end {
                self.note(end);
            }
            ends.push(end);
        }
        Ok(ends)
    }

    pub(super) fn release(&mut self, grants: &[Grant]) -> Result<(), Failure> {
        let mut release = self.connection.prepare(RELEASE)?;
        for grant in grants {
            let released = release.execute(named_params! {
                ":namespace": self.row,
                ":node_id": grant.node_id,
                ":fencing_token": sql(grant.fencing_token),
                ":token": grant.token.to_bytes(),
                ":end": sql(grant.end),
            })?;
            self.changed |= released > 0;
        }
        Ok(())
    }

    pub(super) fn list(&self) -> Result<Vec<Record>, Failure> {
        let mut list = self.connection.prepare(LIST)?;
        let records = list.query_map([self.row], record)?;
        Ok(records.collect::<Result<_, _>>()?)
    }

    pub(super) fn diagnose(&self) -> Result<Vec<Finding>, Failure> {
        diagnosis::findings(self.connection, self.now.fence_left(self.fence()))
    }

    /// Raises this namespace's fence.
    pub(super) fn raise_fence(&mut self) -> Result<(), Failure> {
        let fence_tick = self.now.fence(self.namespace, self.max_ttl);
        self.fence_tick = self.fence_tick.max(fence_tick);
        self.connection.execute(
            "UPDATE namespace SET fence_tick = ?2 WHERE id = ?1",
            params![self.row, sql(self.fence_tick)],
        )?;
        self.changed = true;
        Ok(())
    }

    /// The first tick at which something may be granted: by the administrator's fence, and by that of
    /// a database that may have forgotten leases.
    pub(super) fn fence(&self) -> u64 {
        let spec = self.namespace.spec();
        let since_epoch_ms = self.fence_until_ms.saturating_sub(spec.epoch_unix_ms());
        self.fence_tick.max(since_epoch_ms.div_ceil(spec.tick_ms()))
    }

    fn note(&mut self, end: u64) {
        self.changed = true;
        self.until = self.until.max(end);
    }
}

fn record(row: &Row<'_>) -> rusqlite::Result<Record> {
    Ok(Record {
        grant: Grant {
            node_id: row.get(0)?,
            start: from_sql(row, 1)?,
            end: from_sql(row, 2)?,
            fencing_token: from_sql(row, 3)?,
            token: Token::from_bytes(row.get(4)?),
        },
        holder: row.get(5)?,
    })
}

/// SQLite's integers are signed. Nothing that is kept exceeds them; what is compared may.
pub(super) fn sql(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// An error if it is negative: then the file is damaged.
pub(super) fn from_sql(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
}
