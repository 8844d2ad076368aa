//! Bulk conversion of ids to text, written straight into a byte buffer.

use super::{BASE32, BASE36, BASE58, BASE62, Base, MOST, Table, base64, digits, fast};
use crate::{BufferTooShort, Id, Notation};

impl Base {
    /// Writes all ids into a buffer, each followed by the separator, and returns the number of bytes written.
    ///
    /// Bytes of the buffer after that are unspecified.
    ///
    /// ```
    /// use randflake_core::{Base, Id};
    ///
    /// let ids = [Id::from_u64(31), Id::from_u64(749_172_199_921_140_349)];
    /// let mut buffer = [0; 24];
    /// let len = Base::Base58.write(&ids, b'\n', &mut buffer)?;
    /// assert_eq!(&buffer[..len], b"x\n2JS2rjxmEG6\n");
    /// # Ok::<(), randflake_core::BufferTooShort>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`BufferTooShort`] if the buffer has less than [`max_len`](Base::max_len) + 1 bytes for each id. Nothing is
    /// written then.
    pub fn write(
        self,
        ids: &[Id],
        separator: u8,
        buffer: &mut [u8],
    ) -> Result<usize, BufferTooShort> {
        let needed = ids.len().saturating_mul(self.max_len().saturating_add(1));
        if buffer.len() < needed {
            let len = buffer.len();
            return Err(BufferTooShort { len, needed });
        }
        let lines = TextLines {
            ids,
            separator,
            buffer,
        };
        Ok(match self {
            Self::Base2 => lines.write(|bits| {
                let zeros = (bits | 1).leading_zeros();
                let digits = fast::binary_digits(bits.checked_shl(zeros).unwrap_or_default());
                (digits, 64_usize.wrapping_sub(zeros as usize))
            }),
            Self::Base10 => return Notation::Unsigned.write(ids, separator, lines.buffer),
            Self::Base32 => lines.write(in_radix::<32>(&BASE32)),
            Self::Base36 => lines.write(in_radix::<36>(&BASE36)),
            Self::Base58 => lines.write(in_radix::<58>(&BASE58)),
            Self::Base62 => lines.write(in_radix::<62>(&BASE62)),
            Self::Base64 => lines.write(base64::characters),
        })
    }
}

/// The digits of a number, left-aligned, and their count.
fn in_radix<const RADIX: u64>(table: &Table) -> impl Fn(u64) -> ([u8; MOST], usize) {
    move |bits| {
        let (digits, zeros) = digits::<RADIX>(table, bits);
        let shifted = digits.checked_shl(zeros.wrapping_mul(8));
        let len = MOST.wrapping_sub(zeros as usize);
        (shifted.unwrap_or_default().to_be_bytes(), len)
    }
}

struct TextLines<'a> {
    ids: &'a [Id],
    separator: u8,
    buffer: &'a mut [u8],
}

impl TextLines<'_> {
    /// Writes one text per id. While there is room the whole array is copied: a constant length is faster than the
    /// exact one.
    #[inline]
    fn write<const N: usize>(self, text: impl Fn(u64) -> ([u8; N], usize)) -> usize {
        let Self {
            ids,
            separator,
            buffer,
        } = self;
        let mut end: usize = 0;
        for id in ids {
            let (text, len) = text(id.to_u64());
            let rest = buffer.get_mut(end..).unwrap_or_default();
            if let Some(places) = rest.first_chunk_mut() {
                *places = text;
            } else if let (Some(places), Some(text)) = (rest.get_mut(..len), text.get(..len)) {
                places.copy_from_slice(text);
            }
            if let Some(place) = rest.get_mut(len) {
                *place = separator;
            }
            end = end.wrapping_add(len).wrapping_add(1);
        }
        end
    }
}
