//! Remembers every interval that was ever granted, and objects to any tick granted twice.

use std::collections::BTreeMap;

use crate::types::{Grant, Token};

#[derive(Debug, Default)]
pub struct Referee {
    nodes: BTreeMap<u32, Vec<Interval>>,
}

#[derive(Clone, Copy, Debug)]
struct Interval {
    start: u64,
    end: u64,
    fencing_token: u64,
    token: Token,
}

impl Interval {
    fn is_of(&self, grant: &Grant) -> bool {
        let ours = (self.token, self.fencing_token, self.start);
        ours == (grant.token, grant.fencing_token, grant.start)
    }
}

impl Referee {
    /// An acquire has given these. What was given before is a repetition; all else must be disjoint
    /// from all others and have a higher fencing token.
    pub fn granted(&mut self, grants: &[Grant]) {
        for grant in grants {
            self.granted_one(grant);
        }
    }

    fn granted_one(&mut self, grant: &Grant) {
        assert!(grant.start < grant.end, "empty: {grant:?}");
        let intervals = self.nodes.entry(grant.node_id).or_default();
        if let Some(known) = intervals.iter_mut().find(|known| known.is_of(grant)) {
            assert_eq!(known.end, grant.end, "a repetition that differs: {grant:?}");
            return;
        }
        let before = intervals.last().map_or(0, |last| last.fencing_token);
        assert!(
            grant.fencing_token > before,
            "a fencing token that does not grow: {grant:?} after {before}"
        );
        intervals.push(Interval {
            start: grant.start,
            end: grant.end,
            fencing_token: grant.fencing_token,
            token: grant.token,
        });
        self.check(grant.node_id);
    }

    /// A renewal has moved a grant's end.
    pub fn renewed(&mut self, grant: &Grant, end: u64) {
        let interval = self.find(grant);
        assert!(end >= interval.end, "a renewal that shortens: {grant:?}");
        interval.end = end;
        self.check(grant.node_id);
    }

    /// A holder has stopped issuing and released a grant: ticks before `end` may have been used.
    pub fn released(&mut self, grant: &Grant) {
        let interval = self.find(grant);
        interval.end = grant.end.clamp(interval.start, interval.end);
    }

    pub fn intervals(&self) -> usize {
        self.nodes.values().map(Vec::len).sum()
    }

    fn find(&mut self, grant: &Grant) -> &mut Interval {
        let intervals = self.nodes.get_mut(&grant.node_id);
        let interval = intervals.and_then(|all| all.iter_mut().find(|known| known.is_of(grant)));
        interval.unwrap_or_else(|| panic!("never granted: {grant:?}"))
    }

    fn check(&self, node_id: u32) {
        let mut intervals = self.nodes[&node_id].clone();
        intervals.retain(|interval| interval.start < interval.end);
        intervals.sort_unstable_by_key(|interval| interval.start);
        for pair in intervals.windows(2) {
            assert!(
                pair[0].end <= pair[1].start,
                "ticks granted twice for node id {node_id}: {pair:?}"
            );
        }
    }
}
