//! Writing records, if what was read is still so.

use core::time::Duration;

use tokio_postgres::Row;
use tokio_postgres::error::SqlState;

use super::failure::Failure;
use super::session::{Session, number};
use super::sql;
use crate::lease::Namespace;
use crate::ledger::{Change, Committed, NamespaceRecord, NodeChange, NodeRecord};

/// A renewal of one lease, and an acquire of a node id that was leased before.
const CHANGE: &str = "
    UPDATE randflake.lease l
    SET start_tick = $8, end_tick = $9, fencing_token = $10, serial = $11, nonce = $12, held = $13,
        contested = $14, token = $15, holder = $16
    WHERE l.namespace = $1 AND l.node_id = $2 AND l.fencing_token = $3 AND l.serial = $4 AND l.held = $5
        AND l.nonce = $6 AND {fit} AND {tables} = $7 AND {now} BETWEEN $17 AND $18
        AND EXISTS (
            SELECT FROM randflake.namespace n WHERE n.name = $1 AND n.origin = $19 AND n.writes = $20
        )
    RETURNING {now} AS unix_us, true AS is_written";

/// Everything else. If only a part can be written, the division fails and nothing is; if nothing can, a look at the
/// figures says so. Records that are still so are changed by their place, at which nothing else is once somebody
/// has changed them: joined by their node ids, a plan made for few of them would compare each with each.
const WRITE: &str = "
    WITH asked AS MATERIALIZED (
        SELECT a.*, (
            SELECT l.ctid FROM randflake.lease l
            WHERE l.namespace = $1 AND l.node_id = a.node_id AND l.fencing_token = a.old_fencing_token
                AND l.serial = a.old_serial AND l.held = a.old_held AND l.nonce = a.old_nonce
        ) AS place
        FROM unnest($11::bigint[], $12::bigint[], $13::bigint[], $14::boolean[], $15::bigint[],
            $16::bigint[], $17::bigint[], $18::bigint[], $19::bigint[], $20::bigint[], $21::boolean[],
            $22::boolean[], $23::bytea[], $24::text[], $25::boolean[])
        AS a (node_id, old_fencing_token, old_serial, old_held, old_nonce, start_tick, end_tick, fencing_token,
            serial, nonce, held, contested, token, holder, is_freed)
    ), fit AS MATERIALIZED (
        SELECT FROM (SELECT {now} AS unix_us) c
        WHERE {fit} AND {tables} = $2 AND c.unix_us BETWEEN $3 AND $4
    ), space_made AS (
        INSERT INTO randflake.namespace (name, terms, origin, writes, quarantine, fingerprint)
        SELECT $1, $7::text, $8::bigint, $9::bigint, $10::bigint, $26::text FROM fit
        WHERE $5::bigint IS NULL AND $7 IS NOT NULL
        ON CONFLICT DO NOTHING RETURNING 1
    ), space_changed AS (
        UPDATE randflake.namespace n
        SET terms = $7, origin = $8, writes = $9, quarantine = $10, fingerprint = $26
        FROM fit WHERE n.name = $1 AND n.origin = $5 AND n.writes = $6::bigint AND $7 IS NOT NULL
        RETURNING 1
    ), space AS MATERIALIZED (
        SELECT FROM space_made UNION ALL SELECT FROM space_changed
        UNION ALL SELECT FROM fit WHERE $7 IS NULL AND CASE WHEN $5 IS NULL
            THEN NOT EXISTS (SELECT FROM randflake.namespace n WHERE n.name = $1)
            ELSE EXISTS (
                SELECT FROM randflake.namespace n WHERE n.name = $1 AND n.origin = $5 AND n.writes = $6
            ) END
    ), changed AS (
        UPDATE randflake.lease l
        SET start_tick = a.start_tick, end_tick = a.end_tick, fencing_token = a.fencing_token,
            serial = a.serial, nonce = a.nonce, held = a.held, contested = a.contested, token = a.token,
            holder = a.holder
        FROM asked a CROSS JOIN space WHERE l.ctid = a.place RETURNING 1
    ), made AS (
        INSERT INTO randflake.lease (namespace, node_id, start_tick, end_tick, fencing_token, serial, nonce,
            held, contested, token, holder)
        SELECT $1, a.node_id, a.start_tick, a.end_tick, a.fencing_token, a.serial, a.nonce, a.held,
            a.contested, a.token, a.holder
        FROM asked a CROSS JOIN space WHERE a.old_serial IS NULL
        ON CONFLICT DO NOTHING RETURNING 1
    ), freed AS (
        INSERT INTO randflake.page AS m (namespace, page, changes)
        SELECT DISTINCT $1, a.node_id / 64, 1 FROM asked a WHERE a.is_freed ORDER BY 2
        ON CONFLICT (namespace, page) DO UPDATE SET free_from = 0, changes = m.changes + 1
    ), figures AS MATERIALIZED (
        SELECT (SELECT count(*) FROM space) AS spaces, (SELECT count(*) FROM asked) AS nodes,
            (SELECT count(*) FROM changed) + (SELECT count(*) FROM made) AS written
    )
    SELECT {now} AS unix_us, CASE
        WHEN spaces = 1 AND written = nodes THEN true
        WHEN written = 0 AND (spaces = 0 OR $7 IS NULL) THEN false
        ELSE 1 / (spaces - spaces) = 0 END AS is_written
    FROM figures";

