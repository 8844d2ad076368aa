//! Stores in files that were made a moment ago.
//!
//! A container without its volume, deleted files, a folder that was moved away: the store that is
//! made in its place has nothing that tells of the one before, whose holders issue ids until they
//! have looked at their files. They do so each second. So the first leases begin with a later tick,
//! and with node ids that were probably not leased before; where they probably were, they begin
//! when holders have looked.

use core::time::Duration;

use randflake_core::LayoutSpec;

use super::{NamespaceState, View};
use crate::types::{MAX_SKEW, NodeIds, Quarantine, QuarantineCause, StoreError};

/// Within this time all holders have looked at their files, each second, from threads that may be
/// late.
const LOOKED_WITHIN: Duration = Duration::from_secs(3);
/// With ticks of at least this length the next one is late enough: it has ids of its own.
const LONG_TICK: Duration = Duration::from_secs(1);
/// A random place among so many node ids for each one that is asked for is probably another one
/// than before.
const ENOUGH: u64 = 1 << 14;

/// Time after which a store that was just made grants node ids, so many of which may be leased,
/// from the next tick on.
#[must_use]
pub fn youth(spec: &LayoutSpec, node_ids: u64, request: NodeIds<'_>) -> Duration {
    match request {
        NodeIds::Any(count) if u64::from(count).saturating_mul(ENOUGH) <= node_ids => {
            let is_long = u128::from(spec.tick_ms()) >= LONG_TICK.as_millis();
            if is_long { Duration::ZERO } else { LONG_TICK }
        }
        NodeIds::Any(_) | NodeIds::These(_) => LOOKED_WITHIN,
    }
}

impl NamespaceState {
    /// Refuses a grant in a store that was made a moment ago.
    pub(super) fn check_youth(
        &self,
        view: &View,
        within: (u32, u32),
        request: NodeIds<'_>,
    ) -> Result<(), StoreError> {
        let spec = &self.record.terms.spec;
        let made = Duration::from_millis(view.continuity.made_unix_ms);
        // Made later than now by clocks that agree: a wrong one has made it, of which nothing
        // follows.
        if made > self.now.unix.saturating_add(2 * MAX_SKEW) {
            return Ok(());
        }
        let last = within.1.min(spec.max_node_id());
        let node_ids = u64::from(last.saturating_sub(within.0)) + 1;
        let wait = youth(spec, node_ids, request);
        // Also where the wait ends as a tick begins: the next one has no id from before.
        let grants_from = spec.tick_at(made + wait).map_or(0, |tick| tick + 1);
        if grants_from <= self.now.tick {
            return Ok(());
        }
        Err(StoreError::Quarantined {
            retry_in: self.now.until(grants_from),
            quarantine: Quarantine {
                since: made,
                until: self.record.unix(grants_from),
                cause: QuarantineCause::Young,
            },
        })
    }
}
