//! Finding free node ids: some at random; where most are taken, by pages, of which a table says when the first node id of
//! a full one may be free. That is a hint: a wrong one costs time, never an id.

use std::collections::BTreeMap;

use super::failure::Failure;
use super::read::{node_record, records};
use super::session::{Session, typed};
use crate::lease::{Namespace, StoreError};
use crate::ledger::{Change, Node, NodeRecord, Wanted};

/// Node ids of a page.
const PAGE: u32 = 256;
const PROBES: u32 = 8;
/// With that many wanted, pages are quicker.
const FEW: usize = 4;
/// As many pages without a hint are looked at in one read, besides those that a large acquire fills.
const LOOKS: usize = 64;

/// What was found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) nodes: Vec<Node>,
    pub(super) free_from: Option<u64>,
    pub(super) looks: Looks,
}

/// What the last read has seen of pages.
#[derive(Debug, Default)]
pub(super) struct Looks(BTreeMap<u32, Look>);

#[derive(Debug)]
struct Look {
    free: usize,
    /// When the first lease ends.
    soonest: u64,
}

/// Node ids to look at in the first place, in a random order.
pub(super) fn probes(wanted: &Wanted<'_>, node_ids: u64) -> Result<Vec<u32>, StoreError> {
    let mut probes = Vec::new();
    if wanted.free == 0 {
        return Ok(probes);
    }
    if node_ids <= PAGE.into() {
        let begin = below(node_ids)?;
        let all = 0..u32::try_from(node_ids).unwrap_or(PAGE);
        probes.extend(
            all.clone()
                .skip(begin as usize)
                .chain(all.take(begin as usize)),
        );
    } else if wanted.free <= FEW {
        for _ in 0..PROBES {
            let probe = below(node_ids)?;
            if !probes.contains(&probe) {
                probes.push(probe);
            }
        }
    }
    probes.retain(|probe| !wanted.nodes.contains(probe));
    Ok(probes)
}

fn below(end: u64) -> Result<u32, StoreError> {
    let random = getrandom::u64().map_err(StoreError::unavailable)?;
    Ok(u32::try_from(random % end).unwrap_or(0))
}

fn is_free(record: Option<&NodeRecord>, tick: u64) -> bool {
    record.is_none_or(|record| record.end <= tick)
}

/// The free ones of those that were looked at, or of pages if they are too few.
pub(super) async fn search(
    session: &mut Session,
    namespace: &Namespace,
    tick: u64,
    wanted: &Wanted<'_>,
    probed: Vec<Node>,
) -> Result<Found, Failure> {
    let mut found = Found {
        nodes: Vec::new(),
        free_from: None,
        looks: Looks::default(),
    };
    let mut ends: Vec<_> = probed
        .iter()
        .filter_map(|node| Some(node.record.as_ref()?.end))
        .collect();
    ends.retain(|end| tick < *end);
    found.nodes.extend(
        probed
            .into_iter()
            .filter(|node| is_free(node.record.as_ref(), tick)),
    );
    if found.nodes.len() >= wanted.free {
        return Ok(found);
    }
    let is_exact = if namespace.node_ids() <= PAGE.into() {
        true
    } else {
        found.nodes.clear();
        ends.clear();
        by_pages(session, namespace, tick, wanted, &mut found, &mut ends).await?
    };
    if let Some(place) = wanted.free.checked_sub(found.nodes.len() + 1) {
        ends.sort_unstable();
        found.free_from = ends.get(if is_exact { place } else { 0 }).copied();
    }
    Ok(found)
}

