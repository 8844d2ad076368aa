//! What is written to a namespace.

use core::time::Duration;

use super::failure::Failure;
use super::free::{Looks, page_of};
use super::read::MARK;
use super::session::{Session, hex, missing};
use crate::ledger::{Change, Committed, NamespaceRecord, NodeChange, NodeRecord};

/// How long a packet may become before it is sent.
const PACKET: usize = 1 << 20;
/// Records in one statement.
const ROWS: usize = 500;

/// Writes a change: of one node id in one statement, in one round trip; else in a transaction.
pub(super) async fn write(
    session: &mut Session,
    name: &str,
    clock: &str,
    change: &Change,
    looks: &Looks,
) -> Result<Committed, Failure> {
    let full = looks.full(name, Some(change));
    let now = match (&change.nodes[..], &change.namespace_after, full) {
        ([node], None, None) => write_one(session, name, clock, change, node).await?,
        (_, _, full) => write_all(session, name, clock, change, full).await?,
    };
    Ok(now.map_or(Committed::Stale, |now| Committed::Done { now }))
}

async fn write_one(
    session: &mut Session,
    name: &str,
    clock: &str,
    change: &Change,
    node: &NodeChange,
) -> Result<Option<Duration>, Failure> {
    let mut condition = format!(
        "{} AND @randflake_session = {}",
        is_still(name, change),
        session.number
    );
    let (from, to) = change.window.unwrap_or((Duration::ZERO, Duration::MAX));
    if let (Some(_), Some(record)) = (change.window, &change.namespace_before) {
        condition = format!("{condition} AND {}", session.is_fit(&record.fingerprint));
    }
    // What `LAST_INSERT_ID` is given comes with the answer.
    let (from, to) = (micros(from), micros(to));
    let condition = format!("{condition} AND LAST_INSERT_ID({clock}) BETWEEN {from} AND {to}");
    let mut statements = mark(session, name, change);
    let place = statements.len();
    statements.push(node.before.as_ref().map_or_else(
        || {
            let values = values(name, &node.after);
            insert(&format!("SELECT {values} FROM DUAL WHERE {condition}"))
        },
        |before| format!("{} AND {condition}", update(name, before, &node.after)),
    ));
    statements.extend(freed(name, node));
    let answers = session.send(&statements).await?;
    let written = answers.get(place).ok_or_else(missing)?;
    Ok((written.affected == 1).then(|| Duration::from_micros(written.last_insert_id)))
}

async fn write_all(
    session: &mut Session,
    name: &str,
    clock: &str,
    change: &Change,
    full: Option<String>,
) -> Result<Option<Duration>, Failure> {
    // With the count of rows that each must read or write.
    let mut statements: Vec<(String, Option<u64>)> = Vec::new();
    statements.extend(
        mark(session, name, change)
            .into_iter()
            .map(|mark| (mark, None)),
    );
    statements.push(("START TRANSACTION".to_owned(), None));
    statements.push((namespace(name, change), Some(1)));
    let (updates, inserts): (Vec<_>, Vec<_>) =
        change.nodes.iter().partition(|node| node.before.is_some());
    for node in updates {
        if let Some(before) = &node.before {
            statements.push((update(name, before, &node.after), Some(1)));
        }
    }
    for nodes in inserts.chunks(ROWS) {
        let rows: Vec<_> = nodes
            .iter()
            .map(|node| format!("({})", values(name, &node.after)))
            .collect();
        let insert = insert(&format!("VALUES {}", rows.join(",")));
        statements.push((insert, Some(nodes.len() as u64)));
    }
    let freed = change.nodes.iter().filter_map(|node| freed(name, node));
    statements.extend(freed.chain(full).map(|hint| (hint, None)));
    let record = change
        .namespace_after
        .as_ref()
        .or(change.namespace_before.as_ref());
    let is_fit = record.map_or_else(
        || "TRUE".to_owned(),
        |record| session.is_fit(&record.fingerprint),
    );
    let check = format!("SELECT {clock}, @randflake_session, {is_fit}");
    statements.push((check, Some(1)));

    let mut last = None;
    let mut rest = &statements[..];
    let mut is_still_so = true;
    while is_still_so && !rest.is_empty() {
        let mut len = 0;
        let fits = rest.iter().take_while(|(statement, _)| {
            let is_first = len == 0;
            len += statement.len();
            is_first || len <= PACKET
        });
        let (packet, others) = rest.split_at(fits.count());
        rest = others;
        let texts: Vec<_> = packet.iter().map(|(statement, _)| statement).collect();
        let answers = session.send(&texts).await?;
        is_still_so = packet.iter().zip(&answers).all(|((_, expected), answer)| {
            let count = answer.affected.max(answer.rows.len() as u64);
            expected.is_none_or(|expected| expected == count)
        });
        last = answers.into_iter().last();
    }
    let check: Option<(u64, Option<u32>, Option<bool>)> = match &last {
        Some(answer) if is_still_so => answer.first()?,
        _ => None,
    };
    let now = check.and_then(|(unix_us, number, is_fit)| {
        let now = Duration::from_micros(unix_us);
        let is_in_time = change
            .window
            .is_none_or(|(from, to)| from <= now && now <= to);
        (is_in_time && is_fit == Some(true) && number == Some(session.number)).then_some(now)
    });
    let end = if now.is_some() { "COMMIT" } else { "ROLLBACK" };
    session.send(&[end]).await?;
    Ok(now)
}

