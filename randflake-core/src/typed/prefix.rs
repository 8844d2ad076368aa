//! The text form of a typed id: prefix, `_`, digits.

use core::fmt::{self, Formatter};

use super::TypedIdError;
use crate::{Id, text};

/// Length of the longest prefix in bytes.
pub(super) const MAX_LEN: usize = 32;
/// Never a digit, so the last one in a text ends the prefix.
const SEPARATOR: char = '_';

/// Whether a prefix keeps the text form unambiguous and safe in a URL, a file name and a JSON key.
pub(super) const fn is_valid(prefix: &str) -> bool {
    let bytes = prefix.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return true;
    };
    // No `_` at the end: before the separator it would look like a part of it.
    bytes.len() <= MAX_LEN && first.is_ascii_lowercase() && *last != b'_' && all_valid(bytes)
}

const fn all_valid(mut bytes: &[u8]) -> bool {
    while let [first, rest @ ..] = bytes {
        if !matches!(first, b'a'..=b'z' | b'0'..=b'9' | b'_') {
            return false;
        }
        bytes = rest;
    }
    true
}

/// Reads the text form of an id with this prefix, strictly.
pub(super) fn parse(expected: &'static str, text: &str) -> Result<Id, TypedIdError> {
    let digits = match (expected, text.rsplit_once(SEPARATOR)) {
        ("", None) => text,
        // The last separator: a prefix may contain `_`, digits never do.
        (_, Some((found, digits))) if found == expected && !expected.is_empty() => digits,
        (_, split) => {
            let found = split.map_or("", |(found, _)| found);
            return Err(TypedIdError::prefix(expected, found));
        }
    };
    Ok(Id::from_text(digits.as_bytes())?)
}

/// Writes the text form of an id with this prefix, padded as `f` asks for.
pub(super) fn write(prefix: &str, id: Id, f: &mut Formatter<'_>) -> fmt::Result {
    let digits = id.to_text();
    if prefix.is_empty() {
        return f.pad(&digits);
    }
    // Composed first and written at once, because `pad` aligns a whole text only.
    let mut buffer = [0; MAX_LEN + 1 + text::MAX_LEN];
    let parts = [prefix.as_bytes(), &[SEPARATOR as u8], digits.as_bytes()];
    let mut len = 0_usize;
    for (to, from) in buffer.iter_mut().zip(parts.into_iter().flatten()) {
        *to = *from;
        len = len.wrapping_add(1);
    }
    let text = buffer.get(..len).unwrap_or_default();
    f.pad(str::from_utf8(text).unwrap_or_default())
}
