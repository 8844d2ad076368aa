//! Bulk conversion of ids to base32hex and decimal text.

mod scalar;

#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod avx2;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
use avx2 as platform;
#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
use scalar as platform;

use crate::decimal::decimal_len;
use crate::{BufferTooShort, Id, text};

/// Text form in which many ids are written at once, each followed by a separator.
///
/// ```
/// use randflake_core::{Id, Notation};
///
/// let ids = [Id::from_i64(31), Id::from_i64(-1)];
/// let mut buffer = [0; 64];
/// let len = Notation::Text.write(&ids, b'\n', &mut buffer)?;
/// assert_eq!(&buffer[..len], b"v\nfvvvvvvvvvvvv\n");
/// let len = Notation::Signed.write(&ids, b',', &mut buffer)?;
/// assert_eq!(&buffer[..len], b"31,-1,");
/// # Ok::<(), randflake_core::BufferTooShort>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Notation {
    /// Base32hex digits, as written by [`Id::to_text`].
    Text,
    /// The decimal digits of [`Id::to_i64`], as a database's `bigint` shows them.
    Signed,
    /// The decimal digits of [`Id::to_u64`].
    Unsigned,
}

impl Notation {
    /// Length of the longest id without its separator: 13 or 20 bytes.
    #[must_use]
    pub const fn max_len(self) -> usize {
        match self {
            Self::Text => 13,
            Self::Signed | Self::Unsigned => 20,
        }
    }

    /// Writes all ids into a buffer, each followed by the separator, and returns the number of bytes written.
    ///
    /// With AVX2 an id takes 1 to 3 ns. A buffer of [`max_len`](Notation::max_len) + 1 bytes for each id always
    /// suffices. Bytes of the buffer after those counted are unspecified.
    ///
    /// # Errors
    ///
    /// [`BufferTooShort`], with the number of bytes needed. Nothing is written then.
    pub fn write(
        self,
        ids: &[Id],
        separator: u8,
        buffer: &mut [u8],
    ) -> Result<usize, BufferTooShort> {
        let most = ids.len().saturating_mul(self.max_len().saturating_add(1));
        if buffer.len() < most {
            let needed = self.len_of_all(ids);
            if buffer.len() < needed {
                return Err(BufferTooShort {
                    len: buffer.len(),
                    needed,
                });
            }
        }
        Ok(platform::write(self, ids, separator, buffer))
    }

    /// The bytes that the ids and their separators take.
    fn len_of_all(self, ids: &[Id]) -> usize {
        ids.iter()
            .map(|&id| self.len(id).saturating_add(1))
            .fold(0, usize::saturating_add)
    }

    /// The bytes that an id takes without its separator: where the next one begins.
    #[must_use]
    #[inline]
    pub fn len(self, id: Id) -> usize {
        match self {
            Self::Text => text::len(id.to_u64()) as usize,
            Self::Unsigned => decimal_len(id.to_u64()),
            Self::Signed => {
                decimal_len(id.to_i64().unsigned_abs()).wrapping_add(usize::from(id.to_i64() < 0))
            }
        }
    }
}

#[cfg(test)]
mod tests;
