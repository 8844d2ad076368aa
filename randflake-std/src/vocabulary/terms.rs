//! What a namespace means.

use core::time::Duration;

use randflake_core::{Field, LayoutSpec, Permutation, Sparx64};

use super::{DEFAULT_MAX_TTL, MAX_SKEW};
use crate::date::{span, utc};

/// What all holders of a namespace agree on. It is stored with the namespace, and whoever brings other terms is
/// refused: two layouts, two secrets or plain beside encrypted ids would make equal ids out of different leases.
///
/// How a layout was spelled or named plays no part: the bits do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Every width and shift, epoch and tick.
    pub spec: LayoutSpec,
    /// Plain or encrypted, and under which key; `None` from one who has no key, as a server that leases for
    /// devices.
    pub seal: Option<Seal>,
    /// The longest TTL of any lease, in milliseconds; `None` from one who names none. To lease that means
    /// [`DEFAULT_MAX_TTL`]; whoever leases nothing takes what is stored.
    pub max_ttl_ms: Option<u64>,
}

/// How raw ids become public.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Seal {
    /// Not at all.
    Plain,
    /// Encrypted, under the key of this check value.
    Key(u32),
}

impl Seal {
    /// The seal of a permutation.
    ///
    /// A key's check value is 32 bits of a block that is encrypted under another key, which is made of two
    /// blocks encrypted under this one. So it is no part of any id, and tells equal keys from others, but for one
    /// in 2^32.
    #[must_use]
    pub fn of(permutation: &impl Permutation) -> Self {
        /// Any two numbers; these say what they are for.
        const FIRST: u64 = u64::from_be_bytes(*b"rflkseal");
        const SECOND: u64 = u64::from_be_bytes(*b"sealrflk");

        let (first, second) = (permutation.permute(FIRST), permutation.permute(SECOND));
        if (first, second) == (FIRST, SECOND) {
            return Self::Plain;
        }
        let key = u128::from(first) << 64 | u128::from(second);
        let check = Sparx64::new(&key.to_be_bytes()).encrypt_u64(FIRST);
        Self::Key(u32::try_from(check >> 32).unwrap_or_default())
    }
}

impl Terms {
    /// The longest TTL as a time span; unless it is said [`DEFAULT_MAX_TTL`], or three ticks where these are longer: a handle
    /// needs as many.
    #[must_use]
    pub fn max_ttl(&self) -> Duration {
        let shortest = Duration::from_millis(self.spec.tick_ms().saturating_mul(3));
        let default = DEFAULT_MAX_TTL.max(shortest);
        self.max_ttl_ms.map_or(default, Duration::from_millis)
    }

    /// The terms of one who leases: a longest TTL that is not named is the default one. Otherwise a namespace that was
    /// lost would be made anew with a shorter TTL than its holders have.
    pub(crate) fn of_a_holder(&self) -> Self {
        Self {
            max_ttl_ms: Some(ms(self.max_ttl())),
            ..*self
        }
    }

    /// How long a quarantine lasts that waits for leases of up to a TTL, in ticks: the clock that granted them and the one
    /// that began the quarantine may both be off. Each span is rounded up by itself, as a TTL is.
    pub(crate) fn quarantine_ticks(&self, longest: Duration) -> u64 {
        self.ticks(longest).saturating_add(self.ticks(2 * MAX_SKEW))
    }

    /// A time span in ticks, rounded up.
    #[must_use]
    pub fn ticks(&self, span: Duration) -> u64 {
        let ms = u64::try_from(span.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
        ms.div_ceil(self.spec.tick_ms())
    }

    /// Whether both mean the same ids and leases, as far as both say.
    #[must_use]
    pub fn agrees_with(&self, other: &Self) -> bool {
        self.spec.fields() == other.spec.fields()
            && agree(self.seal, other.seal)
            && agree(self.max_ttl_ms, other.max_ttl_ms)
    }
}

fn ms(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

fn agree<T: PartialEq>(ours: Option<T>, theirs: Option<T>) -> bool {
    ours.zip(theirs).is_none_or(|(ours, theirs)| ours == theirs)
}

impl Terms {
    /// In what these differ from others, for people: what is in these, and what in the others.
    pub(crate) fn differences(&self, others: &Self) -> (String, String) {
        // What one of them does not say does not differ.
        let pairs = self.parts().into_iter().zip(others.parts());
        let pairs = pairs.filter_map(|(ours, theirs)| ours.zip(theirs));
        let (ours, theirs): (Vec<_>, Vec<_>) =
            pairs.filter(|(ours, theirs)| ours != theirs).unzip();
        (ours.join(", "), theirs.join(", "))
    }

    fn parts(&self) -> [Option<String>; 6] {
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
            self.seal.map(|seal| match seal {
                Seal::Plain => "plain ids".to_owned(),
                Seal::Key(check) => format!("the secret of check value {check:08x}"),
            }),
            self.max_ttl_ms
                .map(|ms| format!("longest TTL {}", span(Duration::from_millis(ms)))),
        ]
    }
}
