//! The leases of one namespace.

use std::collections::{BTreeSet, HashMap};

use crate::lease::moment::Moment;
use crate::lease::{AcquireRequest, Grant, Namespace, Record, StoreError, Token};

pub(super) struct Leases {
    /// The namespace as it was created: its longest TTL rules.
    created: Namespace,
    /// By node id: they come into use in order, and never leave.
    entries: Vec<Entry>,
    by_end: BTreeSet<(u64, usize)>,
    by_token: HashMap<Token, Vec<usize>>,
    /// Nothing is granted before this tick.
    fence: u64,
    /// The latest end ever, also of leases that were forgotten.
    until: u64,
    forgot: bool,
}

struct Entry {
    record: Record,
    /// Not released since it was acquired.
    held: bool,
}

impl Leases {
    pub(super) fn new(created: Namespace) -> Self {
        Self {
            created,
            entries: Vec::new(),
            by_end: BTreeSet::new(),
            by_token: HashMap::new(),
            fence: 0,
            until: 0,
            forgot: false,
        }
    }

    pub(super) fn check_layout(&self, namespace: &Namespace) -> Result<(), StoreError> {
        let spec = self.created.spec();
        namespace.check_layout(
            self.created.node_ids(),
            spec.epoch_unix_ms(),
            spec.tick_ms(),
        )
    }

    /// Loses all records, but not until when some may have been granted.
    pub(super) fn forget(&mut self) {
        *self = Self {
            forgot: true,
            fence: self.fence,
            until: self.until,
            ..Self::new(self.created.clone())
        };
    }

    /// Raises the fence if records were lost.
    pub(super) fn notice(&mut self, now: Moment) {
        if self.forgot {
            self.forgot = false;
            self.raise_fence(now);
            self.fence = self.fence.max(self.until);
        }
    }

    /// Nothing is granted before this tick.
    pub(super) fn fence(&self) -> u64 {
        self.fence
    }

    pub(super) fn records(&self) -> Vec<Record> {
        let records = self.entries.iter().map(|entry| &entry.record);
        records.cloned().collect()
    }

    pub(super) fn raise_fence(&mut self, now: Moment) {
        let fence = now.fence(&self.created, self.created.max_ttl());
        self.fence = self.fence.max(fence);
    }

    pub(super) fn acquire(
        &mut self,
        request: &AcquireRequest<'_>,
        now: Moment,
    ) -> Result<Vec<Grant>, StoreError> {
        StoreError::check(request, &self.created, self.created.max_ttl())?;
        now.check_fence(self.fence)?;
        if let Some(grants) = self.repeated(request, now)? {
            return Ok(grants);
        }
        let end = now.end_after(request.ttl)?;
        let nodes = self.free(request.count as usize, now)?;
        self.until = self.until.max(end);
        let grants = nodes
            .iter()
            .map(|&node| self.take(node, now, end, request))
            .collect();
        self.by_token.insert(request.token, nodes);
        Ok(grants)
    }

    /// The grants of an earlier acquire with the same token, if all of them are live. If not, what is
    /// left of them is let go.
    fn repeated(
        &mut self,
        request: &AcquireRequest<'_>,
        now: Moment,
    ) -> Result<Option<Vec<Grant>>, StoreError> {
        let Some(nodes) = self.by_token.get(&request.token) else {
            return Ok(None);
        };
        let entries = || nodes.iter().map(|&node| &self.entries[node]);
        if entries().any(|entry| entry.held && entry.record.holder != request.holder) {
            return Err(StoreError::Foreign);
        }
        let grants: Vec<_> = entries()
            .filter(|entry| entry.held && now.tick < entry.record.grant.end)
            .map(|entry| entry.record.grant)
            .collect();
        if grants.len() == request.count as usize {
            return Ok(Some(grants));
        }
        for node in nodes {
            self.entries[*node].held = false;
        }
        Ok(None)
    }

    /// The nodes whose leases ended first, then those never leased.
    fn free(&self, count: usize, now: Moment) -> Result<Vec<usize>, StoreError> {
        let mut free: Vec<_> = self
            .by_end
            .range(..(now.tick.saturating_add(1), 0))
            .map(|&(_, node)| node)
            .take(count)
            .collect();
        let node_ids = usize::try_from(self.created.node_ids()).unwrap_or(usize::MAX);
        let unused = self.entries.len()..node_ids;
        let missing = (count - free.len()).saturating_sub(unused.len());
        if missing > 0 {
            let mut ends = self.by_end.iter().map(|&(end, _)| end);
            let last = ends.nth(free.len() + missing - 1);
            return Err(StoreError::Exhausted {
                retry_in: now.until(last.unwrap_or(now.tick)),
            });
        }
        free.extend(unused.take(count - free.len()));
        free.sort_unstable();
        Ok(free)
    }

    fn take(&mut self, node: usize, now: Moment, end: u64, request: &AcquireRequest<'_>) -> Grant {
        let former = self.entries.get(node).map(|entry| entry.record.grant);
        if let Some(former) = former {
            self.by_end.remove(&(former.end, node));
            if let Some(nodes) = self.by_token.get_mut(&former.token) {
                nodes.retain(|&other| other != node);
                if nodes.is_empty() {
                    self.by_token.remove(&former.token);
                }
            }
        }
        let grant = Grant {
            node_id: u32::try_from(node).unwrap_or(u32::MAX),
            start: now.tick,
            end,
            fencing_token: now.fencing_token(former.map_or(0, |former| former.fencing_token)),
            token: request.token,
        };
        let record = Record {
            grant,
            holder: request.holder.to_owned(),
        };
        let entry = Entry { record, held: true };
        match self.entries.get_mut(node) {
            Some(place) => *place = entry,
            None => self.entries.push(entry),
        }
        self.by_end.insert((grant.end, node));
        grant
    }

    pub(super) fn renew(
        &mut self,
        grants: &[Grant],
        ttl: u64,
        now: Moment,
    ) -> Result<Vec<Option<u64>>, StoreError> {
        StoreError::check_ttl(ttl, &self.created, self.created.max_ttl())?;
        let ends = grants.iter().map(|grant| self.renew_one(grant, ttl, now));
        Ok(ends.collect())
    }

    fn renew_one(&mut self, grant: &Grant, ttl: u64, now: Moment) -> Option<u64> {
        let held = self.held(grant).filter(|held| now.tick < held.end)?;
        let end = held.end.max(now.extended(ttl));
        self.until = self.until.max(end);
        self.move_end(grant.node_id, end);
        Some(end)
    }

    pub(super) fn release(&mut self, grant: &Grant) {
        if let Some(held) = self.held(grant) {
            self.move_end(grant.node_id, grant.end.min(held.end).max(held.start));
            self.entries[grant.node_id as usize].held = false;
        }
    }

    /// The record of a grant that is still its holder's.
    fn held(&self, grant: &Grant) -> Option<Grant> {
        let entry = self.entries.get(grant.node_id as usize)?;
        let held = entry.record.grant;
        let same = held.fencing_token == grant.fencing_token && held.token == grant.token;
        (same && entry.held).then_some(held)
    }

    fn move_end(&mut self, node_id: u32, end: u64) {
        let node = node_id as usize;
        let grant = &mut self.entries[node].record.grant;
        self.by_end.remove(&(grant.end, node));
        self.by_end.insert((end, node));
        grant.end = end;
    }
}
