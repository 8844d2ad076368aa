//! Raising the version of a namespace, once no holder needs the one before it.
//!
//! An acquire is written only while the namespace's record is what it was read as. So an upgrade first *announces* the
//! version in that record: from then on no process acquires that does not know it, nor renews a lease that a newer one has
//! renewed, and of older leases there can only become fewer. Then it looks for those, and *raises* the version or *withdraws* it. Until then all renewals go on.

use super::quarantine::{decide, existing_state};
use super::{Caller, Decision, NamespaceRecord, NamespaceState, NodeRecord, Versions, View};
use crate::types::StoreError;

/// Lets no process acquire that does not know the caller's version. Returns how often the namespace's record was written
/// by then.
#[must_use]
pub fn announce(view: &View, caller: &Caller<'_>) -> Decision<u64> {
    change(view, caller, |record| Versions {
        // Never lower: another upgrade may have announced a higher version.
        holder: record.versions.holder.max(caller.knows),
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

/// Lets records be written that no older program than the caller can read. Given what [`announce`] returned, it does so
/// only if the namespace's record is still as announced: `false` if it is not.
#[must_use]
pub fn raise(view: &View, caller: &Caller<'_>, announced: Option<u64>) -> Decision<bool> {
    let writes = view.namespace.as_ref().map(|record| record.writes);
    // Somebody may have withdrawn the announcement and let an older program acquire meanwhile.
    if announced.is_some() && announced != writes {
        return Decision::unchanged(view, false);
    }
    let raised = change(view, caller, |record| Versions {
        written: record.versions.written.max(caller.knows),
        holder: record.versions.holder.max(caller.knows),
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
        let why =
            "there is no such namespace: whoever leases makes it, in a version that all can read";
        return Decision::refused(StoreError::Invalid(why.to_owned()));
    }
    decide(existing_state(view, caller), |state| {
        let versions = rule(&state.record);
        Ok(state.allow(versions))
    })
}

impl NamespaceState {
    /// Refuses a process that may not acquire here, or not any more.
    pub(super) fn check_holder(&self, knows: u8) -> Result<(), StoreError> {
        let Versions { holder, .. } = self.record.versions;
        if holder <= knows {
            return Ok(());
        }
        Err(StoreError::failed_precondition(format!(
            "the namespace is being upgraded to version {holder}, and this randflake knows {knows}: update this one; if the \
             upgrade was interrupted, run `randflake lease upgrade` again"
        )))
    }
}

impl NodeRecord {
    /// Whether a process that does not know a version may use and renew this lease at a tick.
    pub(crate) fn has_older_holder(&self, version: u8, tick: u64) -> bool {
        self.held && tick < self.end && self.knows < version
    }
}
