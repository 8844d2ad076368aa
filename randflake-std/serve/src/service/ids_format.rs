//! How new ids are written, in both protocols.

/// Form of new ids in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdsFormat {
    /// A JSON object with text and decimal digits of each id; in HTTP alone.
    Json,
    /// Up to 13 digits of base32hex, which sort as the numbers.
    Text,
    /// Signed decimal digits, as databases show the number.
    Int,
    /// Eight bytes for each id, the lowest first.
    Raw,
}

impl IdsFormat {
    /// Each with its name, in the order in which they are taken if a client of HTTP likes several alike.
    pub(crate) const ALL: [(Self, &'static str); 4] = [
        (Self::Json, "json"),
        (Self::Text, "text"),
        (Self::Int, "int"),
        (Self::Raw, "raw"),
    ];

    pub(crate) fn named(name: &str) -> Option<Self> {
        let mut formats = Self::ALL.into_iter();
        let found = formats.find(|(_, own)| *own == name);
        found.map(|(format, _)| format)
    }
}
