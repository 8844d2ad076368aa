//! A key as a database stores it.

use randflake_std::lease::{KeyCheck, NamespaceError};
use randflake_std::{KeyNumber, Secret, Sparx64};
use zeroize::Zeroizing;

use randflake_common::layout::IdForm;

/// The key as a database stores it.
pub(super) struct DatabaseKey {
    /// Two for each round of both branches at once, and two of whitening: the first words, then the second ones. The left
    /// branch's word is in the lower half, the right one's in the upper.
    pub(super) round_keys: Zeroizing<Vec<i64>>,
    pub(super) check: String,
}

/// What a secret's key is, for each use that it may be brought for.
pub(super) enum DatabaseKeys {
    /// Which of both the functions use is known once they are found.
    OfIds {
        bits_64: DatabaseKey,
        bits_53: DatabaseKey,
    },
    /// Of the tags of a key number. Ids cannot be read by it.
    OfTags { number: KeyNumber, key: DatabaseKey },
}

impl DatabaseKeys {
    pub(super) fn of_ids(secret: &Secret) -> Self {
        let of = |form: IdForm| {
            let key = form.device_key(secret);
            DatabaseKey::new(&key.cipher(), form.key_check(&key))
        };
        Self::OfIds {
            bits_64: of(IdForm::Bits64),
            bits_53: of(IdForm::Bits53),
        }
    }

    pub(super) fn of_tags(
        secret: &Secret,
        number: KeyNumber,
        namespace: &str,
    ) -> Result<Self, NamespaceError> {
        let key = secret.key_of_tags(number, namespace)?;
        // That of the secret: a store shows it, and it is the same whatever number the secret is brought for.
        let check = KeyCheck::tagged(number, &secret.cipher());
        Ok(Self::OfTags {
            number,
            key: DatabaseKey::new(&key.cipher(), check),
        })
    }

    /// The key number; `None` of ids.
    pub(super) const fn number(&self) -> Option<KeyNumber> {
        match self {
            Self::OfIds { .. } => None,
            Self::OfTags { number, .. } => Some(*number),
        }
    }
}

impl DatabaseKey {
    fn new(cipher: &Sparx64, check: KeyCheck) -> Self {
        /// Rounds of a branch between two linear layers.
        const ROUNDS: usize = 3;
        let all: Zeroizing<Vec<[u16; 2]>> = Zeroizing::new(cipher.round_keys().collect());
        // With room for all, so that no part of it is left behind where it grew.
        let mut round_keys = Zeroizing::new(Vec::with_capacity(all.len()));
        let mut put = |left: [u16; 2], right: [u16; 2]| {
            let both = left.iter().zip(right);
            round_keys.extend(both.map(|(left, right)| i64::from(*left) | i64::from(right) << 32));
        };
        let (steps, whitening) = all.as_chunks::<{ 2 * ROUNDS }>();
        for step in steps {
            for round in 0..ROUNDS {
                put(step[round], step[ROUNDS + round]);
            }
        }
        if let [left, right] = *whitening {
            put(left, right);
        }
        let check = check.value().unwrap_or_default();
        let check = format!("{check:08x}");
        Self { round_keys, check }
    }
}
