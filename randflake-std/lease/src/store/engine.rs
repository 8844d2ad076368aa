//! The contract of an engine.

use core::fmt::Debug;
use core::time::Duration;
use std::collections::BTreeMap;

use super::LeaseStore;
use crate::rules::{Continuity, Key, Keys, Removal, Write, WriteOutcome, history};
use crate::types::{ASSUMED_MAX_TTL, EngineError, Finding, StoreError};

/// Where the records of one namespace are kept: texts of one line under [`Key`]s. It decides
/// nothing, and reads none of them. Each is kept under the name that [`Key::scope`] returns: the
/// namespace's, or for a claim the empty one.
///
/// # Contract
///
/// 1. **Read** gives the texts as they are at one moment, or as they were one after the other,
///    together with the engine's clock and its [`Continuity`] of then. What it creates for itself
///    (tables, a file) is empty.
/// 2. **Write** writes all of a [`Write`] or nothing. It writes only if every text still is what
///    was expected, the clock is in its window, the engine still is what the fingerprint says, and
///    no setting is a fault; else it returns [`WriteOutcome::Stale`]. It returns
///    [`WriteOutcome::Written`] only when the write survives a crash. What a read shows may be lost
///    in a crash until a later write is done: the rules answer nothing from a read alone that a
///    holder relies on.
/// 3. Records appear when they are first written: opening costs the same with 2 and with 2^32 node
///    ids.
/// 4. The cost of a read and a write depends on what is read and written, not on what else is
///    there.
/// 5. An engine may hold a lock from a read with state to its write. Further reads and `remove` may
///    come meanwhile, and use the same lock. `write`, `remove` and `abandon` release it. A write
///    without it is stale.
/// 6. A loss that the engine notices changes its fingerprint before the read returns, and no crash
///    undoes that. An engine that keeps something outside of the records also keeps the latest end
///    of all writes there ([`latest_end_unix_ms`](Write::latest_end_unix_ms)), and returns it after
///    a loss.
/// 7. A **new** engine, in which nothing was ever written, says
///    [`is_absence_certain`](Continuity::is_absence_certain) only if it would also show that
///    everything was deleted, as one does that keeps a mark outside of its records. Then the first
///    acquire is granted at once. Otherwise a new namespace waits until a person [declares it
///    new](crate::Administration::end_quarantine).
///
/// `profile`, `read` and `write` are what the rules need. The others are here because a read and a
/// write of one namespace cannot say them: what concerns all namespaces, removals too large for a
/// transaction, and the connection.
pub trait Engine: Send + Debug {
    /// What it is, and what it can do.
    fn profile(&self) -> Profile;

