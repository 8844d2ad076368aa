//! `TagKey`, which makes and checks tags.

use core::fmt::{self, Debug, Formatter};
use core::hint::black_box;

use super::{KeyNumber, TAG_BITS, TagError, TaggedUuid};
use crate::{Id, Sparx64};

/// A key that makes tagged UUIDs of ids and checks them.
///
/// The tag is the upper 52 bits of one SPARX-64/128 block, the id's, under a key of its own: **never that of the ids**, because
/// a block under it would be an id. `randflake-std` derives it from the secret, the key number and the namespace's name
/// (`Secret::tag_key`).
///
/// A tag says that a holder of the key made the UUID, and nothing more: it is no permission, and a copied one passes too. A
/// forged one passes with probability 2^-52 for each try; the repository's `docs/security.md` has the bound after any number of
/// UUIDs. The cipher is wiped on drop.
///
/// ```
/// use randflake_core::{Id, KeyNumber, Sparx64, TagError, TagKey};
///
/// let number = KeyNumber::new(17)?;
/// let key = TagKey::new(number, Sparx64::new(&[7; 16]));
/// let id = Id::from_u64(0x0123_4567_89ab_cdef);
/// let uuid = key.tag(id);
/// assert_eq!(key.check(uuid), Ok(id));
///
/// let other = TagKey::new(number, Sparx64::new(&[8; 16]));
/// assert_eq!(other.check(uuid), Err(TagError::Tag { key: number }));
/// # Ok::<(), randflake_core::KeyNumberError>(())
/// ```
#[derive(Clone)]
pub struct TagKey {
    number: KeyNumber,
    cipher: Sparx64,
}

impl TagKey {
    /// Takes the key's number and the cipher under the key.
    #[must_use]
    pub const fn new(number: KeyNumber, cipher: Sparx64) -> Self {
        Self { number, cipher }
    }

    /// Number of the key, which each of its UUIDs has.
    #[must_use]
    pub const fn number(&self) -> KeyNumber {
        self.number
    }

    /// Makes the tagged UUID of an id: always the same one.
    ///
    /// The id must be encrypted under the secret of the same key number, else it shows what a plain id shows, and ids of two
    /// keys may be equal.
    #[must_use]
    pub fn tag(&self, id: Id) -> TaggedUuid {
        TaggedUuid::of(id, self.number, self.tag_of(id))
    }

    /// Checks the tag, in constant time, and returns the id.
    ///
    /// # Errors
    ///
    /// [`TagError::KeyNumber`] if the UUID names another key, [`TagError::Tag`] if this key does not make its tag.
    pub fn check(&self, uuid: TaggedUuid) -> Result<Id, TagError> {
        let key = self.number;
        // The number is not secret: the UUID shows it.
        if uuid.key_number() != key {
            return Err(TagError::KeyNumber {
                uuid: uuid.key_number(),
                key,
            });
        }
        let id = uuid.unchecked_id();
        let wrong = uuid.claimed_tag() ^ self.tag_of(id);
        // All 52 bits in one step, also where registers have 32, and the compiler is kept from taking the halves apart: timing
        // must not show a forger how much of a tag was right.
        if black_box(low_word(wrong) | low_word(wrong >> u32::BITS)) != 0 {
            return Err(TagError::Tag { key });
        }
        Ok(id)
    }

    fn tag_of(&self, id: Id) -> u64 {
        self.cipher.encrypt_u64(id.to_u64()) >> (u64::BITS - TAG_BITS)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the rest is what is cut")]
const fn low_word(bits: u64) -> u32 {
    bits as u32
}

/// Shows the number and nothing of the key.
impl Debug for TagKey {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("TagKey")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}
