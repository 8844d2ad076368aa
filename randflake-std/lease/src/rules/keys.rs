//! Keys of the texts of a namespace, and conditional writes of them.

use core::fmt::{self, Display, Formatter};
use core::ops::RangeInclusive;
use core::str;
use core::time::Duration;

/// Key of a text in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// Record of the namespace.
    Namespace,
    /// Counter of the namespace.
    Counter,
    /// Record of a node id.
    Node(u32),
    /// Shared hint: a node id that may be free, or that a range has none. One more place is written
    /// and never read.
    Hint(u32),
    /// Earlier lease of a node id, by its place in the history: see
    /// [`HistoryLink`](super::HistoryLink).
    History(u32, u16),
    /// A device that gets its leases by tickets: see [`Device`](crate::types::Device).
    Device(u64),
    /// Namespace that took the secret of a check value first: see
    /// [`SecretClaim`](super::SecretClaim). It is kept beside all namespaces, so it is read and
    /// written by itself: in a Redis Cluster another node has it than the namespace.
    Claim(u32),
}

impl Key {
    /// The namespace that the text is kept under: this one, or for a claim the empty name, which no
    /// namespace has.
    #[must_use]
    pub fn scope(self, namespace: &str) -> &str {
        match self {
            Self::Claim(_) => "",
            _ => namespace,
        }
    }

    /// The key as two numbers, for tables: kind and index.
    #[must_use]
    pub fn numbers(self) -> (u8, u64) {
        // These are stored, so none may change. 3 was an earlier key's, and is not used again.
        match self {
            Self::Namespace => (0, 0),
            Self::Counter => (1, 0),
            Self::Node(node_id) => (2, node_id.into()),
            Self::Hint(place) => (4, place.into()),
            Self::History(node_id, place) => {
                (5, u64::from(node_id) << u16::BITS | u64::from(place))
            }
            Self::Claim(check) => (6, check.into()),
            // Tables' numbers are signed, so there is a kind for each half.
            Self::Device(device) if device < HALF => (7, device),
            Self::Device(device) => (8, device - HALF),
        }
    }

    /// Restores a key from its two numbers.
    #[must_use]
    pub fn of_numbers(kind: u8, number: u64) -> Option<Self> {
        let short = u32::try_from(number).ok();
        match kind {
            0 => (number == 0).then_some(Self::Namespace),
            1 => (number == 0).then_some(Self::Counter),
            2 => short.map(Self::Node),
            4 => short.map(Self::Hint),
            5 => {
                let node_id = u32::try_from(number >> u16::BITS).ok()?;
                let place = u16::try_from(number & u64::from(u16::MAX)).ok()?;
                Some(Self::History(node_id, place))
            }
            6 => short.map(Self::Claim),
            7 => (number < HALF).then_some(Self::Device(number)),
            8 => (number < HALF).then(|| Self::Device(number + HALF)),
            _ => None,
        }
    }
}

/// Half of all device numbers.
const HALF: u64 = 1 << 63;

/// Set of keys to read: one key or a range of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keys {
    /// One key, of any kind.
    One(Key),
    /// Records of a range of node ids.
    Nodes(RangeInclusive<u32>),
    /// Hints at a range of places.
    Hints(RangeInclusive<u32>),
    /// Earlier leases of a node id, at a range of places.
    History(u32, RangeInclusive<u16>),
}

impl Keys {
    /// First and last key of the set.
    #[must_use]
    pub fn bounds(&self) -> (Key, Key) {
        match self {
            Self::One(key) => (*key, *key),
            Self::Nodes(nodes) => (Key::Node(*nodes.start()), Key::Node(*nodes.end())),
            Self::Hints(places) => (Key::Hint(*places.start()), Key::Hint(*places.end())),
            Self::History(node_id, places) => {
                let key = |place| Key::History(*node_id, place);
                (key(*places.start()), key(*places.end()))
            }
        }
    }

    /// Every key of the set.
    pub fn each(&self) -> impl Iterator<Item = Key> + use<> {
        let (first, last) = self.bounds();
        let ((kind, first), (_, last)) = (first.numbers(), last.numbers());
        // By numbers, since a range never spans two kinds.
        (first..=last).filter_map(move |number| Key::of_numbers(kind, number))
    }
}

/// What to remove of a namespace: it may be more than one transaction takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removal<'a> {
    /// Everything but the record of the namespace and its counter, if that record is this text.
    Contents(&'a str),
    /// Earlier leases of a node id, at a range of places. No rule reads them, so nothing is
    /// compared.
    History(u32, RangeInclusive<u16>),
}