pub(super) async fn commit(
    session: &Session,
    namespace: &Namespace,
    change: &Change,
) -> Result<Committed, Failure> {
    let window = match change.window {
        None => (0, i64::MAX),
        Some(_) if !is_known(session, change) => return Ok(Committed::Stale),
        Some((first, last)) => (sql_us(first), sql_us(last)),
    };
    let written = match (&change.nodes[..], &change.namespace_before) {
        ([one], Some(kept)) if change.namespace_after.is_none() && !is_freed(one) => {
            match &one.before {
                Some(before) => renew(session, namespace, kept, before, &one.after, window).await,
                None => write(session, namespace, change, window).await,
            }
        }
        _ => write(session, namespace, change, window).await,
    };
    match written {
        Ok(rows) => match rows.first() {
            Some(row) if row.try_get("is_written")? => Ok(Committed::Done {
                now: Duration::from_micros(number(row, "unix_us")?),
            }),
            _ => Ok(Committed::Stale),
        },
        Err(Failure::Sql(error)) if error.code().is_some_and(|code| UNWRITTEN.contains(code)) => {
            Ok(Committed::Stale)
        }
        Err(failure) => Err(failure),
    }
}

/// What the server says when it has written nothing because something else had changed.
const UNWRITTEN: [SqlState; 5] = [
    SqlState::DIVISION_BY_ZERO,
    SqlState::T_R_DEADLOCK_DETECTED,
    SqlState::T_R_SERIALIZATION_FAILURE,
    SqlState::UNDEFINED_TABLE,
    SqlState::INVALID_SCHEMA_NAME,
];

/// Whether the namespace's record was written for the store of this session.
fn is_known(session: &Session, change: &Change) -> bool {
    let record = change.namespace_before.as_ref();
    let known_as = record.and_then(|record| record.fingerprint.rsplit_once('/'));
    known_as.is_some_and(|(store, _)| store == session.fingerprint)
}

/// Whether a page that was full may be full no more.
fn is_freed(node: &NodeChange) -> bool {
    let before = node.before.as_ref();
    before.is_some_and(|before| node.after.end < before.end)
}

fn sql_us(time: Duration) -> i64 {
    sql(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
}

async fn renew(
    session: &Session,
    namespace: &Namespace,
    kept: &NamespaceRecord,
    before: &NodeRecord,
    after: &NodeRecord,
    window: (i64, i64),
) -> Result<Vec<Row>, Failure> {
    session
        .ask(
            CHANGE,
            &[
                &namespace.name(),
                &i64::from(before.node_id),
                &sql(before.fencing_token),
                &sql(before.serial),
                &before.held,
                &before.nonce.cast_signed(),
                &session.tables,
                &sql(after.start),
                &sql(after.end),
                &sql(after.fencing_token),
                &sql(after.serial),
                &after.nonce.cast_signed(),
                &after.held,
                &after.contested,
                &&after.token.to_bytes()[..],
                &after.holder,
                &window.0,
                &window.1,
                &kept.origin.cast_signed(),
                &sql(kept.writes),
            ],
        )
        .await
}

async fn write(
    session: &Session,
    namespace: &Namespace,
    change: &Change,
    window: (i64, i64),
) -> Result<Vec<Row>, Failure> {
    let old = change.namespace_before.as_ref();
    let new = change.namespace_after.as_ref();
    let before = |column: fn(&NodeRecord) -> i64| -> Vec<Option<i64>> {
        let records = change.nodes.iter().map(|node| node.before.as_ref());
        records.map(|record| record.map(column)).collect()
    };
    let after = |column: fn(&NodeRecord) -> i64| -> Vec<i64> {
        change
            .nodes
            .iter()
            .map(|node| column(&node.after))
            .collect()
    };
    let flag = |column: fn(&NodeChange) -> Option<bool>| -> Vec<Option<bool>> {
        change.nodes.iter().map(column).collect()
    };
    let tokens = change.nodes.iter().map(|node| node.after.token.to_bytes());
    let tokens: Vec<_> = tokens.map(|token| token.to_vec()).collect();
    let holders = change.nodes.iter().map(|node| &*node.after.holder);
    let holders: Vec<_> = holders.collect();
    session
        .ask(
            WRITE,
            &[
                &namespace.name(),
                &session.tables,
                &window.0,
                &window.1,
                &old.map(|record| record.origin.cast_signed()),
                &old.map(|record| sql(record.writes)),
                &new.map(|record| record.terms.to_text()),
                &new.map(|record| record.origin.cast_signed()),
                &new.map(|record| sql(record.writes)),
                &new.map(|record| sql(record.quarantine)),
                &after(|record| record.node_id.into()),
                &before(|record| sql(record.fencing_token)),
                &before(|record| sql(record.serial)),
                &flag(|node| node.before.as_ref().map(|before| before.held)),
                &before(|record| record.nonce.cast_signed()),
                &after(|record| sql(record.start)),
                &after(|record| sql(record.end)),
                &after(|record| sql(record.fencing_token)),
                &after(|record| sql(record.serial)),
                &after(|record| record.nonce.cast_signed()),
                &flag(|node| Some(node.after.held)),
                &flag(|node| Some(node.after.contested)),
                &tokens,
                &holders,
                &flag(|node| Some(is_freed(node))),
                &new.map(|record| &*record.fingerprint),
            ],
        )
        .await
}
