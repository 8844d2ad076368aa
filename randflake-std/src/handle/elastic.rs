//! Scaling of an elastic handle: the rule, and its state in the keeper.

use core::ops::RangeInclusive;
use core::time::Duration;
use std::time::Instant;

use randflake_lease::StoreError;

use super::store_client::failure_pause;

/// Number of node ids that a handle leases: fixed, or a range within which it follows the load. See
/// [`Builder::node_ids`](super::Builder::node_ids).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeIdCount {
    pub(super) least: u32,
    pub(super) most: u32,
}

impl From<u32> for NodeIdCount {
    fn from(count: u32) -> Self {
        Self {
            least: count,
            most: count,
        }
    }
}

impl From<RangeInclusive<u32>> for NodeIdCount {
    fn from(range: RangeInclusive<u32>) -> Self {
        let (least, most) = range.into_inner();
        Self { least, most }
    }
}

impl NodeIdCount {
    /// Whether it is a range of more than one number.
    pub(super) fn is_elastic(self) -> bool {
        self.least < self.most
    }

    /// Lowers the maximum so that other holders keep a share of the namespace even under endless
    /// load.
    pub(super) fn leaving_a_share(self, node_ids: u64) -> Self {
        let share = (node_ids / SHARE).max(1);
        let most = u32::try_from(node_ids.saturating_sub(share)).unwrap_or(u32::MAX);
        Self {
            most: self.most.min(most).max(self.least),
            ..self
        }
    }
}

/// Part of a namespace that is left to others, and part of the surplus that is given back while the
/// namespace is full: an eighth, at least one.
const SHARE: u64 = 8;

/// Takes more when this part of the current tick is used: a half.
const TAKE_AT: u64 = 2;
/// Keeps as many that at most this part would have been used: a third, so that the same load does
/// not take back what was just given.
const KEEP_AT: u64 = 3;

/// Observation of the node ids at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    /// Number of node ids held.
    pub(super) held: u32,
    /// Number of node ids that have issued since the last look.
    pub(super) active: u32,
    /// Ids issued in the current tick by all, in units of the ids that one has per tick; `None` if
    /// ticks are too short to observe.
    pub(super) used: Option<Used>,
    /// Whether a call found the tick exhausted.
    pub(super) ran_out: bool,
    /// Whether the namespace is full as far as is known: the store refuses more, or only the share
    /// of others is left.
    pub(super) is_crowded: bool,
}

/// A fraction of the ids that a node id has per tick.
#[derive(Clone, Copy, Debug)]
pub(super) struct Used {
    pub(super) ids: u64,
    pub(super) of: u64,
}

impl Used {
    /// Number of node ids so that each is used to at most this part.
    fn node_ids(self, part: u64) -> u32 {
        // One more than the quotient: at exactly a part the next id is above it.
        let node_ids = self.ids.saturating_mul(part) / self.of.max(1) + 1;
        u32::try_from(node_ids).unwrap_or(u32::MAX)
    }
}

/// What an elastic handle does next with its node ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Keep,
    Take(u32),
    GiveBack(u32),
    /// Gives some back although the load needs them, so that others get them.
    Yield(u32),
}

/// The rule, with its memory of earlier loads.
#[derive(Debug)]
pub(super) struct Elastic {
    range: NodeIdCount,
    /// Time for which a smaller number must suffice before the surplus is given back.
    quiet: Duration,
    /// Start of that time, and the largest number needed since.
    since: Instant,
    peak: u32,
    /// Since when the namespace is full, or the last time that some were yielded.
    crowded_since: Instant,
}

impl Elastic {
    pub(super) fn new(range: NodeIdCount, quiet: Duration, now: Instant) -> Self {
        Self {
            range,
            quiet,
            since: now,
            peak: 0,
            crowded_since: now,
        }
    }

    pub(super) fn step(&mut self, sample: Sample, now: Instant) -> Step {
        let NodeIdCount { least, most } = self.range;
        let held = sample.held;
        if !sample.is_crowded || held <= least {
            self.crowded_since = now;
        } else if now.duration_since(self.crowded_since) >= self.quiet {
            self.crowded_since = now;
            // What was observed was with more node ids than are left.
            self.restart(now);
            let share = u64::from(held - least) / SHARE;
            return Step::Yield(u32::try_from(share).unwrap_or(u32::MAX).max(1));
        }
        // Ticks too short to observe ask for no more by their use: for them only exhausted ticks
        // count.
        let by_use = |part| sample.used.map_or(1, |used| used.node_ids(part));
        // The exhausted tick hides how much more was needed, so the number is doubled.
        let doubled = if sample.ran_out { held.max(1) * 2 } else { 0 };
        let wanted = by_use(TAKE_AT).max(doubled).clamp(least, most);
        if wanted > held {
            self.restart(now);
            return Step::Take(wanted - held);
        }
        // How much more an exhausted tick needed is not seen, so all are kept.
        let needed = if sample.ran_out { held } else { sample.active };
        let needed = by_use(KEEP_AT).max(needed).clamp(least, most);
        self.peak = self.peak.max(needed);
        if self.peak >= held {
            self.restart(now);
        } else if now.duration_since(self.since) >= self.quiet {
            // All at once: the peak of a whole quiet time says what is enough, and each release is
            // a call of the store.
            let surplus = held - self.peak;
            self.restart(now);
            return Step::GiveBack(surplus);
        }
        Step::Keep
    }

