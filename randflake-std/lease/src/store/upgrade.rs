//! An upgrade of the namespace, in the order that its rules ask for.

use super::{Engine, LeaseStore};
use crate::rules::{announce, raise, withdraw};
use crate::vocabulary::{Record, StoreError, Upgrade};

/// How often an upgrade begins anew because the namespace's record was changed meanwhile.
const TRIES: usize = 10;

impl LeaseStore {
    /// Lets records of this namespace be written in the highest version that this program knows, which older programs
    /// cannot read. Needed once after an update that says so: until then both work side by side.
    ///
    /// Refused as [`Upgrade::OlderHolders`] while a holder lives that does not know the version, unless `force` is set. An
    /// older program that meets an upgraded namespace writes nothing, issues until its lease ends, and says why.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] when there is no such namespace, [`StoreError::Dropped`], and those of the engine.
    pub fn upgrade_namespace(&mut self, force: bool) -> Result<Upgrade, StoreError> {
        let version = self.records.knows;
        // A mere look, so that a repetition of the command writes nothing.
        let before = self.namespace_state()?.record.versions.written;
        if before >= version {
            return Ok(Upgrade::Done {
                before,
                version: before,
            });
        }
        // Whoever forces it has been told which leases stop; looking for them again would change nothing.
        if force {
            self.administer(|view, caller| raise(view, caller, None))?;
            return Ok(Upgrade::Done { before, version });
        }
        for _ in 0..TRIES {
            // A look before the announcement: nobody is kept from acquiring by an upgrade that is refused.
            let mut holders = self.older_holders()?;
            let mut announced = 0;
            if holders.is_empty() {
                announced = self.administer(announce)?;
                // Again: an older process may have acquired before the announcement was written.
                holders = self.older_holders()?;
            }
            if !holders.is_empty() {
                // Also what an upgrade has left that was interrupted.
                self.administer(withdraw)?;
                return Ok(Upgrade::OlderHolders {
                    before,
                    version,
                    holders,
                });
            }
            // `false`: the record has changed, so an older process may have acquired meanwhile.
            if self.administer(|view, caller| raise(view, caller, Some(announced)))? {
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
        Ok(self.namespace_state()?.record.versions.written)
    }

    /// What tests of fleets of two versions look behind: the engine, and the version that this client knows. `None` from a
    /// store that has not been opened yet.
    #[doc(hidden)]
    pub fn internals(&mut self) -> Option<(&mut dyn Engine, &mut u8)> {
        self.records.internals()
    }

    /// The leases that live whose holders do not know this program's version.
    fn older_holders(&mut self) -> Result<Vec<Record>, StoreError> {
        // The time first: what is granted in between counts as live.
        let now = self.namespace_state()?.now;
        let records = self.records.list(0..=u32::MAX, usize::MAX)?;
        let version = self.records.knows;
        let older = records.into_iter();
        let older = older.filter(|record| record.has_older_holder(version, now.tick));
        Ok(older.map(Record::from).collect())
    }
}
