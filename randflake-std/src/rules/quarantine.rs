//! What an administrator does with a namespace.

use core::time::Duration;

use super::{Asking, Change, Decision, NamespaceRecord, Standing, View};
use crate::vocabulary::{Quarantine, QuarantineCause, StoreError};

/// Makes the namespace's record if it is not there; says how it waits then.
#[must_use]
pub fn create(view: &View, asking: &Asking<'_>) -> Decision<Option<Quarantine>> {
    decide(Standing::of_a_holder(view, asking), |standing| {
        Ok(standing.quarantined())
    })
}

/// Makes the record of a namespace that was dropped anew, by these terms; says how long it waits for the leases of before.
#[must_use]
pub fn reopen(view: &View, asking: &Asking<'_>) -> Decision<Option<Quarantine>> {
    if !view.is_dropped() {
        let why = "the namespace was not dropped: there is nothing to open again";
        return Decision::refused(StoreError::Invalid(why.to_owned()));
    }
    decide(Standing::of(view, asking), |standing| {
        Ok(standing.quarantined())
    })
}

/// Grants nothing until every lease granted so far has expired, also any that the store does not know of; says how
/// long that takes.
#[must_use]
pub fn quarantine(view: &View, asking: &Asking<'_>) -> Decision<Duration> {
    if view.namespace.is_none() {
        let why = "there is no such namespace: whoever leases makes it, and it waits then if the store may have lost it";
        return Decision::refused(StoreError::Invalid(why.to_owned()));
    }
    decide(existing(view, asking), |standing| {
        standing.quarantine(view, asking.seen, QuarantineCause::Asked);
        Ok(standing.quarantine_left())
    })
}

/// Declares that the namespace is new, so that it grants at once: no lease was ever granted in it. Refused if anything
/// speaks against that: `has_leases` says that node ids have records.
#[must_use]
pub fn end_quarantine(view: &View, asking: &Asking<'_>, has_leases: bool) -> Decision<()> {
    decide(Standing::of_a_holder(view, asking), |standing| {
        let Some(quarantine) = standing.quarantined() else {
            return Ok(());
        };
        let refusal = if quarantine.cause != QuarantineCause::New {
            Some(quarantine.to_string())
        } else if has_leases {
            Some("node ids of it were leased".to_owned())
        } else if asking.seen.has_changed(view.namespace.as_ref()) {
            Some("another process has written it meanwhile".to_owned())
        } else {
            None
        };
        if let Some(why) = refusal {
            return Err(StoreError::NotNew(why));
        }
        standing.end_quarantine();
        Ok(())
    })
}

/// Grants again at once, whatever the quarantine is for, such as one that was set by a clock that was ahead. Who asks
/// for it vouches that no lease lives that the store has forgotten.
#[must_use]
pub fn override_quarantine(view: &View, asking: &Asking<'_>) -> Decision<()> {
    decide(existing(view, asking), |standing| {
        standing.end_quarantine();
        Ok(())
    })
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

/// The namespace, unless it was dropped.
pub(super) fn existing(view: &View, asking: &Asking<'_>) -> Result<Standing, StoreError> {
    let standing = Standing::of(view, asking)?;
    standing.check_dropped()?;
    Ok(standing)
}

/// What is noticed of a namespace is written, whatever the answer is.
pub(super) fn decide<T>(
    standing: Result<Standing, StoreError>,
    rule: impl FnOnce(&mut Standing) -> Result<T, StoreError>,
) -> Decision<T> {
    match standing {
        Ok(mut standing) => {
            let answer = rule(&mut standing);
            let change = standing.into_change();
            Decision { change, answer }
        }
        Err(refusal) => Decision::refused(refusal),
    }
}
