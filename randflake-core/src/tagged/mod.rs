//! `TaggedUuid`, a UUID of version 8 with an id, a key number and a tag.

mod key;

use core::fmt::{self, Debug, Display, Formatter};
use core::str::FromStr;

use crate::Id;
use crate::uuid::{low_half, ones, pack, unpack};
pub use key::{KeyNumber, KeyNumberError, TagError, TagKey};

const TAG_BITS: u32 = 52;
const NUMBER_BITS: u32 = 6;
/// Digits before each hyphen of the text.
const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
/// 32 digits and four hyphens.
const TEXT_LEN: usize = 36;

/// A UUID of version 8 that holds an id, the number of a key, and a tag that only a holder of the
/// key can make.
///
/// ```text
/// custom_a 48            ver 4  custom_b 12       var 2  custom_c 62
/// | id bits 63 .. 16     | 8    | id bits 15 .. 4 | 0b10 | id bits 3 .. 0 | key number 6 | tag 52 |
/// ```
///
/// It is not an [`Id`] and has no conversion to one but [`TagKey::check`]: what was read is
/// whatever the sender wrote. It is unique as a whole. The 64 bits of its id are so under one key
/// only: after a rotation they may occur again, beside another key number. So integer columns do
/// not take it, and columns of type `uuid` do.
///
/// Its text has lower-case digits and hyphens; no other text is read. The order is that of the
/// bytes, in which every database sorts UUIDs.
///
/// ```
/// use randflake_core::{Id, KeyNumber, Sparx64, TagKey, TaggedUuid, TaggedUuidError};
///
/// let key = TagKey::new(KeyNumber::new(17)?, Sparx64::new(&[7; 16]));
/// let uuid = key.tag(Id::from_u64(0x0123_4567_89ab_cdef));
/// assert_eq!(uuid.to_string().get(..21), Some("01234567-89ab-8cde-bd"));
/// assert_eq!(uuid.key_number().get(), 17);
///
/// let read: TaggedUuid = uuid.to_string().parse().unwrap();
/// assert_eq!(read, uuid);
/// let untagged = Id::from_u64(1).to_uuid_bytes();
/// assert_eq!(TaggedUuid::from_bytes(untagged), Err(TaggedUuidError::NoKeyNumber));
/// # Ok::<(), randflake_core::KeyNumberError>(())
/// ```
///
/// It converts to no number:
///
/// ```compile_fail,E0277
/// fn column(uuid: randflake_core::TaggedUuid) -> i64 {
///     uuid.into()
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(transparent)]
pub struct TaggedUuid([u8; 16]);

impl TaggedUuid {
    /// Reads the 16 bytes of a UUID, in network order. The tag is not checked here.
    ///
    /// # Errors
    ///
    /// [`TaggedUuidError`] for another version or variant, and for key number 0, which UUIDs of ids
    /// without a tag have.
    pub const fn from_bytes(bytes: [u8; 16]) -> Result<Self, TaggedUuidError> {
        match unpack(bytes) {
            None => Err(TaggedUuidError::NotVersion8),
            Some((_, rest)) if rest >> TAG_BITS == 0 => Err(TaggedUuidError::NoKeyNumber),
            Some(_) => Ok(Self(bytes)),
        }
    }

    const fn of(id: Id, number: KeyNumber, tag: u64) -> Self {
        Self(pack(id, (number.get() as u64) << TAG_BITS | tag))
    }

    /// The 16 bytes, in network order.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// Number of the key that the UUID says it was made with: choose the [`TagKey`] by it.
    #[must_use]
    pub const fn key_number(self) -> KeyNumber {
        let number = self.bits() >> TAG_BITS & ones(NUMBER_BITS);
        match KeyNumber::new(low_half(number).to_le_bytes()[0]) {
            Ok(number) => number,
            // Never: 0 was refused when it was made.
            Err(_) => KeyNumber::MAX,
        }
    }

    /// The id as anyone may have written it.
    fn unchecked_id(self) -> Id {
        // Always some: the version was checked when it was made.
        unpack(self.0).map_or(Id::from_u64(0), |(id, _)| id)
    }

    const fn claimed_tag(self) -> u64 {
        low_half(self.bits() & ones(TAG_BITS))
    }

    const fn bits(self) -> u128 {
        u128::from_be_bytes(self.0)
    }
}

