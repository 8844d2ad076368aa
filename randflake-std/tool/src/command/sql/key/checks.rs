//! Keys for a database, and the findings that forbid to bring one.

use randflake_common::layout::IdEncryption;
use randflake_std::lease::{KeyCheck, NamespaceError};
use randflake_std::{KeyNumber, Secret, Sparx64};
use zeroize::Zeroizing;

use super::{Outcome, Target};
use crate::failure::Failure;

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
        let of = |form: IdEncryption| {
            let key = form.device_key(secret);
            DatabaseKey::new(&key.cipher(), form.key_check(&key))
        };
        Self::OfIds {
            bits_64: of(IdEncryption::Bits64),
            bits_53: of(IdEncryption::Bits53),
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

/// What the functions of a schema, or a database, say of themselves.
pub(super) struct State {
    pub(super) namespace: String,
    pub(super) keys: KeysThere,
}

/// The check values of the keys that are there.
pub(super) enum KeysThere {
    OfIds {
        check: Option<String>,
        /// Whether ids have 53 bits.
        is_53: bool,
    },
    /// By key number.
    OfTags(Vec<(i32, String)>),
}

/// What is to become of the key in a schema, or a database, of this namespace with a key of this check value; or why it is
/// refused.
pub(super) fn judged<'a>(
    target: &Target<'_>,
    keys: &'a DatabaseKeys,
    (place, table): (&str, &str),
    found: &State,
) -> Result<Outcome<'a>, Failure> {
    let Target { schema, .. } = target;
    if found.namespace != target.namespace {
        return Err(Failure::failed(format!(
            "the {place} {schema} is for the namespace {:?}, not for {:?}",
            found.namespace, target.namespace
        )));
    }
    match (keys, &found.keys) {
        (DatabaseKeys::OfIds { bits_64, bits_53 }, KeysThere::OfIds { check, is_53 }) => {
            let key = if *is_53 { bits_53 } else { bits_64 };
            of_ids(key, check.as_deref()).map_err(|found| {
                Failure::failed(format!(
                    "the {place} {schema} has the key of check value {found}, and this one has {}: ids made under the first \
                     one could not be read any more. If there are none, remove it first: DELETE FROM {schema}.{table}",
                    key.check
                ))
            })
        }
        (DatabaseKeys::OfTags { number, key }, KeysThere::OfTags(there)) => {
            of_tags(*number, key, there).map_err(|mistake| {
                Failure::failed(match mistake {
                    TagMistake::OtherKey(found) => format!(
                        "the {place} {schema} has a key of number {number} with check value {found}, and this one has {}: \
                         is this the file of another number or namespace? To replace the key, retire it first: DELETE FROM \
                         {schema}.{table} WHERE number = {number}",
                        key.check
                    ),
                    TagMistake::OtherNumber(other) => format!(
                        "the {place} {schema} has the key of this secret as number {other}: is this the file of \
                         another number? Each number has a secret of its own"
                    ),
                })
            })
        }
        (DatabaseKeys::OfIds { .. }, KeysThere::OfTags(_)) => Err(Failure::failed(format!(
            "the {place} {schema} is for tagged UUIDs: name the number of the key with --tagged"
        ))),
        (DatabaseKeys::OfTags { .. }, KeysThere::OfIds { .. }) => Err(Failure::failed(format!(
            "the {place} {schema} is not for tagged UUIDs: leave out --tagged, or make another {place}, with the same option"
        ))),
    }
}

/// Ids have one key for ever. Fails with the check value of another one that is there.
fn of_ids<'a>(key: &'a DatabaseKey, there: Option<&str>) -> Result<Outcome<'a>, String> {
    match there {
        None => Ok(Outcome::Brought(key)),
        Some(there) if there == key.check => Ok(Outcome::WasThere(key)),
        Some(there) => Err(there.to_owned()),
    }
}

enum TagMistake {
    /// The number has a key of this check value.
    OtherKey(String),
    /// This number has the key.
    OtherNumber(i32),
}

/// Each number of tagged UUIDs has its own key.
fn of_tags<'a>(
    number: KeyNumber,
    key: &'a DatabaseKey,
    there: &[(i32, String)],
) -> Result<Outcome<'a>, TagMistake> {
    let number = i32::from(number.get());
    // The file of another number is the likelier mistake, so it is looked for first.
    let same = there.iter().find(|(_, check)| *check == key.check);
    match same.or_else(|| there.iter().find(|(of, _)| *of == number)) {
        None => Ok(Outcome::Brought(key)),
        Some((of, check)) if *check == key.check && *of == number => Ok(Outcome::WasThere(key)),
        Some((of, check)) if *check == key.check => Err(TagMistake::OtherNumber(*of)),
        Some((_, check)) => Err(TagMistake::OtherKey(check.clone())),
    }
}
