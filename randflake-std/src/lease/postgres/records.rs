//! Texts under keys: read, and written if they still are what was read.

use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;

use super::failure::emptied;
use super::session::Session;
use crate::lease::EngineError;
use crate::lease::database::{Failure, Only, expected, key, pooled, time, window};
use crate::ledger::{Before, Committed, Continuity, Key, Keys, Reading, Write};

/// What the server says of itself, and the texts. Whether an absence is certain is only asked where the namespace or
/// the counter, whose kinds are 0 and 1, is looked for and not there. It is not where processes are connected that
/// have used a store that was here before this one. What is looked up for each place of a list has an `OFFSET`, or it
/// would be joined in any order.
const READ: &str = "
    SELECT {now} AS unix_us, {same} AS is_same, {fit} AS is_fit, 'fsync=' || current_setting('fsync')
            || ' and synchronous_commit=' || current_setting('synchronous_commit') AS settings,
        f.fingerprint, r.kinds, r.numbers, r.texts,
        CASE WHEN ($2::smallint[])[1] > 1 OR r.is_known THEN false
        ELSE s.fingerprint = f.fingerprint AND NOT EXISTS (
            SELECT FROM pg_stat_activity a WHERE a.datname = current_database()
            AND a.application_name LIKE 'randflake %' AND a.application_name <> 'randflake ' || s.id
        ) END AS is_new
    FROM randflake.store s CROSS JOIN (SELECT {fingerprint} AS fingerprint) f CROSS JOIN (
        SELECT coalesce(array_agg(r.kind), '{}') AS kinds, coalesce(array_agg(r.number), '{}') AS numbers,
            coalesce(array_agg(r.value), '{}') AS texts, bool_or(r.kind <= 1) AS is_known
        FROM unnest($2::smallint[], $3::bigint[], $4::bigint[]) AS k (kind, first, last)
        CROSS JOIN LATERAL (
            SELECT * FROM randflake.record r
            WHERE r.namespace = $1 AND r.kind = k.kind AND r.number BETWEEN k.first AND k.last OFFSET 0
        ) r
    ) r";

const LIST: &str = "
    SELECT number, value FROM randflake.record
    WHERE namespace = $1 AND kind = $2 AND number >= $3 ORDER BY number LIMIT $4";

/// One record in the place of another, if the namespace's is still so: a renewal, an acquire of a node id that was
/// leased before, a counter.
const CHANGE: &str = "
    UPDATE randflake.record r SET value = $5
    WHERE r.namespace = $1 AND r.kind = $2 AND r.number = $3 AND r.value = $4
        AND {fit} AND {tables} = $6 AND {now} BETWEEN $7 AND $8 AND ($9::text IS NULL OR EXISTS (
            SELECT FROM randflake.record n WHERE n.namespace = $1 AND n.kind = 0 AND n.number = 0 AND n.value = $9
        ))
    RETURNING {now} AS unix_us, true AS is_written";

/// Everything else. If only a part can be written, the division fails and nothing is. Records are changed by their
/// place: joined by their keys, a plan made for few of them would compare each with each. Where somebody else changes
/// one meanwhile, the server looks at the new one: its text too, because servers of before the end of 2025 do not look
/// at its place.
const WRITE: &str = "
    WITH asked AS MATERIALIZED (
        SELECT a.*, r.ctid AS place, r.value AS found
        FROM unnest($2::smallint[], $3::bigint[], $4::boolean[], $5::text[], $6::text[])
            AS a (kind, number, is_blind, before, after)
        LEFT JOIN LATERAL (
            SELECT r.ctid, r.value FROM randflake.record r
            WHERE r.namespace = $1 AND r.kind = a.kind AND r.number = a.number OFFSET 0
        ) r ON true
    ), fit AS MATERIALIZED (
        SELECT WHERE {fit} AND {tables} = $7 AND {now} BETWEEN $8 AND $9 AND NOT EXISTS (
            SELECT FROM asked a WHERE NOT a.is_blind AND a.before IS DISTINCT FROM a.found
        )
    ), put AS MATERIALIZED (
        SELECT a.* FROM asked a CROSS JOIN fit WHERE a.after IS NOT NULL
    ), changed AS (
        UPDATE randflake.record r SET value = p.after FROM put p
        WHERE r.ctid = p.place AND r.value = p.before AND NOT p.is_blind RETURNING 1
    ), made AS (
        INSERT INTO randflake.record (namespace, kind, number, value)
        SELECT $1, p.kind, p.number, p.after FROM put p WHERE p.before IS NULL AND NOT p.is_blind
        ON CONFLICT DO NOTHING RETURNING 1
    ), forced AS (
        INSERT INTO randflake.record (namespace, kind, number, value)
        SELECT $1, p.kind, p.number, p.after FROM put p WHERE p.is_blind
        ON CONFLICT (namespace, kind, number) DO UPDATE SET value = excluded.value RETURNING 1
    ), figures AS MATERIALIZED (
        SELECT (SELECT count(*) FROM fit) AS fits, (SELECT count(*) FROM put) AS asked,
            (SELECT count(*) FROM changed) + (SELECT count(*) FROM made) + (SELECT count(*) FROM forced) AS written
    )
    SELECT {now} AS unix_us, CASE
        WHEN written = asked THEN fits = 1
        WHEN written = 0 THEN false
        ELSE 1 / (asked - asked) = 0 END AS is_written
    FROM figures";