impl FromStr for TaggedUuid {
    type Err = TaggedUuidError;

    /// Reads lower-case digits with hyphens, strictly: each UUID has one text.
    fn from_str(text: &str) -> Result<Self, TaggedUuidError> {
        let text: &[u8; TEXT_LEN] = text
            .as_bytes()
            .try_into()
            .map_err(|_| TaggedUuidError::Text)?;
        let mut bits = 0_u128;
        let mut rest = text.as_slice();
        for (index, group) in GROUPS.into_iter().enumerate() {
            if index > 0 {
                rest = rest.strip_prefix(b"-").ok_or(TaggedUuidError::Text)?;
            }
            let (digits, behind) = rest.split_at_checked(group).ok_or(TaggedUuidError::Text)?;
            for digit in digits {
                let value = match digit {
                    b'0'..=b'9' => digit.wrapping_sub(b'0'),
                    b'a'..=b'f' => digit.wrapping_sub(b'a').wrapping_add(10),
                    _ => return Err(TaggedUuidError::Text),
                };
                bits = bits << 4 | u128::from(value);
            }
            rest = behind;
        }
        Self::from_bytes(bits.to_be_bytes())
    }
}

impl Display for TaggedUuid {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let bits = self.bits();
        let (high, low) = (low_half(bits >> u64::BITS), low_half(bits));
        write!(
            f,
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            high >> 32,
            high >> 16 & 0xffff,
            high & 0xffff,
            low >> 48,
            low & 0xffff_ffff_ffff
        )
    }
}

/// The type and the text.
impl Debug for TaggedUuid {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "TaggedUuid({self})")
    }
}

impl From<TaggedUuid> for [u8; 16] {
    fn from(uuid: TaggedUuid) -> Self {
        uuid.to_bytes()
    }
}

impl TryFrom<[u8; 16]> for TaggedUuid {
    type Error = TaggedUuidError;

    /// As [`TaggedUuid::from_bytes`].
    fn try_from(bytes: [u8; 16]) -> Result<Self, TaggedUuidError> {
        Self::from_bytes(bytes)
    }
}

/// Error of reading a [`TaggedUuid`](super::TaggedUuid). It says nothing of the tag, which a
/// [`TagKey`](super::TagKey) checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum TaggedUuidError {
    /// The text is not a UUID of 32 hexadecimal digits in lower case with four hyphens.
    Text,
    /// The version or variant is not that of tagged UUIDs.
    NotVersion8,
    /// A UUID of version 8 with key number 0: one of an id without a tag, or of another
    /// application.
    NoKeyNumber,
}

impl Display for TaggedUuidError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => {
                "the text is not a UUID: 32 digits of 0-9 and a-f are allowed, \
                 with hyphens after the 8th, 12th, 16th and 20th"
            }
            Self::NotVersion8 => {
                "the UUID is not of version 8: only those made with a key number and a tag are allowed"
            }
            Self::NoKeyNumber => {
                "the UUID has key number 0, so no tag: only those made with a key number from 1 to 63 \
                 are allowed"
            }
        })
    }
}

