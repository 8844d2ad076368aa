//! Records as one line of text, for engines that keep values, not columns.
//!
//! A line begins with the two versions of its [`Form`]. Fields follow, each behind a colon: numbers
//! in base 36, words without a colon, and free text behind its length. What comes after the fields
//! that this program knows is the tail: a later version wrote it, and it is kept.

mod records;

use core::fmt::{Display, Write as _};

use super::base36::{self, Base36};

/// The highest version of records that this program reads and writes.
pub const VERSION: u8 = 1;

/// Versions and tail of a record: every program keeps them when it writes the record again.
///
/// A version may add fields behind those of the one before it, without asking more of readers:
/// programs that do not know them carry them along through renewals, releases and replacements. So
/// a tail may only say what stays true then.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Form {
    /// Version of the program whose fields it has.
    pub version: u8,
    /// The least version that a reader must know.
    pub min_reader: u8,
    /// What follows on the fields that this program knows, with its colon; empty if nothing does.
    pub tail: String,
}

impl Default for Form {
    /// What this program writes where no record was before.
    fn default() -> Self {
        Self {
            // Not `VERSION`: older programs read it too, until somebody raises the namespace.
            version: 1,
            min_reader: 1,
            tail: String::new(),
        }
    }
}

/// Reads a record that a program of a version can read.
///
/// # Errors
///
/// A sentence says what it is instead.
pub(super) fn read<T>(
    text: &str,
    known: u8,
    fields: impl FnOnce(&mut Fields<'_>) -> Option<T>,
    to_text: impl FnOnce(&T) -> String,
) -> Result<T, String> {
    let record = fields(&mut Fields::of(text, known)?);
    // Engines compare texts, and hashes are of texts: a record that is spelled differently could
    // never be changed.
    let record = record.filter(|record| to_text(record) == text);
    record.ok_or_else(|| "it is damaged".to_owned())
}

/// Why a program that knows one version does not touch what a later one has made.
#[must_use]
pub fn newer(version: u64, known: u64) -> String {
    format!(
        "a newer randflake made it (version {version}; this one knows {known}): update this one"
    )
}

/// Length of the versions that a text begins with.
const VERSIONS: usize = 2;
const RADIX: u32 = 36;

/// The fields of a text, from the first one on.
#[derive(Debug)]
pub(in crate::rules) struct Fields<'t> {
    version: u8,
    min_reader: u8,
    /// Empty, or a colon and what follows.
    rest: &'t str,
}

impl<'t> Fields<'t> {
    /// Those of a text, unless its reader must know a later version than this one.
    pub(in crate::rules) fn of(text: &'t str, known: u8) -> Result<Self, String> {
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

    pub(in crate::rules) fn word(&mut self) -> Option<&'t str> {
        // No colon: the text ends before this field.
        let rest = self.rest.strip_prefix(':')?;
        let (word, rest) = rest.split_at(rest.find(':').unwrap_or(rest.len()));
        self.rest = rest;
        Some(word)
    }

    pub(in crate::rules) fn number<N: TryFrom<u64>>(&mut self) -> Option<N> {
        base36::number(self.word()?)?.try_into().ok()
    }

    /// A number that each write of the record raises. The highest one is refused: no record is
    /// written that often, and there would be none after it.
    pub(in crate::rules) fn count(&mut self) -> Option<u64> {
        self.number().filter(|count| *count < u64::MAX)
    }

    pub(in crate::rules) fn long(&mut self) -> Option<u128> {
        base36::long(self.word()?)
    }

    /// Free text, which may have colons.
    pub(in crate::rules) fn text(&mut self) -> Option<String> {
        let len = self.number()?;
        let (text, rest) = self.rest.strip_prefix(':')?.split_at_checked(len)?;
        // A length that ends in the middle of a field is a damaged text, not a short name.
        self.rest = Some(rest).filter(|rest| is_part(rest))?;
        Some(text.to_owned())
    }

    /// The versions, and all that was not read yet as the tail: read last.
    pub(in crate::rules) fn form(&self) -> Form {
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
pub(in crate::rules) struct Line<'f> {
    text: String,
    tail: &'f str,
}

impl<'f> Line<'f> {
    /// Begins with the versions.
    pub(in crate::rules) fn of(form: &'f Form) -> Self {
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

    pub(in crate::rules) fn word(mut self, word: impl Display) -> Self {
        self.text.push(':');
        self.push(word);
        self
    }

    pub(in crate::rules) fn number(self, number: impl Into<u128>) -> Self {
        self.word(Base36(number.into()))
    }

    /// Free text, behind its length.
    pub(in crate::rules) fn text(self, text: &str) -> Self {
        self.number(text.len() as u128).word(text)
    }

    /// Ends with the tail.
    pub(in crate::rules) fn end(mut self) -> String {
        self.text.push_str(self.tail);
        self.text
    }

    fn push(&mut self, part: impl Display) {
        // Into a string it cannot fail.
        _ = write!(self.text, "{part}");
    }
}
