//! Description, pattern and lengths of the text form, for schemas.

extern crate alloc;

use alloc::format;
use alloc::string::{String, ToString};

use super::IdForm;
use super::example::Example;
use crate::text;

/// Description of the text form, for readers of a schema.
pub(super) const DESCRIPTION: &str = "A 64-bit id: base32hex digits without a leading zero, after the prefix of its kind if that has one.";

/// Description of a number, for readers of a schema.
pub(super) const DESCRIPTION_53: &str =
    "A 53-bit id: a number that JavaScript and JSON hold exactly.";
/// An example of one.
pub(super) const EXAMPLE_53: u64 = 5_894_197_889_380_909;

/// A regular expression of ECMA 262, as JSON Schema has them, that matches each text of an id and nothing else.
pub(super) fn pattern<T: IdForm>() -> String {
    let prefix = prefix::<T>();
    // 13 digits have 65 bits, so the first of them ends at `f`. A leading zero would be a second
    // text of an id.
    format!("^{prefix}(0|[1-9a-v][0-9a-v]{{0,11}}|[1-9a-f][0-9a-v]{{12}})$")
}

/// Shortest and longest text in characters.
pub(super) fn lengths<T: IdForm>() -> (usize, usize) {
    let prefix = prefix::<T>().len();
    (
        prefix.saturating_add(1),
        prefix.saturating_add(text::MAX_LEN),
    )
}

/// Text of an example id.
pub(super) fn example<T: IdForm>() -> String {
    Example::<T>::NEW.to_string()
}

fn prefix<T: IdForm>() -> String {
    match T::PREFIX {
        "" => String::new(),
        prefix => format!("{prefix}_"),
    }
}
