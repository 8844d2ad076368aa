//! Terms of a namespace: layout, key check and longest TTL.

use core::time::Duration;

use randflake_core::{Field, KeyNumber, LayoutSpec, Permutation, Sparx64};

use super::{DEFAULT_MAX_TTL, MAX_SKEW, MAX_TTL_LIMIT, StoreError};
use crate::date::{span, utc};

/// Terms that all holders of a namespace share; a holder with other terms is refused.
///
/// They are stored with the namespace. Two layouts, two secrets, or plain beside encrypted ids
/// would make equal ids of different leases.
///
/// Layouts are compared by their bits, not by name or spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Layout: every width and shift, epoch and tick.
    pub spec: LayoutSpec,
    /// Form of the ids and the check value of their key; `None` from a client without the key, such
    /// as a server that leases for devices.
    pub key_check: Option<KeyCheck>,
    /// Longest TTL of any lease in milliseconds, or `None` if the client names none. To lease that
    /// means [`DEFAULT_MAX_TTL`]; a client that leases nothing takes the stored one.
    pub max_ttl_ms: Option<u64>,
}

/// Form of a namespace's ids, and the key that they have it under: by a check value, which does not
/// reveal it.
///
/// Ids of two forms in one namespace might be equal, or be read as ids that they are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyCheck {
    /// Ids are not encrypted.
    Plain,
    /// Ids are encrypted to 64 bits, under the key with this check value.
    Key(u32),
    /// Ids are encrypted to 53 bits, as [`Feistel53`](randflake_core::Feistel53) does, under a key
    /// with this check value.
    Key53(u32),
    /// Ids are tagged UUIDs, under the key of this number. It is the only term that changes: by
    /// [`Administration::next_key`](crate::Administration::next_key).
    Tagged {
        /// Number of the key.
        number: KeyNumber,
        /// Check value of the key that encrypts the ids, as of [`Key`](Self::Key).
        check: u32,
    },
}

impl KeyCheck {
    /// Computes the key check of a permutation.
    ///
    /// The check value is 32 bits of a block encrypted under another key, which is derived from two
    /// blocks encrypted under this key. It is not part of any id, and two keys have the same value
    /// with a probability of 2^-32.
    #[must_use]
    pub fn of(permutation: &impl Permutation) -> Self {
        /// Two arbitrary, distinct blocks.
        const FIRST: u64 = u64::from_be_bytes(*b"rflkseal");
        const SECOND: u64 = u64::from_be_bytes(*b"sealrflk");

        // Two blocks make a key: one of 64 bits alone could be found by trying all.
        let (first, second) = (permutation.permute(FIRST), permutation.permute(SECOND));
        // A cipher does that for a key by chance of 2^-128.
        if (first, second) == (FIRST, SECOND) {
            return Self::Plain;
        }
        let key = u128::from(first) << 64 | u128::from(second);
        let check = Sparx64::new(&key.to_be_bytes()).encrypt_u64(FIRST);
        let check = u32::try_from(check >> 32).unwrap_or_default();
        match permutation.bits() {
            53 => Self::Key53(check),
            _ => Self::Key(check),
        }
    }

    /// Computes the key check of tagged UUIDs: of the cipher under the secret of a key number.
    #[must_use]
    pub fn tagged(number: KeyNumber, cipher: &Sparx64) -> Self {
        Self::of(cipher).under(number)
    }

    /// That of tagged UUIDs, if ids are encrypted to 64 bits: a UUID has no place for others.
    #[must_use]
    pub const fn under(self, number: KeyNumber) -> Self {
        match self {
            Self::Key(check) => Self::Tagged { number, check },
            other => other,
        }
    }

    /// The number of the key; `None` unless ids are tagged UUIDs.
    #[must_use]
    pub const fn number(self) -> Option<KeyNumber> {
        match self {
            Self::Tagged { number, .. } => Some(number),
            Self::Plain | Self::Key(_) | Self::Key53(_) => None,
        }
    }

    /// The check value of the key; `None` of plain ids, which have none.
    #[must_use]
    pub const fn value(self) -> Option<u32> {
        match self {
            Self::Plain => None,
            Self::Key(check) | Self::Key53(check) | Self::Tagged { check, .. } => Some(check),
        }
    }
}

impl Terms {
    /// Longest TTL as a time span. Unless given, it is [`DEFAULT_MAX_TTL`], or three ticks if these
    /// are longer, which a handle needs.
    #[must_use]
    pub fn max_ttl(&self) -> Duration {
        let default = DEFAULT_MAX_TTL.max(self.three_ticks());
        self.max_ttl_ms.map_or(default, Duration::from_millis)
    }

    fn three_ticks(&self) -> Duration {
        // A handle renews after a third of the TTL, so that this third is a tick or more.
        Duration::from_millis(self.spec.tick_ms().saturating_mul(3))
    }

    /// Refuses a longest TTL over the limit. A layout whose ticks are so long that three of them
    /// are longer may have these.
    pub(crate) fn check_max_ttl(&self) -> Result<(), StoreError> {
        let most = MAX_TTL_LIMIT.max(self.three_ticks());
        if self.max_ttl() <= most {
            return Ok(());
        }
        Err(StoreError::Invalid(format!(
            "a longest TTL of {}: one tick of the layout to {} days are allowed",
            span(self.max_ttl()),
            most.as_secs() / (24 * 60 * 60)
        )))
    }

