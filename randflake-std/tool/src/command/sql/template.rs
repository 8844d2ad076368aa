//! SQL texts with places to fill.

/// Fills the places, `{name}`, of a text.
///
/// Only with what needs no quotes: names that were checked, and numbers and expressions of the layout.
pub(super) fn fill(text: &str, values: &[(&str, &str)]) -> String {
    let mut filled = text.to_owned();
    for (name, value) in values {
        filled = filled.replace(&format!("{{{name}}}"), value);
    }
    filled
}