/// What the server says when it has written nothing because something else had changed.
const UNWRITTEN: [SqlState; 5] = [
    SqlState::DIVISION_BY_ZERO,
    SqlState::T_R_DEADLOCK_DETECTED,
    SqlState::T_R_SERIALIZATION_FAILURE,
    SqlState::UNDEFINED_TABLE,
    SqlState::INVALID_SCHEMA_NAME,
];

impl Session {
    pub(super) async fn read(
        &mut self,
        namespace: &str,
        keys: &[Keys],
    ) -> Result<Reading, Failure> {
        let bounds = keys.iter().map(Keys::bounds);
        let (firsts, lasts): (Vec<_>, Vec<_>) = bounds.map(|(a, b)| (place(a), place(b))).unzip();
        let (kinds, firsts): (Vec<_>, Vec<_>) = firsts.into_iter().unzip();
        let lasts: Vec<_> = lasts.into_iter().map(|(_, number)| number).collect();
        let rows = self
            .ask(READ, &[&namespace, &kinds, &firsts, &lasts])
            .await?;
        let row = rows.first().ok_or_else(emptied)?;
        if !row.try_get::<_, bool>("is_same")? {
            return Err(Failure::of_the_connection(pooled()));
        }
        let fingerprint: String = row.try_get("fingerprint")?;
        if fingerprint != self.fingerprint {
            let why = "the schema randflake was replaced meanwhile";
            return Err(Failure::of_the_connection(EngineError::unavailable(why)));
        }
        let (is_fit, settings): (bool, &str) = (row.try_get("is_fit")?, row.try_get("settings")?);
        let fault = || {
            format!(
                "the PostgreSQL server runs with {settings}, and would forget leases in a crash: turn them on"
            )
        };
        let kinds = row.try_get::<_, Vec<i16>>("kinds")?.into_iter();
        let places = kinds.zip(row.try_get::<_, Vec<i64>>("numbers")?);
        let texts = places.zip(row.try_get::<_, Vec<String>>("texts")?);
        let texts = texts.map(|((kind, number), text)| Ok((key(kind, number)?, text)));
        Ok(Reading {
            now: time(row.try_get("unix_us")?),
            continuity: Continuity {
                fingerprint,
                is_absence_certain: row.try_get("is_new")?,
                known_end_unix_ms: 0,
                fault: (!is_fit).then(fault),
            },
            texts: texts.collect::<Result<_, EngineError>>()?,
        })
    }

    pub(super) async fn list(
        &mut self,
        namespace: &str,
        first: u32,
        most: usize,
    ) -> Result<Vec<(u32, String)>, Failure> {
        let (kind, first) = place(Key::Node(first));
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let values: [&(dyn ToSql + Sync); 4] = [&namespace, &kind, &first, &most];
        let rows = self.ask(LIST, &values).await?;
        let records = rows.iter().map(|row| {
            let key = key(kind, row.try_get::<_, i64>(0)?)?;
            let (_, node_id) = key.numbers();
            Ok((node_id, row.try_get(1)?))
        });
        records.collect()
    }

    pub(super) async fn write(
        &mut self,
        namespace: &str,
        write: &Write,
    ) -> Result<Committed, Failure> {
        if write.fingerprint != self.fingerprint {
            return Ok(Committed::Stale);
        }
        let tables = self.tables.clone();
        let (from, to) = window(write);
        let written = if let Some(only) = Only::of(&write.entries) {
            let (kind, number) = place(only.key);
            let values: [&(dyn ToSql + Sync); 9] = [
                &namespace,
                &kind,
                &number,
                &only.before,
                &only.after,
                &tables,
                &from,
                &to,
                &only.kept,
            ];
            self.ask(CHANGE, &values).await
        } else {
            // In one order, or two writes might wait for each other.
            let mut entries: Vec<_> = write.entries.iter().collect();
            entries.sort_unstable_by_key(|entry| entry.key);
            let places = entries.iter().map(|entry| place(entry.key));
            let (kinds, numbers): (Vec<_>, Vec<_>) = places.unzip();
            let texts = entries.iter().map(|entry| {
                let is_blind = entry.before == Before::Anything;
                ((is_blind, expected(entry)), entry.after.as_deref())
            });
            let (befores, afters): (Vec<_>, Vec<_>) = texts.unzip();
            let (blind, befores): (Vec<_>, Vec<_>) = befores.into_iter().unzip();
            let values: [&(dyn ToSql + Sync); 9] = [
                &namespace, &kinds, &numbers, &blind, &befores, &afters, &tables, &from, &to,
            ];
            self.ask(WRITE, &values).await
        };
        match written {
            Err(error) if error.code().is_some_and(|code| UNWRITTEN.contains(code)) => {
                Ok(Committed::Stale)
            }
            rows => match rows?.first() {
                Some(row) if row.try_get("is_written")? => Ok(Committed::Done {
                    now: time(row.try_get("unix_us")?),
                }),
                _ => Ok(Committed::Stale),
            },
        }
    }
}

/// A key's kind and number, as the table has them.
fn place(key: Key) -> (i16, i64) {
    let (kind, number) = key.numbers();
    (kind.into(), number.into())
}
