//! What an engine does for the rules.

use core::fmt::Debug;
use core::ops::RangeInclusive;
use core::time::Duration;
use std::collections::BTreeMap;

use super::{Committed, Continuity};
use crate::lease::{EngineError, Finding};

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

/// Under which a namespace keeps a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// Its record.
    Namespace,
    /// Its counter.
    Counter,
    /// A node id's record.
    Node(u32),
    /// A hint: from when on a page of node ids may have free ones.
    Page(u32),
    /// A hint for all clients: a node id that may be free.
    Hint(u32),
    /// An earlier lease of a node id, and its place among those: see [`Past`](super::Past).
    Past(u32, u16),
    /// A device that gets its leases by tickets: see [`Device`](crate::lease::Device).
    Device(u64),
}

impl Key {
    /// It as two numbers, for tables: its kind, and which of them. [`CLAIM_KIND`](super::CLAIM_KIND) is none of them.
    #[must_use]
    pub fn numbers(self) -> (u8, u64) {
        match self {
            Self::Namespace => (0, 0),
            Self::Counter => (1, 0),
            Self::Node(node_id) => (2, node_id.into()),
            Self::Page(page) => (3, page.into()),
            Self::Hint(place) => (4, place.into()),
            Self::Past(node_id, place) => (5, u64::from(node_id) << u16::BITS | u64::from(place)),
            // Tables' numbers are signed, so there is a kind for each half.
            Self::Device(device) if device < HALF => (7, device),
            Self::Device(device) => (8, device - HALF),
        }
    }

    /// The key of two numbers.
    #[must_use]
    pub fn of_numbers(kind: u8, number: u64) -> Option<Self> {
        let short = u32::try_from(number).ok();
        match kind {
            0 => (number == 0).then_some(Self::Namespace),
            1 => (number == 0).then_some(Self::Counter),
            2 => short.map(Self::Node),
            3 => short.map(Self::Page),
            4 => short.map(Self::Hint),
            5 => {
                let node_id = u32::try_from(number >> u16::BITS).ok()?;
                let place = u16::try_from(number & u64::from(u16::MAX)).ok()?;
                Some(Self::Past(node_id, place))
            }
            7 => (number < HALF).then_some(Self::Device(number)),
            8 => (number < HALF).then(|| Self::Device(number + HALF)),
            _ => None,
        }
    }
}

/// Half of all device numbers.
const HALF: u64 = 1 << 63;

/// Keys to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keys {
    /// One.
    One(Key),
    /// [`Key::Node`] of these.
    Nodes(RangeInclusive<u32>),
    /// [`Key::Page`] of these.
    Pages(RangeInclusive<u32>),
    /// [`Key::Hint`] of these.
    Hints(RangeInclusive<u32>),
    /// [`Key::Past`] of a node id and these places.
    Past(u32, RangeInclusive<u16>),
}

impl Keys {
    /// The first and the last of them.
    #[must_use]
    pub fn bounds(&self) -> (Key, Key) {
        match self {
            Self::One(key) => (*key, *key),
            Self::Nodes(nodes) => (Key::Node(*nodes.start()), Key::Node(*nodes.end())),
            Self::Pages(pages) => (Key::Page(*pages.start()), Key::Page(*pages.end())),
            Self::Hints(places) => (Key::Hint(*places.start()), Key::Hint(*places.end())),
            Self::Past(node_id, places) => {
                let key = |place| Key::Past(*node_id, place);
                (key(*places.start()), key(*places.end()))
            }
        }
    }

    /// Each of them.
    pub fn each(&self) -> impl Iterator<Item = Key> + use<> {
        let (first, last) = self.bounds();
        let ((kind, first), (_, last)) = (first.numbers(), last.numbers());
        (first..=last).filter_map(move |number| Key::of_numbers(kind, number))
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

/// What to write: all of it or nothing, durably, and only if all of it is still so.
#[derive(Clone, Debug, Default)]
pub struct Write {
    /// What the engine was known by when that was read which this follows from.
    pub fingerprint: String,
    /// Between which times the engine's clock must be; only where [`renews_unread`](Engine::renews_unread) says so.
    pub window: Option<(Duration, Duration)>,
    /// Each key at most once.
    pub entries: Vec<Entry>,
    /// The latest end of a lease among them, in Unix milliseconds; 0 if there is none.
    pub latest_end_unix_ms: u64,
}

impl Write {
    /// Whether it may be written at a time.
    #[must_use]
    pub fn is_in_window(&self, now: Duration) -> bool {
        let is_in = |(least, most): (Duration, Duration)| (least..=most).contains(&now);
        self.window.is_none_or(is_in)
    }
}

/// One key of a [`Write`].
#[derive(Clone, Debug)]
pub struct Entry {
    /// Which.
    pub key: Key,
    /// What must be there.
    pub before: Before,
    /// What to put there; `None`: it stays as it is.
    pub after: Option<String>,
}

/// What must be under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Before {
    /// Whatever it is.
    Anything,
    /// Nothing.
    Nothing,
    /// This text.
    Text(String),
}

impl Before {
    /// What was read.
    #[must_use]
    pub fn read(text: Option<String>) -> Self {
        text.map_or(Self::Nothing, Self::Text)
    }

    /// Whether it is there.
    #[must_use]
    pub fn allows(&self, there: Option<&str>) -> bool {
        match self {
            Self::Anything => true,
            Self::Nothing => there.is_none(),
            Self::Text(text) => there == Some(text),
        }
    }
}
