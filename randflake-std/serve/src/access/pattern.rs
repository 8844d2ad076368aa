//! Patterns of namespaces: a name, a prefix, or all.

use core::fmt::{self, Display, Formatter};
use core::str::FromStr;

/// A pattern such as `orders`, `orders-*` or `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// One namespace.
    Name(String),
    /// All whose names begin so.
    Prefix(String),
}

impl Pattern {
    pub(crate) fn matches(&self, name: &str) -> bool {
        match self {
            Self::Name(own) => own == name,
            Self::Prefix(prefix) => name.starts_with(prefix.as_str()),
        }
    }
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (stem, is_prefix) = match text.strip_suffix('*') {
            Some(stem) => (stem, true),
            None => (text, false),
        };
        // Of a namespace's name. A `*` anywhere else would look as if it matched there.
        let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
        if !stem.chars().all(is_allowed) || stem.is_empty() && !is_prefix {
            return Err(format!(
                "{text:?} is no pattern of namespaces: a name is allowed, or the beginning of names and *"
            ));
        }
        let stem = stem.to_owned();
        Ok(if is_prefix {
            Self::Prefix(stem)
        } else {
            Self::Name(stem)
        })
    }
}

impl Display for Pattern {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Prefix(prefix) => write!(f, "{prefix}*"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_beginnings_match() {
        for (pattern, name, matches) in [
            ("orders", "orders", true),
            ("orders", "orders-2", false),
            ("orders-*", "orders-2", true),
            ("orders-*", "orders", false),
            ("*", "anything", true),
        ] {
            let read: Pattern = pattern.parse().unwrap();
            assert_eq!(read.matches(name), matches, "{pattern} {name}");
            assert_eq!(read.to_string(), pattern);
        }
        for wrong in ["", "a*b", "Orders", "a b", "**"] {
            assert!(wrong.parse::<Pattern>().is_err(), "{wrong:?}");
        }
    }
}
