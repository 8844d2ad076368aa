//! What an operator does with a namespace, and asks of its store.

use core::time::Duration;

use randflake_core::KeyNumber;

use super::LeaseStore;
use crate::rules::{
    Caller, Decision, View, Wanted, create, declare_moved, drop_namespace, end_quarantine,
    next_key, outlast, override_quarantine, quarantine, reopen,
};
use crate::secret::Secret;
use crate::vocabulary::{Finding, KeyCheck, Quarantine, StoreError};

impl LeaseStore {
    /// Creates the namespace if it is not there, by this store's terms, without a lease. Returns the quarantine that it is in:
    /// on a server a namespace that is not there may have been lost.
    ///
    /// # Errors
    ///
    /// As for [`acquire`](LeaseStore::acquire).
    pub fn create_namespace(&mut self) -> Result<Option<Quarantine>, StoreError> {
        self.administer(create)
    }

    /// Starts a quarantine: grants nothing until every lease granted so far has expired, including any that the store
    /// does not know. Returns how long that takes. For an operator who has restored a backup in a way that the store
    /// cannot detect.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] and [`StoreError::ClockSkew`]; [`StoreError::Invalid`] if the namespace is not there.
    pub fn quarantine(&mut self) -> Result<Duration, StoreError> {
        self.administer(quarantine)
    }

    /// Declares that the namespace is new, so that it grants at once: creates it if it is not there, and ends its
    /// quarantine. For an operator, or a test, who knows that no lease was ever granted in it. Does nothing if there is no
    /// quarantine.
    ///
    /// One conditional write: it takes place only if the quarantine's cause is [`QuarantineCause::New`](crate::QuarantineCause::New),
    /// no node id was leased, and no other process has made the namespace anew or moved its quarantine since this store
    /// has seen it first. A holder of a lease from before the store lost its memory does that when it renews: so who is not
    /// sure calls [`create_namespace`](LeaseStore::create_namespace) first, and this after a third of the longest TTL and
    /// some seconds.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotNew`], and as for [`acquire`](LeaseStore::acquire).
    pub fn end_quarantine(&mut self) -> Result<(), StoreError> {
        // Whoever leases one after this look has ended the quarantine itself.
        let has_leases = self.ready()?.has_leases()?;
        self.administer(|view, caller| end_quarantine(view, caller, has_leases))
    }

    /// Ends a quarantine whatever it is for, as one that was set by a wrong clock. Whoever ends one too early lets ids
    /// repeat: no process may hold a lease that the store has forgotten.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] and [`StoreError::ClockSkew`]; [`StoreError::Dropped`].
    pub fn override_quarantine(&mut self) -> Result<(), StoreError> {
        self.administer(override_quarantine)
    }

    /// The quarantine, if the namespace is in one. Nothing is written.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`].
    pub fn quarantined(&mut self) -> Result<Option<Quarantine>, StoreError> {
        Ok(self.namespace_state()?.quarantined())
    }

    /// Removes the namespace's leases and terms; its counter stays. From then on every acquire is refused as
    /// [`StoreError::Dropped`] until a person opens it again: [`reopen_namespace`](LeaseStore::reopen_namespace). Does nothing
    /// where the namespace is not there.
    ///
    /// Live leases are removed too: their holders go on until these leases end, and cannot renew them.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] and [`StoreError::ClockSkew`].
    pub fn drop_namespace(&mut self) -> Result<(), StoreError> {
        // A right that is missing is told before anything is written: this is no namespace's text.
        self.ready()?.clear("-")?;
        self.administer(drop_namespace)?;
        // Also if an earlier drop was interrupted here: the mark is there, and the rest is removed now.
        self.clear_dropped()
    }

