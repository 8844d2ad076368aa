//! Descriptions, pattern and lengths, for schemas.

extern crate alloc;

use alloc::format;
use alloc::string::String;

use crate::{Kind, text};

/// Description of the text form, for readers of a schema.
pub(super) const DESCRIPTION: &str = "A 64-bit id: base32hex digits without a leading zero, after the prefix of its kind if that has one.";

/// Description of a number, for readers of a schema.
pub(super) const DESCRIPTION_53: &str =
    "A 53-bit id: a number that JavaScript and JSON hold exactly.";

/// A regular expression of ECMA 262, as JSON Schema has them, that matches each text of an id and
/// nothing else.
pub(super) fn pattern<K: Kind>() -> String {
    let prefix = prefix::<K>();
    // 13 digits have 65 bits, so the first of them ends at `f`. A leading zero would be a second
    // text of an id.
    format!("^{prefix}(0|[1-9a-v][0-9a-v]{{0,11}}|[1-9a-f][0-9a-v]{{12}})$")
}

/// Shortest and longest text in characters.
pub(super) fn lengths<K: Kind>() -> (usize, usize) {
    let prefix = prefix::<K>().len();
    (
        prefix.saturating_add(1),
        prefix.saturating_add(text::MAX_LEN),
    )
}

fn prefix<K: Kind>() -> String {
    match K::PREFIX {
        "" => String::new(),
        prefix => format!("{prefix}_"),
    }
}