    fn restart(&mut self, now: Instant) {
        (self.since, self.peak) = (now, 0);
    }
}

/// State of an elastic handle in its keeper: what the load needs, and when to ask the store again.
pub(super) struct Scale {
    pub(super) rule: Elastic,
    pub(super) count: NodeIdCount,
    /// The maximum was lowered to leave a share to others.
    pub(super) leaves_a_share: bool,
    pub(super) ttl: Duration,
    /// Number of node ids that the load needs, and when it last needed more than there were.
    pub(super) wanted: u32,
    pub(super) wanted_at: Instant,
    /// After a failure, no acquire before this.
    pub(super) not_before: Instant,
    failures: u32,
    /// Count of an acquire of unknown outcome, which must be repeated unchanged.
    pub(super) unanswered: Option<u32>,
}

impl Scale {
    /// Period at which the keeper looks at the load.
    // Ten looks in a tick of a second: more are taken at half of its ids, while the rest is left.
    pub(super) const PERIOD: Duration = Duration::from_millis(100);
    /// Time for which yielded node ids are left to others: longer than a waiting build takes to ask
    /// again (2.2 s).
    pub(super) const YIELDED: Duration = Duration::from_secs(3);

    /// Starts with the minimum, in a namespace of `node_ids` node ids.
    pub(super) fn new(asked: NodeIdCount, node_ids: u64, ttl: Duration, now: Instant) -> Self {
        let count = asked.leaving_a_share(node_ids);
        Self {
            leaves_a_share: count.most < asked.most,
            rule: Elastic::new(count, ttl, now),
            count,
            ttl,
            wanted: count.least,
            wanted_at: now,
            not_before: now,
            failures: 0,
            unanswered: None,
        }
    }

    pub(super) fn wanted(&self) -> u32 {
        self.wanted
    }

    pub(super) fn failed(&mut self, error: &StoreError, asked: u32) {
        self.not_before = Instant::now() + failure_pause(error, self.failures, self.ttl);
        self.failures = self.failures.saturating_add(1);
        self.unanswered = matches!(error, StoreError::Unavailable(_)).then_some(asked);
    }

