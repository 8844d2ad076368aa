//! Records as one line of text, for engines that keep values, not columns.
//!
//! A line begins with the two versions of its [`Form`]. Fields follow, each behind a colon: numbers in base 36, words
//! without a colon, and free text behind its length. What comes after the fields that this program knows is the tail:
//! a later version wrote it, and it is kept.

mod fields;
mod namespace;
mod node;

pub(super) use self::fields::{Fields, Line};

/// The highest version of records that this program reads and writes.
pub const VERSION: u8 = 1;

/// Versions and tail of a record: what is kept of it whoever writes it again.
///
/// A version may add fields behind those of the one before it, without asking more of readers: programs that do not know
/// them carry them along through renewals, releases and replacements. So a tail may only say what stays true then.
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
    // Engines compare texts, and hashes are of texts: a record that is spelled differently could never be changed.
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
