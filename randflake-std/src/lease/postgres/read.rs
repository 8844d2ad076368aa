//! Reading records, and finding node ids that are free.

use core::time::Duration;
use std::collections::BTreeMap;

use tokio_postgres::Row;

use super::failure::Failure;
use super::session::{Session, damaged, number};
use super::sql;
use crate::lease::{Namespace, StoreError, Token};
use crate::ledger::{Continuity, NamespaceRecord, Node, NodeRecord, Terms, View, Wanted};

/// Node ids of a page.
pub(super) const PAGE: u64 = 64;
/// Pages that are looked at before their notes are brought up to date.
const MOST: u64 = 64;
/// So many are looked at in vain without a note.
const FEW: i64 = 4;

/// One row or more, each with what is known of store and namespace; beside that a record that was asked for, or a
/// node id that is free. Pages are tried from anywhere on, and none that is noted as full.
const LOOK: &str = "
    SELECT h.*, v.*
    FROM (
        SELECT c.unix_us, (c.unix_us / 1000 - $3) / $4 AS tick, {head}, pg_relation_filenode('randflake.lease')::bigint AS leases,
            n.terms, n.origin, n.writes, n.quarantine, n.fingerprint AS known_as,
            CASE WHEN n.name IS NULL THEN s.fingerprint = {fingerprint} AND {is_first}
                AND NOT EXISTS (SELECT FROM randflake.lease l WHERE l.namespace = $1)
            ELSE false END AS is_new
        FROM (SELECT {now} AS unix_us) c
        CROSS JOIN randflake.store s LEFT JOIN randflake.namespace n ON n.name = $1
    ) h LEFT JOIN LATERAL (
        SELECT 0::bigint AS place, l.*
        FROM randflake.lease l WHERE l.namespace = $1 AND l.node_id = ANY ($2)
        UNION ALL (
            SELECT p.place, i.node_id, l.start_tick, l.end_tick, l.fencing_token, l.serial, l.nonce, l.held,
                l.contested, l.namespace, l.token, l.holder
            FROM (
                SELECT g.page, row_number() OVER () AS place
                FROM (SELECT ($5::bigint + generate_series(0, $6::bigint - 1)) % $6 AS page) g
                WHERE coalesce((SELECT m.free_from FROM randflake.page m
                    WHERE m.namespace = $1 AND m.page = g.page), 0) <= h.tick
                LIMIT $7
            ) p
            CROSS JOIN LATERAL (
                SELECT p.page * 64 + ($8::bigint + j & 63) AS node_id FROM generate_series(0::bigint, 63) j
            ) i
            LEFT JOIN randflake.lease l ON l.namespace = $1 AND l.node_id = i.node_id
            WHERE least(64, $9::bigint + 1 - p.page * 64) > (
                    SELECT count(*) FROM randflake.lease l
                    WHERE l.namespace = $1 AND l.node_id >= p.page * 64 AND l.node_id < (p.page + 1) * 64
                        AND l.end_tick > h.tick
                )
                AND i.node_id <= $9 AND i.node_id <> ALL ($2)
                AND (l.end_tick IS NULL OR l.end_tick <= h.tick)
            LIMIT $10
        )
    ) v ON true";