impl core::error::Error for TaggedUuidError {}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::format;
    use std::string::ToString as _;

    use super::*;
    use crate::{Sparx64, UuidError};

    const ID: Id = Id::from_u64(0x0123_4567_89ab_cdef);

    fn key(number: u8, byte: u8) -> TagKey {
        TagKey::new(KeyNumber::new(number).unwrap(), Sparx64::new(&[byte; 16]))
    }

    #[test]
    fn each_bit_is_in_its_place() {
        let uuid = u128::from_be_bytes(key(0b10_1101, 7).tag(ID).to_bytes());
        let tag = Sparx64::new(&[7; 16]).encrypt_u64(ID.to_u64()) >> 12;
        assert_eq!(uuid >> 64, 0x0123_4567_89ab_8cde);
        assert_eq!(uuid >> 52 & 0x3f, 0b10_1101);
        assert_eq!(uuid >> 58 & 0x3f, 0b10_1111);
        assert_eq!(uuid & ((1 << 52) - 1), u128::from(tag));
    }

    #[test]
    fn a_uuid_is_checked_by_its_key_alone() {
        // An interpreter takes a while for each.
        for number in (1..=63).step_by(if cfg!(miri) { 31 } else { 1 }) {
            let uuid = key(number, 7).tag(ID);
            assert_eq!(uuid.key_number().get(), number);
            assert_eq!(key(number, 7).check(uuid), Ok(ID));
            let number = uuid.key_number();
            assert_eq!(
                key(number.get(), 8).check(uuid),
                Err(TagError::Tag { key: number })
            );
            let other = KeyNumber::new(number.get() % 63 + 1).unwrap();
            assert_eq!(
                key(other.get(), 7).check(uuid),
                Err(TagError::KeyNumber {
                    uuid: number,
                    key: other
                })
            );
        }
    }

    #[test]
    fn every_changed_bit_is_refused() {
        let key = key(17, 7);
        let bits = u128::from_be_bytes(key.tag(ID).to_bytes());
        for bit in 0..128 {
            let changed = TaggedUuid::from_bytes((bits ^ 1 << bit).to_be_bytes());
            match bit {
                76..80 | 62..64 => assert_eq!(changed, Err(TaggedUuidError::NotVersion8)),
                52..58 => assert!(matches!(
                    key.check(changed.unwrap()),
                    Err(TagError::KeyNumber { .. })
                )),
                _ => assert_eq!(
                    key.check(changed.unwrap()),
                    Err(TagError::Tag { key: key.number() }),
                    "bit {bit}"
                ),
            }
        }
    }

    #[test]
    fn neither_form_is_read_as_the_other() {
        assert_eq!(
            TaggedUuid::from_bytes(ID.to_uuid_bytes()),
            Err(TaggedUuidError::NoKeyNumber)
        );
        let tagged = key(1, 7).tag(ID).to_bytes();
        assert_eq!(Id::from_uuid_bytes(tagged), Err(UuidError::NoId));
    }

    #[test]
    fn one_text_is_read() {
        let uuid = key(17, 7).tag(ID);
        let text = uuid.to_string();
        assert_eq!(text.parse(), Ok(uuid));
        for wrong in [
            "",
            &text.to_uppercase(),
            &text.replace('-', ""),
            &text.replace('-', "_"),
            &["{", &text, "}"].concat(),
            &[&text[..35], "g"].concat(),
            &[&text[..35], "é"].concat(),
            &text[..35],
            &[&text, "0"].concat(),
            &["+", &text[1..]].concat(),
        ] {
            assert_eq!(wrong.parse::<TaggedUuid>(), Err(TaggedUuidError::Text));
        }
        assert_eq!(
            "00000000-0000-0000-0000-000000000000".parse::<TaggedUuid>(),
            Err(TaggedUuidError::NotVersion8)
        );
    }

    #[test]
    fn key_numbers_are_from_1_to_63() {
        for number in 0..=u8::MAX {
            let allowed = (1..=63).contains(&number);
            assert_eq!(KeyNumber::new(number).is_ok(), allowed);
            assert_eq!(
                number.to_string().parse::<KeyNumber>().is_ok(),
                allowed && number < 100
            );
        }
        for text in ["", "01", "+1", "-1", " 1", "1 ", "a", "100", "1.0"] {
            assert_eq!(text.parse::<KeyNumber>(), Err(KeyNumberError::Text));
        }
        assert_eq!(
            core::iter::successors(Some(KeyNumber::MIN), |number| number.next()).count(),
            63
        );
    }

    #[test]
    fn debug_shows_no_key() {
        assert_eq!(
            format!("{:?}", key(17, 7)),
            "TagKey { number: KeyNumber(17), .. }"
        );
    }

    #[test]
    fn a_uuid_and_a_number_are_converted_both_ways() {
        let uuid = key(17, 7).tag(ID);
        let bytes: [u8; 16] = uuid.into();
        assert_eq!(TaggedUuid::try_from(bytes), Ok(uuid));
        assert_eq!(
            TaggedUuid::try_from([0; 16]),
            Err(TaggedUuidError::NotVersion8)
        );
        assert_eq!(format!("{uuid:?}"), format!("TaggedUuid({uuid})"));
        let number = uuid.key_number();
        assert_eq!(u8::from(number), 17);
        assert_eq!(KeyNumber::try_from(17), Ok(number));
        assert_eq!(
            KeyNumber::try_from(0),
            Err(KeyNumberError::OutOfRange { number: 0 })
        );
    }
}