    /// Reads the texts that are there under some keys.
    ///
    /// # Errors
    ///
    /// [`EngineError`].
    fn read(&mut self, ask: &Ask<'_>) -> Result<Reading, EngineError>;

    /// Writes what was decided from the last read, or, with a [blind
    /// renewal](Profile::blind_renewal), from what was written last.
    ///
    /// # Errors
    ///
    /// [`EngineError`]: if it is `Unavailable`, whether it was written is not known.
    fn write(&mut self, write: &Write) -> Result<WriteOutcome, EngineError>;

    /// What the engine says of itself, but for the quarantine.
    ///
    /// # Errors
    ///
    /// As for `read`.
    fn diagnose(&mut self) -> Result<Vec<Finding>, EngineError> {
        Ok(Vec::new())
    }

    /// The text of [`Key::Namespace`] of each namespace that is kept here, or of one only, by name.
    /// Creates nothing: `None` if there is no store yet. A read is of one namespace, and may create
    /// tables. No more than [`NAMES_LISTED`](super::NAMES_LISTED) are of use.
    ///
    /// # Errors
    ///
    /// As for `read`.
    fn namespaces(
        &mut self,
        only: Option<&str>,
    ) -> Result<Option<BTreeMap<String, String>>, EngineError>;

    /// Removes what is there of a [`Removal`]; nothing if its guard does not hold.
    ///
    /// # Errors
    ///
    /// As for `write`.
    fn remove(&mut self, removal: &Removal<'_>) -> Result<(), EngineError>;

    /// The engine in which all stores of the same server meet, if this is one of several that a
    /// user may take for one: database 0 of a Redis server, seen from another database. Claims of
    /// secrets are kept there too.
    ///
    /// # Errors
    ///
    /// As for `read`.
    fn whole_server(&mut self) -> Result<Option<Box<dyn Engine>>, EngineError> {
        Ok(None)
    }

    /// Nothing follows from the last read.
    fn abandon(&mut self) {}

    /// Whether the connection that it kept has broken since it was last used or asked, as far as is
    /// known without a round trip.
    fn has_disconnected(&mut self) -> bool {
        false
    }

    /// Looks whether the store is what this process saw last: cheap, without an exclusive lock, and
    /// without a change. A holder calls it between renewals, as often as
    /// [`look_every`](Profile::look_every) says. After a failed call it reads its leases instead,
    /// if the engine [has a clock of its own](Profile::has_own_clock).
    ///
    /// # Errors
    ///
    /// As for `read`: nothing is known then, and the holder goes on.
    fn look(&mut self) -> Result<Look, EngineError> {
        Ok(Look::Same)
    }

    /// An operation follows that should be answered within a part of this TTL.
    fn limit_for(&mut self, ttl: Duration) {
        // Only engines on a server have an answer to wait for.
        _ = ttl;
    }

    /// The store that takes this one's place at the first use, if this only
    /// [opens](super::deferred) another.
    ///
    /// # Errors
    ///
    /// Those of the other store.
    fn open_deferred(&mut self) -> Result<Option<LeaseStore>, StoreError> {
        Ok(None)
    }
}

/// What a [look](Engine::look) at a store between renewals found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look {
    /// It has everything that this process has seen there, as far as is known.
    Same,
    /// It may have lost something since, or is not known: the holder reads its leases, or renews
    /// them, at once.
    Changed,
    /// It is gone, another one, or older than this process has seen it, and why that is clear.
    /// Others may be granted the same node ids, so the holder stops at once.
    Lost(String),
}

/// How often holders look at a store in files, which others can exchange without a sign. A look is
/// a few system calls.
pub const LOOK_AT_FILES_EVERY: Duration = Duration::from_secs(1);

/// What an engine is, and what it can do.
#[derive(Clone, Debug)]
pub struct Profile {
    /// What it is and where, for errors: `the Redis server at 10.0.0.1:6379`.
    pub place: String,
    /// The URL that leads to it, without user, password and options; `None` if none does.
    pub url: Option<String>,
    /// The first and the last node id that it keeps leases of.
    pub node_ids: (u32, u32),
    /// How many earlier leases of a node id it keeps.
    pub history: u64,
    /// The least longest TTL that a namespace which is not there is taken to have had: leases of it
    /// may be in use for so long. Zero if every client brings the same one, as one process after
    /// the other of one deployment does.
    pub assumed_max_ttl: Duration,
    /// Number of its database, on a server whose databases share claims of secrets: see
    /// [`whole_server`](Engine::whole_server).
    pub database: Option<u32>,
    /// Its clock is another machine's, as a server's is.
    pub has_own_clock: bool,
    /// Clients look for free node ids at the same time, so that each should begin elsewhere.
    /// Otherwise all begin at [`search_from`](Continuity::search_from).
    pub is_shared: bool,
    /// A renewal is written without a read before.
    pub blind_renewal: bool,
    /// How many node ids one write may have: an acquire of more is refused, renewals and releases
    /// are split.
    pub max_batch: usize,
    /// How often a holder [looks](Engine::look) at it between renewals, on a server no more often
    /// than a twentieth of the TTL; `None` if a failed call or a broken connection tells of
    /// everything that a look could find.
    pub look_every: Option<Duration>,
}

impl Profile {
    /// An engine at a place that many clients share, by the clock of this machine.
    #[must_use]
    pub fn at(place: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            url: None,
            node_ids: (0, u32::MAX),
            history: history::KEPT,
            assumed_max_ttl: ASSUMED_MAX_TTL,
            database: None,
            has_own_clock: false,
            is_shared: true,
            blind_renewal: false,
            max_batch: usize::MAX,
            look_every: None,
        }
    }
}

/// What an engine is to read.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// Keys and ranges of keys to read.
    pub keys: &'a [Keys],
    /// How many texts of each range, the first ones in the order of keys; an engine without an
    /// order gives all.
    pub limit: Option<usize>,
    /// Whether the time and the continuity are wanted too; else the answer need not have them, and
    /// nothing is locked.
    pub with_state: bool,
}

impl<'a> Ask<'a> {
    /// Texts, the time and the continuity: what a decision is made from.
    #[must_use]
    pub fn with_state(keys: &'a [Keys]) -> Self {
        Self {
            keys,
            limit: None,
            with_state: true,
        }
    }

    /// Texts alone: more for a decision that has its state.
    #[must_use]
    pub fn texts(keys: &'a [Keys]) -> Self {
        Self {
            with_state: false,
            ..Self::with_state(keys)
        }
    }

    /// The first texts of each range.
    #[must_use]
    pub fn first(keys: &'a [Keys], limit: usize) -> Self {
        Self {
            limit: Some(limit),
            ..Self::texts(keys)
        }
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

impl Reading {
    /// A reading of texts alone, whose time and continuity mean nothing.
    #[must_use]
    pub fn of_texts(texts: BTreeMap<Key, String>) -> Self {
        Self {
            now: Duration::ZERO,
            continuity: Continuity::default(),
            texts,
        }
    }
}
