//! The rules of an operator's changes to a namespace: quarantine, drop, move, next key, upgrade.
//!
//! Each is one conditional write of the namespace's record. An acquire or a renewal is written only
//! while that record is what it was read as, so each comes wholly before the change or after it.
//!
//! **The next key** of tagged UUIDs therefore separates leases under the old number from those
//! under the new one. No two ids are equal because of the number alone: intervals of ticks are
//! disjoint over all keys.
//!
//! **An upgrade** first *announces* the version: from then on no process acquires that does not
//! know it, nor renews a lease that a newer one has renewed, so of older leases there can only
//! become fewer. Then it looks for those, and *raises* the version or *withdraws* it. Until then
//! all renewals go on.

use core::time::Duration;

use super::{
    Caller, Change, Decision, NamespaceRecord, NamespaceState, NodeRecord, Versions, View,
};
use crate::types::{KeyCheck, Quarantine, QuarantineCause, StoreError, Terms};

/// Creates the record of the namespace if it is missing. Returns the quarantine that it is in.
#[must_use]
pub fn create(view: &View, caller: &Caller<'_>) -> Decision<Option<Quarantine>> {
    decide(NamespaceState::of_a_holder(view, caller), |state| {
        Ok(state.quarantined())
    })
}

/// Reopens a dropped namespace under new terms. Returns the quarantine that waits for leases from
/// before.
#[must_use]
pub fn reopen(view: &View, caller: &Caller<'_>) -> Decision<Option<Quarantine>> {
    if !view.is_dropped() {
        let why = "the namespace was not dropped: there is nothing to open again";
        return Decision::refused(StoreError::Invalid(why.to_owned()));
    }
    // `of`: the state of a holder would refuse a dropped namespace.
    decide(NamespaceState::of(view, caller), |state| {
        Ok(state.quarantined())
    })
}

/// Starts a quarantine that outlasts every lease granted so far, known or not. Returns its length.
#[must_use]
pub fn quarantine(view: &View, caller: &Caller<'_>) -> Decision<Duration> {
    if view.namespace.is_none() {
        let why = "there is no such namespace: the first client that leases creates it, and it waits then if the store may have lost it";
        return Decision::refused(StoreError::Invalid(why.to_owned()));
    }
    // An operator may not know the longest TTL, so the stored one counts.
    decide(existing_state(view, caller), |state| {
        state.quarantine(view, caller.seen, QuarantineCause::Asked);
        Ok(state.quarantine_left())
    })
}

/// Ends the quarantine of a new namespace, because no lease was ever granted in it. Refused if
/// anything contradicts that; `has_leases` says that records of node ids exist.
#[must_use]
pub fn end_quarantine(view: &View, caller: &Caller<'_>, has_leases: bool) -> Decision<()> {
    decide(NamespaceState::of_a_holder(view, caller), |state| {
        let Some(quarantine) = state.quarantined() else {
            return Ok(());
        };
        // In the order in which they are proof: what the store says, what is in it, what others
        // have done.
        let refusal = if quarantine.cause != QuarantineCause::New {
            Some(quarantine.to_string())
        } else if has_leases {
            Some("node ids of it were leased".to_owned())
        } else if caller.seen.has_changed(view.namespace.as_ref()) {
            Some("another process has written it meanwhile".to_owned())
        } else {
            None
        };
        if let Some(why) = refusal {
            return Err(StoreError::NotNew(why));
        }
        state.end_quarantine();
        Ok(())
    })
}

/// Ends a quarantine of any cause, such as one set by a wrong clock. The caller vouches that no
/// forgotten lease is alive.
#[must_use]
pub fn override_quarantine(view: &View, caller: &Caller<'_>) -> Decision<()> {
    decide(existing_state(view, caller), |state| {
        state.end_quarantine();
        Ok(())
    })
}

