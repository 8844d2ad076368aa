//! SQL text with values bound in it.
//!
//! All statements of an operation are sent as one text in one round trip, which no server prepares.
//! So values stand in the text, and this is the only place that puts one there: a number in digits,
//! a text in hexadecimal. Neither has a character that a setting, a character set or a quote could
//! read in another way.

use core::fmt::Write as _;

use randflake_sql::SqlValue;

/// A statement, or a part of one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sql(String);

impl Sql {
    /// Text of this program, with a value in the place of each `?`.
    pub(crate) fn new(text: &'static str, values: &[SqlValue<'_>]) -> Self {
        Self::default().with(text, values)
    }

    /// Appends text with values.
    pub(crate) fn with(mut self, text: &'static str, values: &[SqlValue<'_>]) -> Self {
        // The text is this program's own, so no `?` in it comes from a value.
        let mut values = values.iter();
        for (at, piece) in text.split('?').enumerate() {
            if at > 0 {
                self.bind(values.next());
            }
            self.0.push_str(piece);
        }
        self
    }

    /// Appends another part of a statement.
    pub(crate) fn then(mut self, part: &Self) -> Self {
        self.0.push_str(&part.0);
        self
    }

    /// Parts with the same text between them.
    pub(crate) fn joined(parts: impl IntoIterator<Item = Self>, between: &'static str) -> Self {
        parts
            .into_iter()
            .reduce(|joined: Self, part: Self| joined.with(between, &[]).then(&part))
            .unwrap_or_default()
    }

    fn bind(&mut self, value: Option<&SqlValue<'_>>) {
        // Writing to a string cannot fail.
        match value {
            Some(SqlValue::Number(number)) => _ = write!(self.0, "{number}"),
            Some(SqlValue::Text(text)) => {
                self.0.push_str("x'");
                for byte in text.bytes() {
                    _ = write!(self.0, "{byte:02x}");
                }
                self.0.push('\'');
            }
            // What is compared with it is never true.
            None => self.0.push_str("NULL"),
        }
    }
}

impl AsRef<str> for Sql {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_only_values() {
        let name = SqlValue::Text("a'; \\ -- ?");
        let one = Sql::new("a = ? AND b = ?", &[name, SqlValue::Number(7)]);
        assert_eq!(one.as_ref(), "a = x'61273b205c202d2d203f' AND b = 7");
        let other = Sql::new("c", &[]);
        let joined = Sql::joined([other.clone(), Sql::default(), other], " OR ");
        assert_eq!(joined.as_ref(), "c OR  OR c");
        assert_eq!(Sql::new("a = ?", &[]).as_ref(), "a = NULL");
    }
}
