//! The texts of a namespace: their keys, which of them to read, and what to write.

use core::ops::RangeInclusive;
use core::time::Duration;

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
    /// A device that gets its leases by tickets: see [`Device`](crate::vocabulary::Device).
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

/// What to write: all of it or nothing, durably, and only if all of it is still so.
#[derive(Clone, Debug, Default)]
pub struct Write {
    /// What the engine was known by when that was read which this follows from.
    pub fingerprint: String,
    /// Between which times the engine's clock must be; only where the engine [takes one](crate::store::Engine::renews_unread).
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
