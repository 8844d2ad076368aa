//! Text as an argument of a shell.

use std::borrow::Cow;

/// Quotes a text for a shell, unless it has only characters that no shell takes for its own.
#[must_use]
pub fn quoted(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+,=".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.into();
    }
    // Within single quotes nothing has a meaning but the quote itself.
    format!("'{}'", text.replace('\'', r"'\''")).into()
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_shell_takes_a_quoted_text_as_it_is() {
        for (text, expected) in [
            ("sqlite:/srv/ids/leases.db", "sqlite:/srv/ids/leases.db"),
            (
                "sqlite:/srv/my ids/leases.db",
                "'sqlite:/srv/my ids/leases.db'",
            ),
            (
                "postgres://h/d?owner=a&sslmode=x",
                "'postgres://h/d?owner=a&sslmode=x'",
            ),
            ("it's", r"'it'\''s'"),
            ("$(reboot)", "'$(reboot)'"),
            ("~/ids", "'~/ids'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(text), expected);
        }
    }
}
