//! The parts of a record's text.

use core::fmt::{Display, Write as _};

use super::super::base36::{self, Base36};
use super::{Form, newer};

/// Length of the versions that a text begins with.
const VERSIONS: usize = 2;
const RADIX: u32 = 36;

/// The fields of a text, from the first one on.
#[derive(Debug)]
pub(in super::super) struct Fields<'t> {
    version: u8,
    min_reader: u8,
    /// Empty, or a colon and what follows.
    rest: &'t str,
}

impl<'t> Fields<'t> {
    /// Those of a text, unless its reader must know a later version than this one.
    pub(in super::super) fn of(text: &'t str, known: u8) -> Result<Self, String> {
        // Nothing of a shorter text, or where the second byte is within a character.
        let (versions, rest) = text.split_at_checked(VERSIONS).unwrap_or_default();
        let foreign = || "it is another program's".to_owned();
        let [version, min_reader] = digits(versions).ok_or_else(foreign)?;
        if !is_part(rest) {
            return Err(foreign());
        }
        // The version of the form may be higher: what it has added follows as a tail, and is kept.
        if min_reader > known {
            return Err(newer(min_reader.into(), known.into()));
        }
        Ok(Self {
            version,
            min_reader,
            rest,
        })
    }

    pub(in super::super) fn word(&mut self) -> Option<&'t str> {
        // No colon: the text ends before this field.
        let rest = self.rest.strip_prefix(':')?;
        let (word, rest) = rest.split_at(rest.find(':').unwrap_or(rest.len()));
        self.rest = rest;
        Some(word)
    }

    pub(in super::super) fn number<N: TryFrom<u64>>(&mut self) -> Option<N> {
        base36::number(self.word()?)?.try_into().ok()
    }

    /// A number that each write of the record raises. The highest one is refused: no record is written that often, and
    /// there would be none after it.
    pub(in super::super) fn count(&mut self) -> Option<u64> {
        self.number().filter(|count| *count < u64::MAX)
    }

    pub(in super::super) fn long(&mut self) -> Option<u128> {
        base36::long(self.word()?)
    }

    /// Free text, which may have colons.
    pub(in super::super) fn text(&mut self) -> Option<String> {
        let len = self.number()?;
        let (text, rest) = self.rest.strip_prefix(':')?.split_at_checked(len)?;
        // A length that ends in the middle of a field is a damaged text, not a short name.
        self.rest = Some(rest).filter(|rest| is_part(rest))?;
        Some(text.to_owned())
    }

    /// The versions, and all that was not read yet as the tail: read last.
    pub(in super::super) fn form(&self) -> Form {
        Form {
            version: self.version,
            min_reader: self.min_reader,
            tail: self.rest.to_owned(),
        }
    }
}

/// Two versions of one digit each.
pub(super) fn digits(text: &str) -> Option<[u8; 2]> {
    let mut digits = text.chars().map(|digit| digit.to_digit(RADIX));
    let pair = [digits.next()??, digits.next()??];
    let pair = digits.next().is_none().then_some(pair)?;
    Some(pair.map(|digit| u8::try_from(digit).unwrap_or_default()))
}

fn is_part(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(':')
}

/// A text that is being written.
#[derive(Debug)]
pub(in super::super) struct Line<'f> {
    text: String,
    tail: &'f str,
}

impl<'f> Line<'f> {
    /// Begins with the versions.
    pub(in super::super) fn of(form: &'f Form) -> Self {
        let Form {
            version,
            min_reader,
            tail,
        } = form;
        let mut line = Self {
            // The record of a node id has some 150 bytes.
            text: String::with_capacity(160),
            tail,
        };
        line.push(Base36((*version).into()));
        line.push(Base36((*min_reader).into()));
        line
    }

    pub(in super::super) fn word(mut self, word: impl Display) -> Self {
        self.text.push(':');
        self.push(word);
        self
    }

    pub(in super::super) fn number(self, number: impl Into<u128>) -> Self {
        self.word(Base36(number.into()))
    }

    /// Free text, behind its length.
    pub(in super::super) fn text(self, text: &str) -> Self {
        self.number(text.len() as u128).word(text)
    }

    /// Ends with the tail.
    pub(in super::super) fn end(mut self) -> String {
        self.text.push_str(self.tail);
        self.text
    }

    fn push(&mut self, part: impl Display) {
        // Into a string it cannot fail.
        _ = write!(self.text, "{part}");
    }
}
