//! Ids as strings of fixed capacity.

use heapless::String;
use randflake_core::Id;

/// Formats an id as base32hex text: 1 to 13 characters of `0-9a-v`.
///
/// ```
/// use randflake_core::Id;
///
/// let text: heapless::String<13> = randflake_embedded::id_string(Id::from_u64(31));
/// assert_eq!(text, "v");
/// ```
#[must_use]
pub fn id_string(id: Id) -> String<13> {
    let mut text = String::new();
    for &byte in id.to_text().as_bytes() {
        // The mask tells the compiler that each character is one byte, which removes the UTF-8
        // encoder. 13 bytes always fit.
        _ = text.push(char::from(byte & 0x7f));
    }
    text
}
