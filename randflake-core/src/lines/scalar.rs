//! Writes one id after another, on any processor.

use super::Notation;
use crate::Id;
use crate::decimal::{decimal_digits, decimal_len};

/// Writes all ids. The caller has checked that they fit.
#[cfg_attr(
    all(target_arch = "x86_64", target_feature = "sse2", not(test)),
    expect(dead_code, reason = "vectors do most, and `append` the rest")
)]
pub(super) fn write(notation: Notation, ids: &[Id], separator: u8, buffer: &mut [u8]) -> usize {
    append(notation, ids, separator, buffer, 0)
}

/// Writes behind `end` bytes and gives the new end.
pub(super) fn append(
    notation: Notation,
    ids: &[Id],
    separator: u8,
    buffer: &mut [u8],
    mut end: usize,
) -> usize {
    for &id in ids {
        end = match notation {
            Notation::Text => put(id.to_text().as_bytes(), buffer, end),
            Notation::Unsigned => decimal(id.to_u64(), buffer, end),
            Notation::Signed => {
                let number = id.to_i64();
                let sign: &[u8] = if number < 0 { b"-" } else { b"" };
                let end = put(sign, buffer, end);
                decimal(number.unsigned_abs(), buffer, end)
            }
        };
        end = put(&[separator], buffer, end);
    }
    end
}

fn decimal(number: u64, buffer: &mut [u8], end: usize) -> usize {
    let digits = decimal_digits(number);
    let start = digits.len().wrapping_sub(decimal_len(number));
    put(digits.get(start..).unwrap_or_default(), buffer, end)
}

fn put(text: &[u8], buffer: &mut [u8], end: usize) -> usize {
    let next = end.wrapping_add(text.len());
    if let Some(place) = buffer.get_mut(end..next) {
        place.copy_from_slice(text);
    }
    next
}