    /// Terms for a client that leases: an unnamed longest TTL becomes the default. Otherwise a lost
    /// namespace would be recreated with a shorter TTL than its holders have.
    pub(crate) fn of_a_holder(&self) -> Self {
        Self {
            max_ttl_ms: Some(ms(self.max_ttl())),
            ..*self
        }
    }

    /// Length in ticks of a quarantine that outlasts leases of up to `longest`: the clock that
    /// granted them and the one that began the quarantine may both be off. Both spans are rounded
    /// up, as TTLs are.
    pub(crate) fn quarantine_ticks(&self, longest: Duration) -> u64 {
        // Not the sum, rounded once: that could end up to a tick before the last lease.
        self.ticks(longest).saturating_add(self.ticks(2 * MAX_SKEW))
    }

    /// A time span in ticks, rounded up.
    #[must_use]
    pub fn ticks(&self, span: Duration) -> u64 {
        // Rounded up twice: a quarantine must not end within the last tick of a lease.
        let ms = u64::try_from(span.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
        ms.div_ceil(self.spec.tick_ms())
    }

    /// Whether both mean the same ids and leases, as far as both say. Two key numbers agree,
    /// because a rotation may lie between them; only a client that leases needs the stored one.
    #[must_use]
    pub fn agrees_with(&self, other: &Self) -> bool {
        self.spec.fields() == other.spec.fields()
            && (agree(self.key_check, other.key_check) || self.is_rotated(other))
            && agree(self.max_ttl_ms, other.max_ttl_ms)
    }
}

impl Terms {
    /// Whether both have tagged UUIDs, under keys of two numbers.
    fn is_rotated(&self, other: &Self) -> bool {
        let number = |terms: &Self| terms.key_check.and_then(KeyCheck::number);
        number(self)
            .zip(number(other))
            .is_some_and(|(ours, theirs)| ours != theirs)
    }

    /// Refuses a holder that does not issue under the key number of these terms, the stored ones.
    pub(crate) fn check_key_number(&self, asked: &Self) -> Result<(), StoreError> {
        let Some(stored) = self.key_check.and_then(KeyCheck::number) else {
            return Ok(());
        };
        match asked.key_check.and_then(KeyCheck::number) {
            Some(asked) if asked == stored => Ok(()),
            Some(asked) => Err(StoreError::KeyNumber { stored, asked }),
            // Other forms were refused before. Who has no key could not say under which number it
            // issues.
            None => Err(StoreError::Terms {
                stored: format!("tagged UUIDs under key number {stored}"),
                asked: "no key, as for devices and by servers that lease for others".to_owned(),
            }),
        }
    }
}

fn ms(span: Duration) -> u64 {
    // Nothing is cut, because every longest TTL has whole milliseconds.
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

fn agree<T: PartialEq>(ours: Option<T>, theirs: Option<T>) -> bool {
    // What a client does not say, it does not contradict.
    ours.zip(theirs).is_none_or(|(ours, theirs)| ours == theirs)
}

impl Terms {
    /// The refusal of other terms than these, the stored ones.
    pub(crate) fn refused(&self, asked: &Self) -> StoreError {
        let (stored, asked) = self.differences(asked);
        StoreError::Terms { stored, asked }
    }

    /// In what these differ from others, for people: what is in these, and what in the others.
    fn differences(&self, others: &Self) -> (String, String) {
        // What one of them does not say does not differ.
        let pairs = self
            .parts()
            .into_iter()
            .zip(others.parts())
            .filter_map(|(ours, theirs)| ours.zip(theirs));
        let (ours, theirs): (Vec<_>, Vec<_>) =
            pairs.filter(|(ours, theirs)| ours != theirs).unzip();
        (ours.join(", "), theirs.join(", "))
    }

    fn parts(&self) -> [Option<String>; 7] {
        let fields = self.spec.fields();
        let place =
            |name, field: Field| Some(format!("{name} {} bits at {}", field.bits, field.shift));
        let epoch = Duration::from_millis(fields.epoch_unix_ms);
        [
            place("time", fields.timestamp),
            place("node id", fields.node_id),
            place("sequence", fields.sequence),
            Some(format!(
                "ticks of {} ms since {} ({} ms)",
                fields.tick_ms,
                utc(epoch),
                fields.epoch_unix_ms
            )),
            self.key_check.map(|key_check| match key_check {
                KeyCheck::Plain => "plain ids".to_owned(),
                KeyCheck::Key(_) => "ids of 64 bits".to_owned(),
                KeyCheck::Key53(_) => "ids of 53 bits".to_owned(),
                KeyCheck::Tagged { number, .. } => {
                    format!("tagged UUIDs under key number {number}")
                }
            }),
            self.key_check.map(|key_check| match key_check.value() {
                None => "no secret".to_owned(),
                Some(check) => format!("the secret of check value {check:08x}"),
            }),
            self.max_ttl_ms
                .map(|ms| format!("longest TTL {}", span(Duration::from_millis(ms)))),
        ]
    }
}
