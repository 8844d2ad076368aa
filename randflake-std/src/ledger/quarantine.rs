//! What an administrator does with a namespace.

use core::time::Duration;

use super::{Asking, Decision, Standing, View};

/// Grants nothing until every lease granted so far has expired, also any that the store does not know of; says how
/// long that takes.
#[must_use]
pub fn quarantine(view: &View, asking: &Asking<'_>) -> Decision<Duration> {
    with_standing(view, asking, |standing| {
        standing.quarantine(view, asking.seen);
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
