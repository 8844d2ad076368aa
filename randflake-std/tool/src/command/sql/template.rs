//! SQL texts with places to fill.

use super::expressions::values;
use super::terms::{Contents, Terms};
use crate::failure::Failure;

/// The texts for the ids of a layout, one after another and filled: those for encrypted ids or those for plain ones.
pub(super) fn of_layout(
    terms: Terms,
    schema: String,
    encrypted: &[&str],
    plain: &[&str],
) -> Result<String, Failure> {
    let (pieces, of_layout) = match terms.contents {
        Contents::Encrypted(spec) => (encrypted, values(spec)?),
        Contents::Plain(spec) => (plain, values(spec)?),
        Contents::Counter => {
            return Err(Failure::usage("a counter has no layout to read ids by"));
        }
    };
    let mut values = vec![("schema", schema), ("namespace", terms.namespace)];
    values.extend(of_layout);
    Ok(fill(&pieces.concat(), &values))
}

/// Fills the places, `{name}`, of a text.
///
/// Only with what needs no quotes: names that were checked, and numbers, dates and expressions of the layout.
pub(super) fn fill(text: &str, values: &[(&str, String)]) -> String {
    let put =
        |text: String, (name, value): &(&str, String)| text.replace(&format!("{{{name}}}"), value);
    values.iter().fold(text.to_owned(), put)
}
