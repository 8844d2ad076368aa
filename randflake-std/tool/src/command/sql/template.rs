//! SQL texts with places to fill.

use super::expressions::values;
use super::terms::{Contents, Terms};
use crate::failure::Failure;

/// The texts of a database, one after another, for each form of ids.
pub(super) struct Pieces {
    pub(super) encrypted: &'static [&'static str],
    pub(super) encrypted_53: &'static [&'static str],
    pub(super) plain: &'static [&'static str],
    /// What some of them have in common, by its place in them.
    pub(super) parts: &'static [(&'static str, &'static str)],
}

impl Pieces {
    /// The texts for the ids of a layout, filled.
    pub(super) fn of_layout(&self, terms: Terms, schema: String) -> Result<String, Failure> {
        let (pieces, form, spec) = match terms.contents {
            Contents::Encrypted(spec) => (self.encrypted, BITS_64, spec),
            Contents::Encrypted53(spec) => (self.encrypted_53, BITS_53, spec),
            Contents::Plain(spec) => (self.plain, BITS_64, spec),
            Contents::Counter | Contents::Tagged => {
                return Err(Failure::usage("these have no layout to read ids by"));
            }
        };
        Ok(self.filled(pieces, terms.namespace, schema, form, values(spec)?))
    }

    /// Texts, filled.
    pub(super) fn filled(
        &self,
        pieces: &[&str],
        namespace: String,
        schema: String,
        form: FormValues,
        of_layout: Vec<(&'static str, String)>,
    ) -> String {
        // Parts have places, too.
        let fixed = self.parts.iter().copied().chain(form);
        let mut all: Vec<_> = fixed
            .map(|(name, value)| (name, value.to_owned()))
            .collect();
        all.extend([("schema", schema), ("namespace", namespace)]);
        all.extend(of_layout);
        fill(&pieces.concat(), &all)
    }
}

/// The functions that encrypt and decrypt with a key, and the numbers that ids are.
pub(super) type FormValues = [(&'static str, &'static str); 5];
pub(super) const BITS_64: FormValues = [
    ("encrypting", "encrypt_block"),
    ("decrypting", "decrypt_block"),
    ("id_bits", "64"),
    ("least_id", "-9223372036854775808"),
    ("most_id", "18446744073709551615"),
];
pub(super) const BITS_53: FormValues = [
    ("encrypting", "encrypt_number"),
    ("decrypting", "decrypt_number"),
    ("id_bits", "53"),
    ("least_id", "0"),
    ("most_id", "9007199254740991"),
];

/// Fills the places, `{name}`, of a text.
///
/// Only with what needs no quotes: names that were checked, and numbers, dates and expressions of the layout.
pub(super) fn fill(text: &str, values: &[(&str, String)]) -> String {
    let put =
        |text: String, (name, value): &(&str, String)| text.replace(&format!("{{{name}}}"), value);
    values.iter().fold(text.to_owned(), put)
}