/// Looks at pages from a random one on, and says whether at all of them.
async fn by_pages(
    session: &mut Session,
    namespace: &Namespace,
    tick: u64,
    wanted: &Wanted<'_>,
    found: &mut Found,
    ends: &mut Vec<u64>,
) -> Result<bool, Failure> {
    let name = namespace.name();
    let pages = u32::try_from(namespace.node_ids().div_ceil(PAGE.into())).unwrap_or(u32::MAX);
    let begin = below(pages.into())?;
    let most = LOOKS + wanted.free.div_ceil(PAGE as usize) * 2;
    let mut at_once = 1;
    let mut is_exact = true;
    let mut limit = 64;
    for (mut page, end) in [(begin, pages), (0, begin)] {
        while page < end && found.nodes.len() < wanted.free {
            let question = format!(
                "SELECT page, free_from FROM randflake_page WHERE namespace = '{name}' AND page >= {page}
                    AND page < {end} AND free_from > {tick} ORDER BY page LIMIT {limit}"
            );
            let hints = session.send(&[question]).await?.swap_remove(0).rows;
            let hints: Result<BTreeMap<u32, u64>, _> = hints.into_iter().map(typed).collect();
            let hints = hints?;
            ends.extend(hints.values());
            is_exact &= hints.is_empty();
            let last = hints.keys().last().filter(|_| hints.len() == limit);
            let next = last.map_or(end, |last| last + 1);
            if limit == 64 && hints.len() == (next - page) as usize {
                let all = format!(
                    "SELECT COUNT(*), MIN(free_from) FROM randflake_page
                    WHERE namespace = '{name}' AND free_from > {tick}"
                );
                if let (count, Some(soonest)) = session.one::<(u32, Option<u64>)>(&all).await?
                    && count == pages
                {
                    *ends = vec![soonest];
                    return Ok(false);
                }
            }
            limit = (limit * 4).min(4_096);
            let mut unknown = (page..next).filter(|page| !hints.contains_key(page));
            page = next;
            while let Some(missing) = wanted.free.checked_sub(found.nodes.len() + 1) {
                let count = (missing / PAGE as usize + 1).max(at_once);
                let batch: Vec<_> = unknown.by_ref().take(count).collect();
                if batch.is_empty() {
                    break;
                }
                if found.looks.0.len() >= most {
                    // The next try goes on from what this one has noted.
                    ends.push(tick + 1);
                    found.looks.note(session, name).await?;
                    return Ok(false);
                }
                at_once = (at_once * 2).min(16);
                look_at(session, namespace, tick, wanted, &batch, found, ends).await?;
            }
        }
    }
    if found.nodes.len() < wanted.free {
        found.looks.note(session, name).await?;
    }
    Ok(is_exact)
}

async fn look_at(
    session: &mut Session,
    namespace: &Namespace,
    tick: u64,
    wanted: &Wanted<'_>,
    pages: &[u32],
    found: &mut Found,
    ends: &mut Vec<u64>,
) -> Result<(), Failure> {
    let last = namespace.spec().max_node_id();
    let range = |page: u32| page * PAGE..=(page * PAGE + (PAGE - 1)).min(last);
    let ranges = pages.iter().map(|&page| {
        let (first, last) = range(page).into_inner();
        format!("node_id BETWEEN {first} AND {last}")
    });
    let question = records(namespace.name(), &ranges.collect::<Vec<_>>().join(" OR "));
    let rows = session.send(&[question]).await?.swap_remove(0).rows;
    let mut known = BTreeMap::new();
    for row in rows {
        let record = node_record(row)?;
        known.insert(record.node_id, record);
    }
    for &page in pages {
        let mut look = Look {
            free: 0,
            soonest: u64::MAX,
        };
        let mut free = Vec::new();
        for node_id in range(page) {
            let record = known.remove(&node_id);
            match record {
                Some(NodeRecord { end, .. }) if tick < end => {
                    look.soonest = look.soonest.min(end);
                    ends.push(end);
                }
                record => {
                    look.free += 1;
                    free.push(Node { node_id, record });
                }
            }
        }
        free.retain(|node| !wanted.nodes.contains(&node.node_id));
        if !free.is_empty() {
            let begin = below(free.len() as u64)? as usize;
            free.rotate_left(begin);
        }
        found.nodes.append(&mut free);
        found.looks.0.insert(page, look);
    }
    Ok(())
}

impl Looks {
    /// Notes the pages that are full.
    async fn note(&self, session: &mut Session, name: &str) -> Result<(), Failure> {
        if let Some(note) = self.full(name, None) {
            session.send(&[note]).await?;
        }
        Ok(())
    }

    /// The statement that notes the pages that are full once a change is written.
    pub(super) fn full(&self, name: &str, change: Option<&Change>) -> Option<String> {
        let mut taken: BTreeMap<u32, (usize, u64)> = BTreeMap::new();
        for node in change.iter().flat_map(|change| &change.nodes) {
            let (count, soonest) = taken
                .entry(page_of(node.after.node_id))
                .or_insert((0, u64::MAX));
            (*count, *soonest) = (*count + 1, node.after.end.min(*soonest));
        }
        let full = self.0.iter().filter_map(|(page, look)| {
            let (count, soonest) = taken.get(page).copied().unwrap_or((0, u64::MAX));
            let free_from = look.soonest.min(soonest);
            (look.free == count).then(|| format!("('{name}', {page}, {free_from})"))
        });
        let full: Vec<_> = full.collect();
        (!full.is_empty()).then(|| {
            let full = full.join(",");
            format!("INSERT INTO randflake_page VALUES {full} ON DUPLICATE KEY UPDATE free_from = VALUES(free_from)")
        })
    }
}

/// The page of a node id.
pub(super) fn page_of(node_id: u32) -> u32 {
    node_id / PAGE
}