/// Notes which of the pages that a look tries are full; says how many it tries, and from when on as many more are
/// free as are missing: in a large namespace, not before. All come in one order. It need not be durable.
const NOTE: &str = "
    WITH tried AS MATERIALIZED (
        SELECT g.page, coalesce(m.changes, 0) AS changes
        FROM (SELECT ($2::bigint + generate_series(0, $3::bigint - 1)) % $3 AS page) g
        LEFT JOIN randflake.page m ON m.namespace = $1 AND m.page = g.page
        WHERE coalesce(m.free_from, 0) <= $4
        LIMIT $5
    ), noted AS (
        INSERT INTO randflake.page AS m (namespace, page, free_from, changes)
        SELECT $1, t.page, l.soonest, t.changes
        FROM tried t CROSS JOIN LATERAL (
            SELECT count(*) AS live, min(l.end_tick) AS soonest FROM randflake.lease l
            WHERE l.namespace = $1 AND l.node_id >= t.page * 64 AND l.node_id < (t.page + 1) * 64
                AND l.end_tick > $4
        ) l
        WHERE l.live >= least(64, $6::bigint + 1 - t.page * 64)
        ORDER BY t.page
        ON CONFLICT (namespace, page) DO UPDATE SET free_from = excluded.free_from
            WHERE m.changes = excluded.changes
        RETURNING free_from
    )
    SELECT count(*) AS tried, set_config('synchronous_commit', 'off', true), CASE
        WHEN $7::bigint = 0 THEN NULL
        WHEN $6 < 4096 THEN (
            SELECT end_tick FROM randflake.lease WHERE namespace = $1 AND end_tick > $4
            ORDER BY end_tick OFFSET $7 - 1 LIMIT 1
        ) ELSE least((SELECT min(free_from) FROM noted), (
            SELECT min(free_from) FROM randflake.page WHERE namespace = $1 AND free_from > $4
        )) END AS free_from
    FROM tried";

const LIST: &str = "SELECT * FROM randflake.lease WHERE namespace = $1 ORDER BY node_id";

/// Where a search begins: holders that search at different places do not meet.
struct Search<'a> {
    namespace: &'a Namespace,
    pages: u64,
    first_page: u64,
    first_in_page: u64,
}

pub(super) async fn view(
    session: &Session,
    namespace: &Namespace,
    wanted: &Wanted<'_>,
) -> Result<View, Failure> {
    let random = getrandom::u64().map_err(StoreError::unavailable)?;
    let pages = namespace.node_ids().div_ceil(PAGE);
    let search = Search {
        namespace,
        pages,
        first_page: (random / PAGE) % pages,
        first_in_page: random % PAGE,
    };
    let mut most = MOST + wanted.free as u64 / 8;
    loop {
        let rows = look(session, &search, wanted, most).await?;
        let row = rows.first().ok_or_else(|| damaged("store is empty"))?;
        let mut view = head(session, row)?;
        let last_place = nodes(&mut view, wanted, &rows)?;
        let found = view.nodes.len() - asked(wanted).count();
        let missing = wanted.free.saturating_sub(found);
        let is_enough = missing == 0;
        if is_enough && last_place <= FEW {
            return Ok(view);
        }
        let tried = if is_enough {
            last_place.cast_unsigned()
        } else {
            most
        };
        let noted = note(session, &search, row.try_get("tick")?, tried, missing).await?;
        if is_enough || number(&noted, "tried")? < most {
            let free_from: Option<i64> = noted.try_get("free_from")?;
            view.free_from = free_from.map(i64::cast_unsigned);
            return Ok(view);
        }
        most *= 8;
    }
}

async fn look(
    session: &Session,
    search: &Search<'_>,
    wanted: &Wanted<'_>,
    most: u64,
) -> Result<Vec<Row>, Failure> {
    let spec = search.namespace.spec();
    let asked: Vec<_> = wanted.nodes.iter().map(|&node| i64::from(node)).collect();
    session
        .ask(
            LOOK,
            &[
                &search.namespace.name(),
                &asked,
                &sql(spec.epoch_unix_ms()),
                &sql(spec.tick_ms()),
                &sql(search.first_page),
                &sql(search.pages),
                &sql(most),
                &sql(search.first_in_page),
                &i64::from(spec.max_node_id()),
                &sql(wanted.free as u64),
            ],
        )
        .await
}

async fn note(
    session: &Session,
    search: &Search<'_>,
    tick: i64,
    most: u64,
    missing: usize,
) -> Result<Row, Failure> {
    let rows = session
        .ask(
            NOTE,
            &[
                &search.namespace.name(),
                &sql(search.first_page),
                &sql(search.pages),
                &tick,
                &sql(most),
                &i64::from(search.namespace.spec().max_node_id()),
                &sql(missing as u64),
            ],
        )
        .await?;
    rows.into_iter().next().ok_or_else(|| damaged("no answer"))
}