    pub(super) fn succeeded(&mut self) {
        (self.failures, self.unanswered) = (0, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Duration = Duration::from_secs(60);

    fn rule(range: RangeInclusive<u32>) -> (Elastic, Instant) {
        let now = Instant::now();
        (Elastic::new(range.into(), QUIET, now), now)
    }

    fn used(held: u32, ids: u64) -> Sample {
        Sample {
            held,
            active: u32::from(ids > 0),
            used: Some(Used { ids, of: 1_000 }),
            ..Sample::default()
        }
    }

    fn ran_out(held: u32) -> Sample {
        Sample {
            held,
            active: held,
            ran_out: true,
            ..Sample::default()
        }
    }

    #[test]
    fn more_are_taken_when_half_of_a_tick_is_used() {
        let (mut rule, now) = rule(1..=8);
        assert_eq!(rule.step(used(1, 499), now), Step::Keep);
        assert_eq!(rule.step(used(1, 500), now), Step::Take(1));
        assert_eq!(rule.step(used(2, 999), now), Step::Keep);
        assert_eq!(rule.step(used(2, 1_999), now), Step::Take(2));
        assert_eq!(rule.step(used(2, 90_000), now), Step::Take(6));
        assert_eq!(rule.step(used(8, 90_000), now), Step::Keep);
    }

    #[test]
    fn as_many_again_are_taken_when_a_tick_ran_out() {
        let (mut rule, now) = rule(1..=5);
        assert_eq!(rule.step(ran_out(1), now), Step::Take(1));
        assert_eq!(rule.step(ran_out(2), now), Step::Take(2));
        assert_eq!(rule.step(ran_out(4), now), Step::Take(1));
        assert_eq!(rule.step(ran_out(5), now), Step::Keep);
    }

    #[test]
    fn the_least_is_taken_again_after_a_loss() {
        let (mut rule, now) = rule(2..=5);
        assert_eq!(rule.step(used(0, 0), now), Step::Take(2));
        assert_eq!(rule.step(used(1, 0), now), Step::Take(1));
    }

    #[test]
    fn surplus_of_a_quiet_time_is_given_back() {
        let (mut rule, now) = rule(2..=64);
        assert_eq!(rule.step(used(64, 4_000), now), Step::Keep);
        assert_eq!(rule.step(used(64, 0), now + QUIET / 2), Step::Keep);
        // The 4,000 ids are of this time, and keep 13.
        assert_eq!(rule.step(used(64, 0), now + QUIET), Step::GiveBack(51));
        assert_eq!(rule.step(used(13, 0), now + QUIET * 3 / 2), Step::Keep);
        assert_eq!(rule.step(used(13, 0), now + QUIET * 2), Step::GiveBack(11));
        assert_eq!(rule.step(used(2, 0), now + QUIET * 9), Step::Keep);
    }

    #[test]
    fn a_load_that_needs_all_begins_the_quiet_time_anew() {
        let (mut rule, now) = rule(1..=4);
        for part in 1..10 {
            assert_eq!(rule.step(ran_out(4), now + QUIET * part), Step::Keep);
        }
        let all_active = Sample {
            active: 4,
            ..Sample {
                ran_out: false,
                ..ran_out(4)
            }
        };
        assert_eq!(rule.step(all_active, now + QUIET * 10), Step::Keep);
        assert_eq!(rule.step(used(4, 0), now + QUIET * 10), Step::Keep);
        assert_eq!(rule.step(used(4, 0), now + QUIET * 11), Step::GiveBack(3));
    }

    #[test]
    fn full_namespace_makes_holders_yield_an_eighth() {
        let (mut rule, now) = rule(2..=64);
        let crowded = |held| Sample {
            is_crowded: true,
            ..ran_out(held)
        };
        assert_eq!(rule.step(crowded(64), now + QUIET / 2), Step::Keep);
        assert_eq!(rule.step(crowded(64), now + QUIET), Step::Yield(7));
        assert_eq!(rule.step(crowded(57), now + QUIET), Step::Take(7));
        assert_eq!(rule.step(crowded(3), now + QUIET * 2), Step::Yield(1));
        // Nothing is yielded of the minimum, nor where there are others.
        assert_eq!(rule.step(crowded(2), now + QUIET * 4), Step::Take(2));
        assert_eq!(rule.step(ran_out(64), now + QUIET * 6), Step::Keep);
        assert_eq!(rule.step(crowded(64), now + QUIET * 6), Step::Keep);
    }

    /// What was seen with fewer or more node ids says nothing of those that are there now.
    #[test]
    fn every_change_begins_the_quiet_time_anew() {
        let (mut rule, now) = rule(1..=64);
        assert_eq!(rule.step(used(2, 0), now), Step::Keep);
        assert_eq!(
            rule.step(used(2, 1_999), now + QUIET * 3 / 4),
            Step::Take(2)
        );
        assert_eq!(rule.step(used(4, 0), now + QUIET), Step::Keep);
        let crowded = Sample {
            is_crowded: true,
            ..used(4, 0)
        };
        let (mut rule, now) = self::rule(1..=4);
        assert_eq!(rule.step(crowded, now), Step::Keep);
        assert_eq!(rule.step(crowded, now + QUIET), Step::Yield(1));
        assert_eq!(rule.step(used(3, 0), now + QUIET), Step::Keep);
    }

    /// It hides how many would have issued in a longer one.
    #[test]
    fn exhausted_tick_keeps_idle_node_ids() {
        let (mut rule, now) = rule(1..=4);
        let one_active = Sample {
            active: 1,
            ..ran_out(4)
        };
        assert_eq!(rule.step(one_active, now), Step::Keep);
        assert_eq!(rule.step(one_active, now + QUIET), Step::Keep);
    }

    #[test]
    fn a_share_is_left_to_others() {
        let most = |range: RangeInclusive<u32>, node_ids| {
            NodeIdCount::from(range).leaving_a_share(node_ids).most
        };
        assert_eq!(most(1..=16, 16), 14);
        assert_eq!(most(1..=64, 1 << 17), 64);
        assert_eq!(most(1..=2, 2), 1);
        assert_eq!(most(16..=16, 16), 16);
        assert_eq!(most(1..=u32::MAX, 1 << 32), 3_758_096_384);
    }

    /// A steady load near a bound neither takes nor gives back in turns.
    #[test]
    fn no_steady_load_goes_to_and_fro() {
        for load in (0..8_000).step_by(if cfg!(miri) { 701 } else { 7 }) {
            let (mut rule, now) = rule(1..=64);
            let (mut held, mut changes) = (1, 0);
            for part in 0..100 {
                match rule.step(used(held, load), now + QUIET / 4 * part) {
                    Step::Keep => {}
                    Step::Take(more) => (held, changes) = (held + more, changes + 1),
                    Step::GiveBack(fewer) | Step::Yield(fewer) => {
                        (held, changes) = (held - fewer, changes + 1);
                    }
                }
            }
            assert!(changes <= 1, "{changes} at {load}");
        }
    }
}
