//! The text of an id in a string of fixed capacity.

use heapless::String;
use randflake_core::Id;

/// The text form of an id: 1 to 13 characters of `0-9a-v`.
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
        // Seven bits are ASCII, as they all are: the compiler need not think of longer characters. It always fits.
        _ = text.push(char::from(byte & 0x7f));
    }
    text
}