/// All but the node ids.
fn head(session: &Session, row: &Row) -> Result<View, Failure> {
    let fingerprint = same(session, row)?;
    let namespace = match row.try_get::<_, Option<&str>>("terms")? {
        None => None,
        Some(terms) => Some(NamespaceRecord {
            terms: Terms::from_text(terms)
                .ok_or_else(|| damaged(&format!("terms are {terms:?}")))?,
            origin: row.try_get::<_, i64>("origin")?.cast_unsigned(),
            writes: number(row, "writes")?,
            quarantine: number(row, "quarantine")?,
            fingerprint: row.try_get("known_as")?,
        }),
    };
    let leases: Option<i64> = row.try_get("leases")?;
    Ok(View {
        now: Duration::from_micros(number(row, "unix_us")?),
        continuity: Continuity {
            // Also another one when all leases were removed.
            fingerprint: format!("{fingerprint}/{}", leases.unwrap_or_default()),
            is_absence_certain: row.try_get("is_new")?,
            known_end_unix_ms: 0,
            fault: fault(row)?,
        },
        namespace,
        nodes: Vec::new(),
        is_sole: false,
        free_from: None,
    })
}

/// What the store is known by, if it is the one that the session was opened for.
pub(super) fn same(session: &Session, row: &Row) -> Result<String, Failure> {
    if !row.try_get::<_, bool>("is_same")? {
        return Err(Failure::Pooler);
    }
    let fingerprint: String = row.try_get("fingerprint")?;
    if fingerprint == session.fingerprint {
        Ok(fingerprint)
    } else {
        Err(Failure::OtherStore)
    }
}

/// By which the server forgets what it has answered.
pub(super) fn fault(row: &Row) -> Result<Option<String>, Failure> {
    if row.try_get("is_fit")? {
        return Ok(None);
    }
    let settings: &str = row.try_get("settings")?;
    Ok(Some(format!(
        "the PostgreSQL server runs with {settings}, and would forget leases in a crash: turn them on"
    )))
}

fn asked(wanted: &Wanted<'_>) -> impl Iterator<Item = u32> {
    let mut nodes = wanted.nodes.to_vec();
    nodes.sort_unstable();
    nodes.dedup();
    nodes.into_iter()
}

/// The node ids asked for and those that are free; says how many pages were looked at for the last one.
fn nodes(view: &mut View, wanted: &Wanted<'_>, rows: &[Row]) -> Result<i64, Failure> {
    let mut known = BTreeMap::new();
    let mut last_place = 0;
    for row in rows {
        let Some(place) = row.try_get::<_, Option<i64>>("place")? else {
            continue;
        };
        let node = node(row)?;
        if place == 0 {
            known.insert(node.node_id, node);
        } else {
            last_place = last_place.max(place);
            view.nodes.push(node);
        }
    }
    view.nodes.extend(asked(wanted).map(|node_id| {
        known.remove(&node_id).unwrap_or(Node {
            node_id,
            record: None,
        })
    }));
    Ok(last_place)
}

fn node(row: &Row) -> Result<Node, Failure> {
    let node_id: i64 = row.try_get("node_id")?;
    let node_id = u32::try_from(node_id).map_err(|_| damaged(&format!("node_id is {node_id}")))?;
    if row.try_get::<_, Option<i64>>("start_tick")?.is_none() {
        return Ok(Node {
            node_id,
            record: None,
        });
    }
    let token: &[u8] = row.try_get("token")?;
    let token = token.try_into().map_err(|_| damaged("token"))?;
    Ok(Node {
        node_id,
        record: Some(NodeRecord {
            node_id,
            start: number(row, "start_tick")?,
            end: number(row, "end_tick")?,
            fencing_token: number(row, "fencing_token")?,
            serial: number(row, "serial")?,
            token: Token::from_bytes(token),
            nonce: row.try_get::<_, i64>("nonce")?.cast_unsigned(),
            held: row.try_get("held")?,
            contested: row.try_get("contested")?,
            holder: row.try_get("holder")?,
        }),
    })
}

pub(super) async fn list(
    session: &Session,
    namespace: &Namespace,
) -> Result<Vec<NodeRecord>, Failure> {
    let rows = session.ask(LIST, &[&namespace.name()]).await?;
    let records = rows.iter().map(|row| node(row).map(|node| node.record));
    records.filter_map(Result::transpose).collect()
}
