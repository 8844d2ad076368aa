//! Facet of a store: what an operator does with its namespace.

use core::time::Duration;

use randflake_core::KeyNumber;

use super::LeaseStore;
use super::operation::ClockCheck;
use crate::rules::{
    Caller, Decision, Demand, View, announce, create, declare_moved, drop_namespace,
    end_quarantine, next_key, outlast, override_quarantine, quarantine, raise, reopen, withdraw,
};
use crate::secret::Secret;
use crate::types::{Finding, KeyCheck, Quarantine, Record, StoreError, Upgrade};

/// How often an upgrade begins anew because the namespace's record was changed meanwhile.
const UPGRADE_TRIES: usize = 10;

impl LeaseStore {
    /// Operations on the namespace as a whole, for operators.
    pub fn administration(&mut self) -> Administration<'_> {
        Administration { store: self }
    }
}

/// Operations of an operator on a namespace, as [`LeaseStore::administration`] returns them.
#[derive(Debug)]
pub struct Administration<'a> {
    store: &'a mut LeaseStore,
}

impl Administration<'_> {
    /// Creates the namespace if it is not there, by this store's terms, without a lease. Returns
    /// the quarantine that it is in: on a server a namespace that is not there may have been lost.
    ///
    /// # Errors
    ///
    /// As for [`acquire`](LeaseStore::acquire).
    pub fn create_namespace(&mut self) -> Result<Option<Quarantine>, StoreError> {
        self.store.administer(create)
    }

    /// Starts a quarantine: grants nothing until every lease granted so far has expired, including
    /// any that the store does not know. Returns how long that takes. For an operator who has
    /// restored a backup in a way that the store cannot detect.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] and [`StoreError::ClockSkew`]; [`StoreError::Invalid`] if the
    /// namespace is not there.
    pub fn start_quarantine(&mut self) -> Result<Duration, StoreError> {
        self.store.administer(quarantine)
    }

    /// Declares that the namespace is new, so that it grants at once: creates it if it is not
    /// there, and ends its quarantine. For an operator, or a test, who knows that no lease was ever
    /// granted in it. Does nothing if there is no quarantine.
    ///
    /// One conditional write: it takes place only if the quarantine's cause is
    /// [`QuarantineCause::New`](crate::QuarantineCause::New), no node id was leased, and no other
    /// process has made the namespace anew or moved its quarantine since this store has seen it
    /// first. A holder of a lease from before the store lost its memory does that when it renews:
    /// so who is not sure calls [`create_namespace`](Self::create_namespace) first, and this after
    /// a third of the longest TTL and some seconds.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotNew`], and as for [`acquire`](LeaseStore::acquire).
    pub fn end_quarantine(&mut self) -> Result<(), StoreError> {
        // A client that leases one after this look has ended the quarantine itself.
        let has_leases = self.store.ready()?.has_leases()?;
        self.store
            .administer(|view, caller| end_quarantine(view, caller, has_leases))
    }

    /// Ends a quarantine whatever it is for, as one that was set by a wrong clock. A caller that
    /// ends one too early lets ids repeat: no process may hold a lease that the store has
    /// forgotten.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] and [`StoreError::ClockSkew`]; [`StoreError::Dropped`].
    pub fn override_quarantine(&mut self) -> Result<(), StoreError> {
        self.store.administer(override_quarantine)
    }

    /// The quarantine, if the namespace is in one. Nothing is written.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`].
    pub fn current_quarantine(&mut self) -> Result<Option<Quarantine>, StoreError> {
        Ok(self.store.namespace_state()?.quarantined())
    }

    /// Removes the namespace's leases and terms; its counter stays. From then on every acquire is
    /// refused as [`StoreError::Dropped`] until a person opens it again:
    /// [`reopen_namespace`](Self::reopen_namespace). Does nothing where the namespace is not there.
    ///
    /// Live leases are removed too: their holders go on until these leases end, and cannot renew
    /// them.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] and [`StoreError::ClockSkew`].
    pub fn drop_namespace(&mut self) -> Result<(), StoreError> {
        // A right that is missing is told before anything is written: this is no namespace's text.
        self.store.ready()?.clear("-")?;
        self.store.administer(drop_namespace)?;
        // Also if an earlier drop was interrupted here: the mark is there, and the rest is removed
        // now.
        self.store.clear_dropped()
    }

    /// Opens a namespace again that was dropped, by this store's terms, which may be other ones
    /// than before. Returns the quarantine in which it waits until every lease from before has
    /// expired, unless they have.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] if it was not dropped; [`StoreError::Unavailable`] and
    /// [`StoreError::ClockSkew`].
    pub fn reopen_namespace(&mut self) -> Result<Option<Quarantine>, StoreError> {
        self.store.administer(reopen)
    }

    /// Lets this store take the place of its original, which is gone for good: it was moved by a
    /// dump or a snapshot that was restored elsewhere. Returns the quarantine in which it waits
    /// until every lease has expired that the original may have granted since. Does nothing where
    /// the store is no copy.
    ///
    /// Until then a copy refuses every operation as [`StoreError::FailedPrecondition`]. An operator
    /// who calls this while the original is in use lets ids repeat: both grant the same node ids.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] and [`StoreError::ClockSkew`].
    pub fn declare_moved(&mut self) -> Result<Option<Quarantine>, StoreError> {
        self.store.administer(declare_moved)
    }

    /// Lets a namespace of tagged UUIDs go on to its next key: the secret of the number after the
    /// one that is stored. Does nothing if it is the stored one, so that the command may be
    /// repeated.
    ///
    /// From then on every acquire and renewal under the number before is refused as
    /// [`StoreError::KeyNumber`]. Leases that there are go on until they end: after one longest TTL
    /// at most, nobody issues under the old key. So first give the new secret to all readers, then
    /// to all holders, and call this last. Uniqueness does not rest on any of that.
    ///
    /// # Errors
    ///
    /// - [`StoreError::KeyNumber`]: another number comes next;
    /// - [`StoreError::Terms`]: the namespace has this number with another secret, or has no tagged
    ///   UUIDs;
    /// - [`StoreError::SecretTaken`]: the secret is another namespace's;
    /// - [`StoreError::Invalid`]: it is the secret of the number before, the namespace is not
    ///   there, or nobody has leased in it with a key;
    /// - [`StoreError::Dropped`], and those of the engine.
    pub fn next_key(&mut self, number: KeyNumber, secret: &Secret) -> Result<(), StoreError> {
        let next = KeyCheck::tagged(number, &secret.cipher());
        self.store
            .administer(|view, caller| next_key(view, next, caller))
    }

    /// Checks the store and its settings, for `randflake doctor` and similar tools: see
    /// [`Finding`].
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`]. A wrong setting is a finding, not an error.
    pub fn diagnose(&mut self) -> Result<Vec<Finding>, StoreError> {
        let mut findings = self.store.ready()?.engine().diagnose()?;
        let view = self.store.namespace_view()?;
        if let Err(StoreError::FailedPrecondition(why)) = view.check_copied() {
            findings.push(Finding::wrong("copy", "of another store", why.to_string()));
            return Ok(findings);
        }
        findings.push(match self.store.state_of(&view) {
            Ok(state) => Finding::quarantine(state.quarantined(), state.quarantine_left()),
            // A setting by which nothing may be granted. The findings before say which, and what to
            // do.
            Err(StoreError::FailedPrecondition(why)) => {
                Finding::wrong("quarantine", "not known", why.to_string())
            }
            Err(error) => return Err(error),
        });
        Ok(findings)
    }

    /// Lets records of this namespace be written in the highest version that this program knows,
    /// which older programs cannot read. Needed once after an update that says so: until then both
    /// work side by side.
    ///
    /// Refused as [`Upgrade::OlderHolders`] while a holder lives that does not know the version,
    /// unless `force` is set. An older program that meets an upgraded namespace writes nothing,
    /// issues until its lease ends, and says why.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] when there is no such namespace, [`StoreError::Dropped`], and those
    /// of the engine.
    pub fn upgrade_namespace(&mut self, force: bool) -> Result<Upgrade, StoreError> {
        let version = self.store.records.capabilities;
        // A mere look, so that a repetition of the command writes nothing.
        let before = self.store.namespace_state()?.record.versions.written;
        if before >= version {
            return Ok(Upgrade::Done {
                before,
                version: before,
            });
        }
        // A caller that forces it has been told which leases stop; looking for them again would
        // change nothing.
        if force {
            self.store
                .administer(|view, caller| raise(view, caller, None))?;
            return Ok(Upgrade::Done { before, version });
        }
        for _ in 0..UPGRADE_TRIES {
            // A look before the announcement: nobody is kept from acquiring by an upgrade that is
            // refused.
            let mut holders = self.older_holders()?;
            let mut announced = 0;
            if holders.is_empty() {
                announced = self.store.administer(announce)?;
                // Again: an older process may have acquired before the announcement was written.
                holders = self.older_holders()?;
            }
            if !holders.is_empty() {
                // Also what an upgrade has left that was interrupted.
                self.store.administer(withdraw)?;
                return Ok(Upgrade::OlderHolders {
                    before,
                    version,
                    holders,
                });
            }
            // `false`: the record has changed, so an older process may have acquired meanwhile.
            if self
                .store
                .administer(|view, caller| raise(view, caller, Some(announced)))?
            {
                return Ok(Upgrade::Done { before, version });
            }
        }
        Err(StoreError::unavailable(
            "other clients changed the namespace each time",
        ))
    }

    /// Returns the version that records of this namespace may be written in.
    ///
    /// # Errors
    ///
    /// Those of the engine.
    pub fn version(&mut self) -> Result<u8, StoreError> {
        Ok(self.store.namespace_state()?.record.versions.written)
    }

    /// Live leases whose holders do not know this program's version.
    fn older_holders(&mut self) -> Result<Vec<Record>, StoreError> {
        // The time first: what is granted in between counts as live.
        let now = self.store.namespace_state()?.now;
        let records = self.store.records.list(0..=u32::MAX, usize::MAX)?;
        let version = self.store.records.capabilities;
        Ok(records
            .into_iter()
            .filter(|record| record.has_older_holder(version, now.tick))
            .map(Record::from)
            .collect())
    }
}

impl LeaseStore {
    /// Removes what a drop leaves but its mark, which waits for all leases that are removed.
    pub(super) fn clear_dropped(&mut self) -> Result<(), StoreError> {
        // After the mark nothing is granted or renewed, so these are the last ends; also of leases
        // that were renewed while the drop was on its way, and those that a wrong clock granted far
        // ahead.
        let records = self.records.list(0..=u32::MAX, usize::MAX)?;
        let latest_end = records.iter().map(|record| record.end).max().unwrap_or(0);
        if let Some(mark) = self.administer(|view, _| outlast(view, latest_end))? {
            // If this very mark is still there: a namespace opened again meanwhile stays.
            self.records.clear(&mark.to_text())?;
        }
        Ok(())
    }

    /// Decides on the namespace alone.
    pub(super) fn administer<T>(
        &mut self,
        rule: impl Fn(&View, &Caller<'_>) -> Decision<T>,
    ) -> Result<T, StoreError> {
        match self.run(&Demand::default(), ClockCheck::ThisMachine, rule) {
            Ok(completed) => Ok(completed.answer),
            Err(failure) => Err(failure.error),
        }
    }
}
