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
    // It always fits.
    String::try_from(id.to_text().as_str()).unwrap_or_default()
}