/// Lets a copy take the place of its original, which the caller vouches is gone. Returns the
/// quarantine that waits for what the original has granted since; does nothing if the store is no
/// copy.
///
/// A dropped namespace stays so.
#[must_use]
pub fn declare_moved(view: &View, caller: &Caller<'_>) -> Decision<Option<Quarantine>> {
    if !view.is_copied() {
        return decide(NamespaceState::of(view, caller), |state| {
            Ok(state.quarantined())
        });
    }
    match view.namespace.as_ref().filter(|_| view.is_dropped()) {
        // The original may have been opened again. The empty fingerprint is no engine's, so that
        // opening this one waits too.
        Some(mark) => Decision {
            change: Change {
                namespace_after: Some(NamespaceRecord {
                    writes: mark.writes.saturating_add(1),
                    identity: view.continuity.identity.clone(),
                    fingerprint: String::new(),
                    ..mark.clone()
                }),
                ..Change::none(view)
            },
            answer: Ok(None),
        },
        None => decide(NamespaceState::of_a_copy(view, caller), |state| {
            Ok(state.quarantined())
        }),
    }
}

/// Drops a namespace. Its record becomes a mark that says how long leases of it may be in use, so
/// that a reopening waits for them. `None` if it is not there; the mark that is there if it was
/// dropped.
///
/// The other texts may be removed once the mark [outlasts](outlast) them.
#[must_use]
pub fn drop_namespace(view: &View, caller: &Caller<'_>) -> Decision<Option<NamespaceRecord>> {
    // A second drop is answered with the mark, so that its caller can go on removing.
    if view.namespace.is_none() || view.is_dropped() {
        return Decision::unchanged(view, view.namespace.clone());
    }
    match NamespaceState::of(view, caller) {
        Ok(mut state) => {
            // Of leases that the store has forgotten. Those that it has may end later: the mark is
            // written some time after the view was read.
            state.quarantine(view, caller.seen, QuarantineCause::Dropped);
            state.record.reason.is_dropped = true;
            // Also where a quarantine was running: what is made later than the mark is later than
            // this.
            state.record.reason.since = state.now.tick;
            let change = state.into_change();
            let answer = Ok(change.namespace_after.clone());
            Decision { change, answer }
        }
        Err(refusal) => Decision::refused(refusal),
    }
}

/// Lets the mark of a drop wait for the latest end of all leases that are there. They are read
/// after the mark was written: from then on none is granted or renewed. Returns the mark, on whose
/// condition they may be removed; `None` if the namespace is not dropped any more.
#[must_use]
pub fn outlast(view: &View, latest_end: u64) -> Decision<Option<NamespaceRecord>> {
    let mark = view.namespace.as_ref().filter(|_| view.is_dropped());
    let longer = mark
        .filter(|mark| mark.quarantine < latest_end)
        .map(|mark| NamespaceRecord {
            writes: mark.writes.saturating_add(1),
            quarantine: latest_end,
            ..mark.clone()
        });
    let answer = longer.as_ref().or(mark).cloned();
    Decision {
        change: Change {
            namespace_after: longer,
            ..Change::none(view)
        },
        answer: Ok(answer),
    }
}

/// State of the namespace; refused if it was dropped.
pub(super) fn existing_state(
    view: &View,
    caller: &Caller<'_>,
) -> Result<NamespaceState, StoreError> {
    let state = NamespaceState::of(view, caller)?;
    state.check_dropped()?;
    Ok(state)
}

/// Writes what was noticed about the namespace, whatever the answer is.
pub(super) fn decide<T>(
    state: Result<NamespaceState, StoreError>,
    rule: impl FnOnce(&mut NamespaceState) -> Result<T, StoreError>,
) -> Decision<T> {
    match state {
        Ok(mut state) => {
            let answer = rule(&mut state);
            let change = state.into_change();
            Decision { change, answer }
        }
        Err(refusal) => Decision::refused(refusal),
    }
}

/// Lets the namespace go on to the key that follows on its own. Does nothing if it has that key
/// already, so that the command may be repeated.
#[must_use]
pub fn next_key(view: &View, next: KeyCheck, caller: &Caller<'_>) -> Decision<()> {
    if view.namespace.is_none() {
        let why = "there is no such namespace: the first client that leases creates it, under the highest key number that it has";
        return Decision::refused(StoreError::Invalid(why.to_owned()));
    }
    decide(existing_state(view, caller), |state| {
        if follows(&state.record.terms, next)? {
            state.set_key(next);
        }
        Ok(())
    })
}