impl Removal<'_> {
    /// Text of [`Key::Namespace`] without which nothing is removed.
    #[must_use]
    pub fn guard(&self) -> Option<&str> {
        match self {
            Self::Contents(guard) => Some(guard),
            Self::History(..) => None,
        }
    }

    /// First and last key that is removed.
    #[must_use]
    pub fn bounds(&self) -> (Key, Key) {
        match self {
            // Claims lie in between. They are kept under the empty name, so a drop removes none of
            // them.
            Self::Contents(_) => (Key::Node(0), Key::Device(u64::MAX)),
            Self::History(node_id, places) => Keys::History(*node_id, places.clone()).bounds(),
        }
    }

    /// First and last kind, and first and last number of each, for tables: see [`Key::numbers`].
    #[must_use]
    pub fn kinds_and_numbers(&self) -> ([u8; 2], [u64; 2]) {
        let (first, last) = self.bounds();
        let ((low_kind, first), (high_kind, last)) = (first.numbers(), last.numbers());
        let numbers = match self {
            Self::Contents(_) => [0, HALF - 1],
            Self::History(..) => [first, last],
        };
        ([low_kind, high_kind], numbers)
    }
}

/// A conditional write of texts: all of it or nothing, durably, and only if every condition holds.
#[derive(Clone, Debug, Default)]
pub struct Write {
    /// Fingerprint of the engine when the texts were read from which this follows.
    pub fingerprint: String,
    /// Interval in which the engine clock must be, only for engines that [renew
    /// without a read](crate::store::Profile::blind_renewal).
    pub window: Option<(Duration, Duration)>,
    /// Entries, each key at most once.
    pub entries: Vec<Entry>,
    /// Latest end of a lease in the entries, in Unix milliseconds; 0 if there is none.
    pub latest_end_unix_ms: u64,
}

impl Write {
    /// Whether the write is allowed at a time of the engine clock.
    #[must_use]
    pub fn is_in_window(&self, now: Duration) -> bool {
        self.window
            .is_none_or(|(least, most): (Duration, Duration)| (least..=most).contains(&now))
    }
}

/// One key of a [`Write`].
#[derive(Clone, Debug)]
pub struct Entry {
    /// Key of the text.
    pub key: Key,
    /// Condition on the text that is there.
    pub before: Before,
    /// Text to put there; `None` leaves it.
    pub after: Option<String>,
}

/// Condition on the text under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Before {
    /// Any text, or none.
    Anything,
    /// No text is there.
    Nothing,
    /// Exactly this text is there.
    Text(String),
}

impl Before {
    /// Requires the text that was read, or its absence.
    #[must_use]
    pub fn read(text: Option<String>) -> Self {
        text.map_or(Self::Nothing, Self::Text)
    }

    /// Whether the condition holds for the text that is there.
    #[must_use]
    pub fn allows(&self, there: Option<&str>) -> bool {
        match self {
            Self::Anything => true,
            Self::Nothing => there.is_none(),
            // Texts are compared, not versions: each has a nonce, so equal texts are of one write.
            Self::Text(text) => there == Some(text),
        }
    }
}

const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
/// Number of digits of the longest number.
const MOST: usize = 25;
/// Digits split off a long number per division, because dividing 128 bits is slow.
const STEP: usize = 12;

/// Displays a number in base 36.
#[derive(Clone, Copy, Debug)]
pub(super) struct Base36(pub(super) u128);

impl Display for Base36 {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // The highest power of 36 below 2^64, so that each chunk is divided in 64 bits.
        const CHUNK: u128 = 36_u128.pow(12);
        // Longer than any number by one chunk: the third chunk has places for digits 25 to 36.
        let (mut text, mut at) = ([b'0'; MOST + STEP], MOST + STEP);
        let mut rest = self.0;
        while rest > 0 {
            let mut low = u64::try_from(rest % CHUNK).unwrap_or_default();
            rest /= CHUNK;
            let first = at - STEP;
            while low > 0 {
                at -= 1;
                text[at] = DIGITS[usize::try_from(low % 36).unwrap_or_default()];
                low /= 36;
            }
            // Leading zeros of this chunk stand between its digits and those of the next one.
            if rest > 0 {
                at = first;
            }
        }
        // 0 has no digit in the loop, and is shown as the last zero of the text.
        let shown = &text[at.min(MOST + STEP - 1)..];
        f.write_str(str::from_utf8(shown).unwrap_or_default())
    }
}

/// Parses a number of 64 bits.
pub(super) fn number(text: &str) -> Option<u64> {
    // Capitals and a plus sign pass here; `text::read` refuses records that are spelled so.
    u64::from_str_radix(text, 36).ok()
}

/// Parses a number of 128 bits.
pub(super) fn long(text: &str) -> Option<u128> {
    u128::from_str_radix(text, 36).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_were_written() {
        let powers = (0..=24).map(|power| 36_u128.pow(power));
        let near = powers.flat_map(|power| [power - 1, power, power + 1]);
        for value in near.chain([u64::MAX.into(), u128::MAX]) {
            let text = Base36(value).to_string();
            assert_eq!(long(&text), Some(value), "{text}");
            assert_eq!(text.starts_with('0'), value == 0, "{text}");
        }
        assert_eq!(Base36(u128::MAX).to_string(), "f5lxx1zz5pnorynqglhzmsp33");
        assert_eq!(number("1z141z3"), Some(u64::from(u32::MAX)));
    }
}
