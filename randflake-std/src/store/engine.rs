//! What an engine does for the rules.

use core::fmt::Debug;
use core::time::Duration;
use std::collections::BTreeMap;

use crate::rules::{Committed, Continuity, Key, Keys, Write};
use crate::vocabulary::{EngineError, Finding};

/// Where the records of one namespace are kept: texts under [`Key`]s. It decides nothing, and reads none of them.
///
/// # Contract
///
/// 1. **Read** gives the texts as they are at one moment, or as they were one after the other, together with
///    the engine's clock and its [`Continuity`] of then. What it creates for itself (tables, a file) is empty.
/// 2. **Write** writes all of a [`Write`] or nothing. It writes only if every text still is what was expected, the
///    clock is in its window, the engine still is what the fingerprint says, and no setting is a fault. It answers
///    [`Committed::Done`] only when the write survives a crash.
/// 3. Records appear when they are first written: opening costs the same with 2 and with 2^32 node ids.
/// 4. The cost of a read and a write depends on what is read and written, not on what else is there.
/// 5. An engine that holds a lock from a read to its write lets go of it in `abandon`.
pub trait Engine: Send + Debug {
    /// What it is and where, for errors: `the Redis server at 10.0.0.1:6379`.
    fn place(&self) -> String;

    /// Reads the texts that are there under some keys. If neither the namespace nor the counter is one of them, only texts
    /// are looked at, not the time or the continuity.
    ///
    /// # Errors
    ///
    /// [`EngineError`].
    fn read(&mut self, keys: &[Keys]) -> Result<Reading, EngineError>;

    /// Writes what was decided from the last read, or, where [`renews_unread`](Engine::renews_unread) says so, from
    /// what was written last.
    ///
    /// # Errors
    ///
    /// [`EngineError`]: if it is `Unavailable`, whether it was written is not known.
    fn write(&mut self, write: &Write) -> Result<Committed, EngineError>;

    /// Nothing follows from the last read.
    fn abandon(&mut self) {}

    /// The texts of node ids from one on, in their order: the first `most`, or all that there are. An engine that has no
    /// order gives all.
    ///
    /// # Errors
    ///
    /// As for `read`.
    fn list(&mut self, first: u32, most: usize) -> Result<Vec<(u32, String)>, EngineError>;

    /// The text of [`Key::Namespace`] of each namespace that is kept here, or of one only, by name. Creates nothing: `None`
    /// if there is no store yet.
    ///
    /// # Errors
    ///
    /// As for `read`.
    fn namespaces(
        &mut self,
        only: Option<&str>,
    ) -> Result<Option<BTreeMap<String, String>>, EngineError>;

    /// Puts a text where the store keeps the claim of a secret's check value, beside all namespaces, unless there is one;
    /// returns the text that is there then. It lasts at the latest when the write that follows is done. Of two clients
    /// that do so at once, both get the text of one.
    ///
    /// # Errors
    ///
    /// As for `write`.
    fn claim(&mut self, check: u32, text: &str) -> Result<String, EngineError>;

    /// Removes what is there under some keys of the history.
    ///
    /// # Errors
    ///
    /// As for `write`.
    fn forget(&mut self, keys: &Keys) -> Result<(), EngineError>;

    /// Removes the namespace's texts of node ids, pages, hints, the history and devices, if the text of [`Key::Namespace`] is this
    /// one.
    ///
    /// # Errors
    ///
    /// As for `write`.
    fn clear(&mut self, namespace: &str) -> Result<(), EngineError>;

    /// What the engine says of itself, but for the quarantine.
    ///
    /// # Errors
    ///
    /// As for `read`.
    fn diagnose(&mut self) -> Result<Vec<Finding>, EngineError> {
        Ok(Vec::new())
    }

    /// The only node id that there is here, if it is proven that no other process has a lease of it, as a lock on its
    /// only file does.
    fn assigned(&self) -> Option<u32> {
        None
    }

    /// Whether its clock is another machine's, as a server's is.
    fn has_own_clock(&self) -> bool {
        false
    }

    /// Whether the connection that it kept has broken since it was last used or asked, as far as is known without a round
    /// trip.
    fn has_disconnected(&mut self) -> bool {
        false
    }

    /// Whether clients look for free node ids at the same time, so that each should begin elsewhere.
    fn is_shared(&self) -> bool {
        true
    }

    /// Whether a renewal is written without a read before.
    fn renews_unread(&self) -> bool {
        false
    }

    /// How many node ids one write may have: an acquire of more is refused, renewals and releases are split.
    fn at_once(&self) -> usize {
        usize::MAX
    }

    /// An operation follows that should be answered within a part of this TTL.
    fn limit_for(&mut self, ttl: Duration) {
        _ = ttl;
    }
}

/// What an engine has read.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The engine's clock, as time since the Unix epoch.
    pub now: Duration,
    /// What the engine says of itself.
    pub continuity: Continuity,
    /// The texts that are there.
    pub texts: BTreeMap<Key, String>,
}