    /// Removes what a drop leaves but its mark, which waits for all leases that are removed.
    pub(super) fn clear_dropped(&mut self) -> Result<(), StoreError> {
        // After the mark nothing is granted or renewed, so these are the last ends; also of leases that were renewed while
        // the drop was on its way, and those that a wrong clock granted far ahead.
        let records = self.records.list(0..=u32::MAX, usize::MAX)?;
        let latest_end = records.iter().map(|record| record.end).max().unwrap_or(0);
        if let Some(mark) = self.administer(|view, _| outlast(view, latest_end))? {
            // If this very mark is still there: a namespace opened again meanwhile stays.
            self.records.clear(&mark.to_text())?;
        }
        Ok(())
    }

    /// Opens a namespace again that was dropped, by this store's terms, which may be other ones than before. Returns the
    /// quarantine in which it waits until every lease from before has expired, unless they have.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] if it was not dropped; [`StoreError::Unavailable`] and [`StoreError::ClockSkew`].
    pub fn reopen_namespace(&mut self) -> Result<Option<Quarantine>, StoreError> {
        self.administer(reopen)
    }

    /// Lets this store take the place of its original, which is gone for good: it was moved by a dump or a snapshot that was
    /// restored elsewhere. Returns the quarantine in which it waits until every lease has expired that the original may
    /// have granted since. Does nothing where the store is no copy.
    ///
    /// Until then a copy refuses every operation as [`StoreError::Unusable`]. Whoever calls this while the original is in
    /// use lets ids repeat: both grant the same node ids.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] and [`StoreError::ClockSkew`].
    pub fn declare_moved(&mut self) -> Result<Option<Quarantine>, StoreError> {
        self.administer(declare_moved)
    }

    /// Lets a namespace of tagged UUIDs go on to its next key: the secret of the number after the one that is stored. Does
    /// nothing if it is the stored one, so that the command may be repeated.
    ///
    /// From then on every acquire and renewal under the number before is refused as [`StoreError::KeyNumber`]. Leases that
    /// there are go on until they end: after one longest TTL at most, nobody issues under the old key. So first give the new
    /// secret to all readers, then to all holders, and call this last. Uniqueness does not rest on any of that.
    ///
    /// # Errors
    ///
    /// - [`StoreError::KeyNumber`]: another number comes next;
    /// - [`StoreError::Terms`]: the namespace has this number with another secret, or has no tagged UUIDs;
    /// - [`StoreError::SecretTaken`]: the secret is another namespace's;
    /// - [`StoreError::Invalid`]: it is the secret of the number before, the namespace is not there, or nobody has leased in
    ///   it with a key;
    /// - [`StoreError::Dropped`], and those of the engine.
    pub fn next_key(&mut self, number: KeyNumber, secret: &Secret) -> Result<(), StoreError> {
        let next = KeyCheck::tagged(number, &secret.cipher());
        self.administer(|view, caller| next_key(view, next, caller))
    }

    /// Checks the store and its settings, for `randflake doctor` and similar tools: see [`Finding`].
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`]. A wrong setting is a finding, not an error.
    pub fn diagnose(&mut self) -> Result<Vec<Finding>, StoreError> {
        let mut findings = self.ready()?.engine().diagnose()?;
        let view = self.namespace_view()?;
        if let Err(StoreError::Unusable(why)) = view.check_copied() {
            findings.push(Finding::wrong("copy", "of another store", why.to_string()));
            return Ok(findings);
        }
        findings.push(match self.state_of(&view) {
            Ok(state) => Finding::quarantine(state.quarantined(), state.quarantine_left()),
            // A setting by which nothing may be granted. The findings before say which, and what to do.
            Err(StoreError::Unusable(why)) => {
                Finding::wrong("quarantine", "not known", why.to_string())
            }
            Err(error) => return Err(error),
        });
        Ok(findings)
    }

    /// Decides on the namespace alone.
    pub(super) fn administer<T>(
        &mut self,
        rule: impl Fn(&View, &Caller<'_>) -> Decision<T>,
    ) -> Result<T, StoreError> {
        let done = self.run(&Wanted::default(), false, rule);
        done.map(|done| done.answer).map_err(|undone| undone.error)
    }
}
