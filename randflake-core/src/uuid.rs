//! An id as a UUID of version 8, for schemas that insist on UUID columns.

use core::fmt::{self, Display, Formatter};

use crate::Id;

// The fields of RFC 9562, section 5.8: custom_a, ver, custom_b, var and custom_c have 48, 4, 12, 2
// and 62 bits. The 64 bits of an id fill the first two and the top of the last.
const VERSION: u128 = 8;
const VARIANT: u128 = 0b10;
/// Position of the version from the least significant bit.
const VERSION_SHIFT: u32 = 76;
// Each is where the fields below it end: 128 - 48 - 4 for the version, 76 - 12 - 2 for the variant,
// 62 - 4 for the id's last bits.
const VARIANT_SHIFT: u32 = 62;
const LOW_SHIFT: u32 = 58;
/// The id's bits in each of the UUID's custom fields.
const HIGH_BITS: u32 = 48;
const MIDDLE_BITS: u32 = 12;
const LOW_BITS: u32 = 4;

impl Id {
    /// The id as the 16 bytes of a UUID of version 8 ([RFC 9562, section
    /// 5.8](https://www.rfc-editor.org/rfc/rfc9562#section-5.8)), in network order.
    ///
    /// ```text
    /// custom_a 48            ver 4  custom_b 12       var 2  custom_c 62
    /// | id bits 63 .. 16     | 8    | id bits 15 .. 4 | 0b10 | id bits 3 .. 0, then 58 zeros |
    /// ```
    ///
    /// UUIDs are in the order of the ids as unsigned numbers. Those of plain ids are in the order
    /// of time; those of encrypted ones look random, and have no more than an id's 64 bits.
    ///
    /// ```
    /// use randflake_core::Id;
    ///
    /// let id = Id::from_u64(0x0123_4567_89AB_CDEF);
    /// let uuid = id.to_uuid_bytes();
    /// assert_eq!(u128::from_be_bytes(uuid), 0x01234567_89ab_8cde_bc00_000000000000);
    /// assert_eq!(Id::from_uuid_bytes(uuid), Ok(id));
    /// ```
    #[must_use]
    pub const fn to_uuid_bytes(self) -> [u8; 16] {
        pack(self, 0)
    }

    /// The id of a UUID that [`to_uuid_bytes`](Id::to_uuid_bytes) made.
    ///
    /// # Errors
    ///
    /// [`UuidError`] for any other UUID: nothing of it would be lost unnoticed.
    pub const fn from_uuid_bytes(uuid: [u8; 16]) -> Result<Self, UuidError> {
        match unpack(uuid) {
            None => Err(UuidError::NotVersion8),
            Some((id, 0)) => Ok(id),
            // Version 8 is free for any application, so the zeros are what shows that an id is
            // inside.
            Some(_) => Err(UuidError::NoId),
        }
    }

    /// The eight bytes of the id, most significant first: `IntBytes` of `bwmarrin/snowflake`.
    #[must_use]
    pub const fn to_be_bytes(self) -> [u8; 8] {
        self.to_u64().to_be_bytes()
    }

    /// The id of eight bytes, most significant first.
    #[must_use]
    pub const fn from_be_bytes(bytes: [u8; 8]) -> Self {
        Self::from_u64(u64::from_be_bytes(bytes))
    }
}

/// A UUID of version 8 with an id, and `rest` in the 58 bits behind it.
pub(crate) const fn pack(id: Id, rest: u64) -> [u8; 16] {
    let id = id.to_u64() as u128;
    let high = id.wrapping_shr(MIDDLE_BITS.wrapping_add(LOW_BITS));
    let middle = id.wrapping_shr(LOW_BITS) & ones(MIDDLE_BITS);
    let low = id & ones(LOW_BITS);
    let uuid = high.wrapping_shl(u128::BITS.wrapping_sub(HIGH_BITS))
        | VERSION.wrapping_shl(VERSION_SHIFT)
        | middle.wrapping_shl(VERSION_SHIFT.wrapping_sub(MIDDLE_BITS))
        | VARIANT.wrapping_shl(VARIANT_SHIFT)
        | low.wrapping_shl(LOW_SHIFT)
        | rest as u128;
    uuid.to_be_bytes()
}

/// The id of a UUID of version 8, and the 58 bits behind it. `None` for another version or variant.
pub(crate) const fn unpack(uuid: [u8; 16]) -> Option<(Id, u64)> {
    let bits = u128::from_be_bytes(uuid);
    let version = bits.wrapping_shr(VERSION_SHIFT) & ones(4);
    if version != VERSION || bits.wrapping_shr(VARIANT_SHIFT) & ones(2) != VARIANT {
        return None;
    }
    let high = bits.wrapping_shr(u128::BITS.wrapping_sub(HIGH_BITS));
    let middle = bits.wrapping_shr(VERSION_SHIFT.wrapping_sub(MIDDLE_BITS)) & ones(MIDDLE_BITS);
    let low = bits.wrapping_shr(LOW_SHIFT) & ones(LOW_BITS);
    let id =
        high.wrapping_shl(MIDDLE_BITS.wrapping_add(LOW_BITS)) | middle.wrapping_shl(LOW_BITS) | low;
    Some((Id::from_u64(low_half(id)), low_half(bits & ones(LOW_SHIFT))))
}

pub(crate) const fn ones(bits: u32) -> u128 {
    !u128::MAX.wrapping_shl(bits)
}

#[expect(clippy::cast_possible_truncation, reason = "the rest is what is cut")]
pub(crate) const fn low_half(bits: u128) -> u64 {
    bits as u64
}

/// Error of converting a UUID to an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum UuidError {
    /// The version or variant is not that of UUIDs of ids.
    NotVersion8,
    /// A UUID of version 8 of another application: its last 58 bits are not zero.
    NoId,
}

impl Display for UuidError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotVersion8 => "the UUID is not of version 8: only those made of ids are allowed",
            Self::NoId => "the UUID was not made of an id: its last 58 bits must be zero",
        })
    }
}

impl core::error::Error for UuidError {}
