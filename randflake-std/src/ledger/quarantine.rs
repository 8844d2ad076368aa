//! What an administrator does with a namespace.

use core::time::Duration;

use super::{Asking, Change, Decision, NamespaceRecord, Standing, View};
use crate::lease::QuarantineCause;

/// Grants nothing until every lease granted so far has expired, also any that the store does not know of; says how
/// long that takes.
#[must_use]
pub fn quarantine(view: &View, asking: &Asking<'_>) -> Decision<Duration> {
    with_standing(view, asking, |standing| {
        standing.quarantine(view, asking.seen, QuarantineCause::Asked);
        standing.quarantine_left()
    })
}

/// Grants again at once: for a quarantine that was set wrongly, such as by a clock that was ahead, and for a new
/// namespace that the engine cannot tell from a forgotten one. Who asks for it vouches that no lease lives that the
/// store has forgotten.
#[must_use]
pub fn end_quarantine(view: &View, asking: &Asking<'_>) -> Decision<()> {
    with_standing(view, asking, Standing::end_quarantine)
}

/// Ends a namespace: what stays of its record says until when leases of it may be in use, so that who opens it anew
/// waits for that: at least until the latest end of a lease that is known. `None` if it is not there. Its other texts may be
/// removed once this is written, also by a second drop if the first was interrupted.
#[must_use]
pub fn drop_namespace(
    view: &View,
    asking: &Asking<'_>,
    latest_end: u64,
) -> Decision<Option<NamespaceRecord>> {
    if view.namespace.is_none() || view.is_dropped() {
        return Decision {
            change: Change::none(view),
            answer: Ok(view.namespace.clone()),
        };
    }
    match Standing::of(view, asking) {
        Ok(mut standing) => {
            standing.quarantine(view, asking.seen, QuarantineCause::Dropped);
            standing.record.quarantine = standing.record.quarantine.max(latest_end);
            standing.record.reason.is_dropped = true;
            let change = standing.into_change();
            let answer = Ok(change.namespace_after.clone());
            Decision { change, answer }
        }
        Err(refusal) => Decision::refused(refusal),
    }
}

fn with_standing<T>(
    view: &View,
    asking: &Asking<'_>,
    rule: impl FnOnce(&mut Standing) -> T,
) -> Decision<T> {
    match Standing::of(view, asking) {
        Ok(mut standing) => {
            let answer = Ok(rule(&mut standing));
            let change = standing.into_change();
            Decision { change, answer }
        }
        Err(refusal) => Decision::refused(refusal),
    }
}
