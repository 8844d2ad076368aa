//! SQL texts with places to fill.

/// Fills the places, `{name}`, of a text.
///
/// Only with what needs no quotes: names that were checked, and numbers, dates and expressions of the layout.
pub(super) fn fill(text: &str, values: &[(&str, String)]) -> String {
    let put =
        |text: String, (name, value): &(&str, String)| text.replace(&format!("{{{name}}}"), value);
    values.iter().fold(text.to_owned(), put)
}
