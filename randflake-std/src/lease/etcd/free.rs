//! Finding node ids that are free.
//!
//! A page is 256 adjacent node ids, and the first of a page come into use first: the number of its keys
//! says which it has left. One page is looked at first, at random. Only when that has too few, all are,
//! eight pages at a time.

use super::client::{Client, not_understood};
use super::record::{Keys, Lease, node_of};
use super::transaction::{Found, Kv, Range};
use crate::lease::StoreError;

const PAGE: u64 = 256;
const PAGES_AT_ONCE: u64 = 8;
/// From so many of a page one is taken at random, so that those who look at once do not meet.
const CHOICE: u64 = 16;

/// A node id, and what its key holds if there is one.
#[derive(Clone, Debug)]
pub(super) struct Free {
    pub(super) node_id: u32,
    /// Of its key; 0 if there is none.
    pub(super) revision: u64,
    pub(super) former: Option<Lease>,
}

/// What was found: enough, or when enough will be.
#[derive(Debug)]
pub(super) enum Search {
    Enough(Vec<Free>),
    /// The tick.
    Later(u64),
}

/// Adjacent node ids.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    from: u64,
    to: u64,
}

impl Part {
    pub(super) fn random_page(node_ids: u64) -> Result<Self, StoreError> {
        let pages = node_ids.div_ceil(PAGE);
        let page = random()? % pages;
        Ok(Self::pages(page, 1, node_ids))
    }

    fn pages(first: u64, pages: u64, node_ids: u64) -> Self {
        let from = first * PAGE;
        Self {
            from,
            to: (from + pages * PAGE).min(node_ids),
        }
    }

    /// How many pages it has.
    fn pages_within(self) -> usize {
        usize::try_from((self.to - self.from).div_ceil(PAGE)).unwrap_or(usize::MAX)
    }

    fn is_all(self, node_ids: u64) -> bool {
        self.to - self.from == node_ids
    }

    /// Its leases that ended first.
    pub(super) fn lowest(self, keys: &Keys, wanted: u64) -> Range {
        Range::Lowest(
            keys.lease(self.from),
            keys.lease(self.to),
            wanted.max(CHOICE),
        )
    }

    /// The node ids of one page that have no key, of which there are `count`.
    fn unused(self, count: u64) -> impl Iterator<Item = u64> {
        (self.from + count)..self.to
    }
}

/// What is free in a page, and the ends of what is not.
pub(super) fn in_page(
    part: Part,
    found: &Found,
    now: u64,
    wanted: u64,
) -> Result<(Vec<Free>, Vec<u64>), StoreError> {
    let (mut free, ends) = ended(&found.kvs, now)?;
    let missing = wanted.saturating_sub(free.len() as u64);
    // In order: who takes the next but one would leave a gap.
    for node in part
        .unused(found.count)
        .take(usize::try_from(missing).unwrap_or(usize::MAX))
    {
        free.push(unused(node)?);
    }
    Ok((free, ends))
}

fn ended(kvs: &[Kv], now: u64) -> Result<(Vec<Free>, Vec<u64>), StoreError> {
    let (mut free, mut ends) = (Vec::new(), Vec::new());
    for kv in kvs {
        let lease = Lease::read(&kv.key, &kv.value).ok_or_else(not_understood)?;
        if lease.grant.end > now {
            ends.push(lease.grant.end);
            continue;
        }
        free.push(Free {
            node_id: lease.grant.node_id,
            revision: kv.revision,
            former: Some(lease),
        });
    }
    Ok((free, ends))
}

fn unused(node: u64) -> Result<Free, StoreError> {
    Ok(Free {
        node_id: u32::try_from(node).map_err(|_| not_understood())?,
        revision: 0,
        former: None,
    })
}

/// Takes as many as are wanted, at random.
pub(super) fn choose(mut free: Vec<Free>, wanted: u64) -> Result<Vec<Free>, StoreError> {
    let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
    // Those without a key stay in order, so only the others are shuffled; the latter come first.
    let with_key = free.iter().filter(|free| free.former.is_some()).count();
    for at in (1..with_key).rev() {
        let other = usize::try_from(random()? % (at as u64 + 1)).unwrap_or(0);
        free.swap(at, other);
    }
    free.truncate(wanted);
    Ok(free)
}

/// Looks at all node ids, after a page had too few.
pub(super) fn everywhere(
    client: &mut Client,
    keys: &Keys,
    node_ids: u64,
    now: u64,
    wanted: u64,
    page: (Part, Vec<u64>),
) -> Result<Search, StoreError> {
    let (page, mut ends) = page;
    let mut free = Vec::new();
    if !page.is_all(node_ids) {
        ends.clear();
        let parts = node_ids.div_ceil(PAGE * PAGES_AT_ONCE);
        let first = random()? % parts;
        for part in (first..parts).chain(0..first) {
            let part = Part::pages(part * PAGES_AT_ONCE, PAGES_AT_ONCE, node_ids);
            let missing = wanted - free.len() as u64;
            let (_, found) = client.read(&[part.lowest(keys, missing)])?;
            let found = found.first().ok_or_else(not_understood)?;
            let (ended, later) = ended(&found.kvs, now)?;
            free.extend(ended);
            ends.extend(later);
            if (free.len() as u64) < wanted && found.count < part.to - part.from {
                free.extend(unused_in(client, keys, part)?);
            }
            if free.len() as u64 >= wanted {
                return Ok(Search::Enough(choose(free, wanted)?));
            }
        }
    }
    ends.sort_unstable();
    let missing = wanted - free.len() as u64;
    let nth = usize::try_from(missing.saturating_sub(1)).unwrap_or(usize::MAX);
    Ok(Search::Later(
        ends.get(nth).or(ends.last()).copied().unwrap_or(now),
    ))
}

/// Those without a key, of some pages.
fn unused_in(client: &mut Client, keys: &Keys, part: Part) -> Result<Vec<Free>, StoreError> {
    let (_, found) = client.read(&[Range::Keys(keys.lease(part.from), keys.lease(part.to))])?;
    let found = found.first().ok_or_else(not_understood)?;
    let mut counts = vec![0; part.pages_within()];
    for kv in &found.kvs {
        let node = u64::from(node_of(&kv.key).ok_or_else(not_understood)?);
        let page = usize::try_from((node - part.from) / PAGE).unwrap_or(usize::MAX);
        *counts.get_mut(page).ok_or_else(not_understood)? += 1;
    }
    let mut free = Vec::new();
    for (page, count) in (part.from / PAGE..).zip(counts) {
        let page = Part::pages(page, 1, part.to);
        if page.from < part.to {
            free.extend(
                page.unused(count)
                    .map(unused)
                    .collect::<Result<Vec<_>, _>>()?,
            );
        }
    }
    Ok(free)
}

fn random() -> Result<u64, StoreError> {
    getrandom::u64().map_err(StoreError::unavailable)
}