/// Whether a key is the next one; `false` if it is the one that is stored.
fn follows(terms: &Terms, next: KeyCheck) -> Result<bool, StoreError> {
    let Some(key_check) = terms.key_check else {
        let why = "no key is known of the namespace: the first client that leases with one says under which number it begins";
        return Err(StoreError::Invalid(why.to_owned()));
    };
    let asked = Terms {
        key_check: Some(next),
        ..*terms
    };
    match key_check.number().zip(next.number()) {
        Some(_) if key_check == next => Ok(false),
        // Two secrets of one number: readers would refuse what was made under one of them. Or it
        // has other ids.
        Some((stored, number)) if stored == number => Err(terms.refused(&asked)),
        None => Err(terms.refused(&asked)),
        Some((stored, asked)) if stored.next() != Some(asked) => {
            Err(StoreError::KeyNumber { stored, asked })
        }
        Some((stored, number)) if key_check.value() == next.value() => {
            Err(StoreError::Invalid(format!(
                "the secret of key number {number} is that of {stored}: a next key needs another one, from `randflake keygen`"
            )))
        }
        Some(_) => Ok(true),
    }
}

/// Lets no process acquire that does not know the caller's version. Returns how often the
/// namespace's record was written by then.
#[must_use]
pub fn announce(view: &View, caller: &Caller<'_>) -> Decision<u64> {
    change(view, caller, |record| Versions {
        // Never lower: another upgrade may have announced a higher version.
        holder: record.versions.holder.max(caller.capabilities),
        ..record.versions
    })
}

/// Lets older processes acquire again.
#[must_use]
pub fn withdraw(view: &View, caller: &Caller<'_>) -> Decision<u64> {
    change(view, caller, |record| Versions {
        // Only as far as the records need: `written` never goes back.
        holder: record.versions.written,
        ..record.versions
    })
}

/// Lets records be written that no older program than the caller can read. Given what [`announce`]
/// returned, it does so only if the namespace's record is still as announced: `false` if it is not.
#[must_use]
pub fn raise(view: &View, caller: &Caller<'_>, announced: Option<u64>) -> Decision<bool> {
    let writes = view.namespace.as_ref().map(|record| record.writes);
    // Somebody may have withdrawn the announcement and let an older program acquire meanwhile.
    if announced.is_some() && announced != writes {
        return Decision::unchanged(view, false);
    }
    let raised = change(view, caller, |record| Versions {
        written: record.versions.written.max(caller.capabilities),
        holder: record.versions.holder.max(caller.capabilities),
    });
    Decision {
        change: raised.change,
        answer: raised.answer.map(|_| true),
    }
}

fn change(
    view: &View,
    caller: &Caller<'_>,
    rule: impl FnOnce(&NamespaceRecord) -> Versions,
) -> Decision<u64> {
    if view.namespace.is_none() {
        let why = "there is no such namespace: the first client that leases creates it, in a version that all can read";
        return Decision::refused(StoreError::Invalid(why.to_owned()));
    }
    decide(existing_state(view, caller), |state| {
        let versions = rule(&state.record);
        Ok(state.allow(versions))
    })
}

impl NamespaceState {
    /// Refuses a process that may not acquire here, or not any more.
    pub(super) fn check_holder(&self, capabilities: u8) -> Result<(), StoreError> {
        let Versions { holder, .. } = self.record.versions;
        if holder <= capabilities {
            return Ok(());
        }
        Err(StoreError::failed_precondition(format!(
            "the namespace is being upgraded to version {holder}, and this randflake knows {capabilities}: update this one; if the \
             upgrade was interrupted, run `randflake lease upgrade` again"
        )))
    }
}

impl NodeRecord {
    /// Whether a process that does not know a version may use and renew this lease at a tick.
    pub(crate) fn has_older_holder(&self, version: u8, tick: u64) -> bool {
        self.held && tick < self.end && self.capabilities < version
    }
}
