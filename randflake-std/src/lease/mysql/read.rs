//! What is read of a namespace.

use core::time::Duration;
use std::collections::BTreeMap;

use mysql_async::Row;

use super::failure::Failure;
use super::free::{self, Looks};
use super::session::{FAULT, Session, damaged, missing, one_of, typed};
use crate::lease::{Namespace, StoreError, Token};
use crate::ledger::{Continuity, NamespaceRecord, Node, NodeRecord, Terms, View, Wanted};

/// What holders of leases are marked with.
pub(super) const MARK: &str = "lease";

type Header = (
    u64,
    Option<u32>,
    Option<String>,
    Option<bool>,
    Option<String>,
    String,
    Option<String>,
    Option<u64>,
    Option<u64>,
    Option<u64>,
    Option<String>,
);

/// Reads what is wanted: in one round trip, unless free node ids are hard to find, or there is no namespace.
pub(super) async fn read(
    session: &mut Session,
    namespace: &Namespace,
    clock: &str,
    wanted: &Wanted<'_>,
) -> Result<(View, Looks), Failure> {
    let name = namespace.name();
    let probes = free::probes(wanted, namespace.node_ids())?;
    let asked = [wanted.nodes, &probes].concat();
    let header_of = format!(
        "SELECT {clock}, @randflake_session, CONCAT(t.known, '/', s.id), t.known = s.fingerprint, {FAULT},
            @@GLOBAL.read_only, n.terms, n.origin, n.writes, n.quarantine, n.fingerprint
        FROM (SELECT {} AS known) t JOIN randflake_store s LEFT JOIN randflake_namespace n ON n.name = '{name}'",
        session.server
    );
    let mut statements = vec![header_of.clone()];
    if !asked.is_empty() {
        let asked: Vec<_> = asked.iter().map(u32::to_string).collect();
        let asked = asked.join(",");
        statements.push(records(name, &format!("node_id IN ({asked})")));
    }
    let answers = session.send(&statements).await?;
    let mut header: Header = one_of(&answers, 0)?;
    let mut is_unused = false;
    if header.6.is_none() {
        // What is used was there before, so only if it is still missing afterwards it was lost.
        let leases = format!("EXISTS (SELECT 1 FROM randflake_lease WHERE namespace = '{name}')");
        let uses = format!("SELECT {leases} OR {}", is_used(MARK, name));
        let answers = session.send(&[uses, header_of]).await?;
        (is_unused,) = one_of(&answers, 0).map(|(is_used,): (bool,)| (!is_used,))?;
        header = one_of(&answers, 1)?;
    }
    let (
        unix_us,
        number,
        fingerprint,
        is_same,
        fault,
        read_only,
        terms,
        origin,
        writes,
        quarantine,
        known,
    ) = header;
    session.check_number(number)?;
    let now = Duration::from_micros(unix_us);
    let mut continuity = continuity(fingerprint, fault, &read_only)?;
    let record = match (terms, origin, writes, quarantine, known) {
        (None, None, None, None, None) => None,
        (Some(terms), Some(origin), Some(writes), Some(quarantine), Some(fingerprint)) => {
            Some(NamespaceRecord {
                terms: Terms::from_text(&terms).ok_or_else(damaged)?,
                origin,
                writes,
                quarantine,
                fingerprint,
            })
        }
        _ => return Err(damaged().into()),
    };
    continuity.is_absence_certain = is_unused && is_same == Some(true);
    let rows = answers
        .into_iter()
        .nth(1)
        .map_or_else(Vec::new, |answer| answer.rows);
    let mut known: BTreeMap<u32, NodeRecord> = BTreeMap::new();
    for row in rows {
        let record = node_record(row)?;
        known.insert(record.node_id, record);
    }
    let node = |&node_id: &u32| Node {
        node_id,
        record: known.get(&node_id).cloned(),
    };
    let mut nodes: Vec<_> = wanted.nodes.iter().map(node).collect();
    let (mut free_from, mut looks) = (None, Looks::default());
    if let Some(tick) = namespace.spec().tick_at(now).filter(|_| wanted.free > 0) {
        let tried = probes.iter().map(node).collect();
        let found = free::search(session, namespace, tick, wanted, tried).await?;
        nodes.extend(found.nodes);
        (free_from, looks) = (found.free_from, found.looks);
    }
    let view = View {
        now,
        continuity,
        namespace: record,
        nodes,
        is_sole: false,
        free_from,
    };
    Ok((view, looks))
}

/// The query for some node ids' records.
pub(super) fn records(name: &str, which: &str) -> String {
    format!(
        "SELECT node_id, start_tick, end_tick, fencing_token, serial, token, nonce, held, contested, holder
        FROM randflake_lease WHERE namespace = '{name}' AND ({which}) ORDER BY node_id"
    )
}

pub(super) fn node_record(row: Row) -> Result<NodeRecord, StoreError> {
    type Columns = (u32, u64, u64, u64, u64, Vec<u8>, u64, bool, bool, String);
    let columns: Columns = typed(row)?;
    let (node_id, start, end, fencing_token, serial, token, nonce, held, contested, holder) =
        columns;
    Ok(NodeRecord {
        node_id,
        start,
        end,
        fencing_token,
        serial,
        token: Token::from_bytes(token.try_into().map_err(|_| damaged())?),
        nonce,
        held,
        contested,
        holder,
    })
}

/// What the server says of itself; nothing is proven yet of what is not there.
pub(super) fn continuity(
    fingerprint: Option<String>,
    fault: Option<String>,
    read_only: &str,
) -> Result<Continuity, StoreError> {
    if read_only != "0" && read_only != "OFF" {
        let why = "the server is read-only, as replicas are, and cannot grant anything";
        return Err(StoreError::unavailable(why));
    }
    let fault = fault.map(|fault| {
        let setting = fault
            .split(' ')
            .next_back()
            .and_then(|last| last.split('=').next());
        format!(
            "the MySQL server runs with {fault}, and would forget leases in a crash: set {} to 1",
            setting.unwrap_or_default()
        )
    });
    Ok(Continuity {
        fingerprint: fingerprint.ok_or_else(missing)?,
        fault,
        ..Continuity::default()
    })
}

/// As SQL, whether somebody is connected, as far as this user can see, who has used what is not there: then the tables
/// were emptied or made anew meanwhile.
pub(super) fn is_used(kind: &str, name: &str) -> String {
    let mark = mark(kind, name, "id");
    format!("EXISTS (SELECT 1 FROM information_schema.processlist WHERE IS_USED_LOCK({mark}) = id)")
}

/// The name of a connection's lock, as SQL.
fn mark(kind: &str, name: &str, id: &str) -> String {
    format!("MD5(CONCAT('randflake/{kind}/{name}/', {id}, '/', DATABASE()))")
}

impl Session {
    /// The statement by which others see until its end that this connection uses what is there, if it is needed.
    pub(super) fn mark(&mut self, kind: &'static str, name: &str) -> Vec<String> {
        if self.marks.contains(&kind) {
            return Vec::new();
        }
        self.marks.push(kind);
        let mark = mark(kind, name, "CONNECTION_ID()");
        vec![format!("DO GET_LOCK({mark}, 0)")]
    }
}