/// Marks who uses a namespace that is there.
fn mark(session: &mut Session, name: &str, change: &Change) -> Vec<String> {
    let before = change.namespace_before.as_ref();
    before.map_or_else(Vec::new, |_| session.mark(MARK, name))
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Whether the namespace still is what was read, as SQL that locks it as that.
fn is_still(name: &str, change: &Change) -> String {
    let count = format!("(SELECT COUNT(*) FROM randflake_namespace WHERE name = '{name}'");
    change.namespace_before.as_ref().map_or_else(
        || format!("{count} LOCK IN SHARE MODE) = 0"),
        |NamespaceRecord { origin, writes, .. }| {
            format!("{count} AND origin = {origin} AND writes = {writes} LOCK IN SHARE MODE) = 1")
        },
    )
}

/// What reads or writes one row if the namespace still is what was read.
fn namespace(name: &str, change: &Change) -> String {
    let Some(after) = &change.namespace_after else {
        return format!("SELECT 1 FROM DUAL WHERE {}", is_still(name, change));
    };
    let NamespaceRecord {
        terms,
        origin,
        writes,
        quarantine,
        fingerprint,
    } = after;
    let (terms, fingerprint) = (terms.to_text(), hex(fingerprint.as_bytes()));
    match &change.namespace_before {
        Some(before) => format!(
            "UPDATE randflake_namespace SET terms = '{terms}', origin = {origin}, writes = {writes},
                quarantine = {quarantine}, fingerprint = {fingerprint}
            WHERE name = '{name}' AND origin = {} AND writes = {}",
            before.origin, before.writes
        ),
        None => format!(
            "INSERT INTO randflake_namespace
            VALUES ('{name}', '{terms}', {origin}, {writes}, {quarantine}, {fingerprint})
            ON DUPLICATE KEY UPDATE name = name"
        ),
    }
}

fn update(name: &str, before: &NodeRecord, after: &NodeRecord) -> String {
    let columns = columns(after).map(|(column, value)| format!("{column} = {value}"));
    format!(
        "UPDATE randflake_lease SET {}
        WHERE namespace = '{name}' AND node_id = {} AND fencing_token = {} AND serial = {} AND held = {}
            AND nonce = {}",
        columns.join(", "),
        after.node_id,
        before.fencing_token,
        before.serial,
        before.held,
        before.nonce
    )
}

/// Where there is a record already, none is written.
fn insert(rows: &str) -> String {
    format!(
        "INSERT INTO randflake_lease {rows} ON DUPLICATE KEY UPDATE serial = randflake_lease.serial"
    )
}

/// In the order of the table's columns.
fn values(name: &str, record: &NodeRecord) -> String {
    let values = columns(record).map(|(_, value)| value);
    format!("'{name}', {}, {}", record.node_id, values.join(", "))
}

fn columns(record: &NodeRecord) -> [(&'static str, String); 9] {
    [
        ("start_tick", record.start.to_string()),
        ("end_tick", record.end.to_string()),
        ("fencing_token", record.fencing_token.to_string()),
        ("serial", record.serial.to_string()),
        ("token", format!("x'{}'", record.token)),
        ("nonce", record.nonce.to_string()),
        ("held", record.held.to_string()),
        ("contested", record.contested.to_string()),
        ("holder", hex(record.holder.as_bytes())),
    ]
}

/// What says of a page that a node id of it is free earlier than it was.
fn freed(name: &str, node: &NodeChange) -> Option<String> {
    let NodeRecord { node_id, end, .. } = &node.after;
    let is_earlier = node.before.as_ref().is_some_and(|before| end < &before.end);
    is_earlier.then(|| {
        format!(
            "UPDATE randflake_page SET free_from = {end}
            WHERE namespace = '{name}' AND page = {} AND free_from > {end}",
            page_of(*node_id)
        )
    })
}
