//! Records as one line of text, for engines that keep values, not columns.
//!
//! A line begins with the two versions of its [`Form`]. Fields follow, each behind a colon: numbers
//! in base 36, words without a colon, and free text behind its length. What comes after the fields
//! that this program knows is the tail: a later version wrote it, and it is kept.

use core::fmt::{Display, Write as _};
use core::str::FromStr;

use randflake_core::{Field, LayoutFields, LayoutSpec};

use super::keys::{self, Base36};
use super::{HistoryLink, NamespaceRecord, NodeRecord, QuarantineReason, Versions};
use crate::types::{KeyCheck, QuarantineCause, Terms, Token};

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
        keys::number(self.word()?)?.try_into().ok()
    }

    /// A number that each write of the record raises. The highest one is refused: no record is
    /// written that often, and there would be none after it.
    pub(in crate::rules) fn count(&mut self) -> Option<u64> {
        self.number().filter(|count| *count < u64::MAX)
    }

    pub(in crate::rules) fn long(&mut self) -> Option<u128> {
        keys::long(self.word()?)
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

impl NamespaceRecord {
    /// Encodes the record as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Versions { written, holder } = self.versions;
        let [written, holder] = [written, holder].map(|version| Base36(version.into()));
        Line::of(&self.form)
            .word(format_args!("{written}{holder}"))
            .word(self.terms.to_text())
            .number(self.namespace_nonce)
            .number(self.writes)
            .word(self.reason.to_text(self.quarantine))
            .text(&self.identity)
            .text(&self.fingerprint)
            .end()
    }

    /// The record of a text, for a program that knows a version.
    ///
    /// # Errors
    ///
    /// A sentence says what it is instead.
    pub fn from_text(text: &str, known: u8) -> Result<Self, String> {
        read(text, known, Self::of, Self::to_text)
    }

    fn of(fields: &mut Fields<'_>) -> Option<Self> {
        let [written, holder] = digits(fields.word()?)?;
        let terms = Terms::from_text(fields.word()?)?;
        let (namespace_nonce, writes) = (fields.number()?, fields.count()?);
        let (quarantine, reason) = QuarantineReason::from_text(fields.word()?)?;
        // The rest is the tail of a later version.
        Some(Self {
            versions: Versions { written, holder },
            terms,
            namespace_nonce,
            writes,
            quarantine,
            reason,
            identity: fields.text()?,
            fingerprint: fields.text()?,
            form: fields.form(),
        })
    }
}

/// Causes of a quarantine, and a namespace that was dropped and not opened since.
const NEW: &str = "n";
const LOST: &str = "l";
const ASKED: &str = "a";
const REOPENED: &str = "d";
const DROPPED: &str = "x";

impl QuarantineReason {
    /// With the end of the quarantine before it.
    fn to_text(self, quarantine: u64) -> String {
        let cause = match (self.is_dropped, self.cause) {
            (true, _) => DROPPED,
            // Of the store, not of a namespace: no record has the cause `Young`.
            (_, QuarantineCause::New | QuarantineCause::Young) => NEW,
            (_, QuarantineCause::Lost) => LOST,
            (_, QuarantineCause::Asked) => ASKED,
            (_, QuarantineCause::Dropped) => REOPENED,
        };
        let [quarantine, since] = [quarantine, self.since].map(|tick| Base36(tick.into()));
        format!("{quarantine}-{since}-{cause}")
    }

    fn from_text(text: &str) -> Option<(u64, Self)> {
        let mut parts = text.splitn(3, '-');
        let quarantine = keys::number(parts.next()?)?;
        let since = keys::number(parts.next()?)?;
        let cause = parts.next()?;
        let reason = Self {
            since,
            cause: match cause {
                NEW => QuarantineCause::New,
                LOST => QuarantineCause::Lost,
                ASKED => QuarantineCause::Asked,
                REOPENED | DROPPED => QuarantineCause::Dropped,
                _ => return None,
            },
            is_dropped: cause == DROPPED,
        };
        Some((quarantine, reason))
    }
}

/// Before the check value of the key of ids of 53 bits.
const BITS_53: &str = "53-";
/// Before the number of a key of tagged UUIDs and its check value.
const TAGGED: &str = "tag-";

impl Terms {
    /// Widths and shifts of time, node id and sequence, epoch, tick, longest TTL, key check.
    #[must_use]
    pub fn to_text(&self) -> String {
        let fields = self.spec.fields();
        let places = fields
            .bit_fields()
            .map(|field| format!("{}@{}", field.bits, field.shift));
        let key_check = match self.key_check {
            None => "unknown".to_owned(),
            Some(KeyCheck::Plain) => "plain".to_owned(),
            Some(KeyCheck::Key(check)) => format!("{check:08x}"),
            Some(KeyCheck::Key53(check)) => format!("{BITS_53}{check:08x}"),
            Some(KeyCheck::Tagged { number, check }) => format!("{TAGGED}{number}-{check:08x}"),
        };
        // Commas, because a word ends at a colon.
        format!(
            "{},{},{},{},{key_check}",
            places.join(","),
            fields.epoch_unix_ms,
            fields.tick_ms,
            self.max_ttl().as_millis()
        )
    }

    /// The terms of a text.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let mut parts = text.split(',');
        let mut part = || parts.next();
        let fields = LayoutFields {
            timestamp: field(part()?)?,
            node_id: field(part()?)?,
            sequence: field(part()?)?,
            epoch_unix_ms: number(part()?)?,
            tick_ms: number(part()?)?,
        };
        let terms = Self {
            spec: LayoutSpec::new(fields).ok()?,
            max_ttl_ms: Some(number(part()?)?),
            key_check: match part()? {
                "unknown" => None,
                "plain" => Some(KeyCheck::Plain),
                key => Some(key_check(key)?),
            },
        };
        // No client stores a longer one. After a loss it would close the namespace for that long.
        terms.check_max_ttl().is_ok().then_some(terms)
    }
}

fn key_check(text: &str) -> Option<KeyCheck> {
    let check = |text| u32::from_str_radix(text, 16).ok();
    if let Some(text) = text.strip_prefix(BITS_53) {
        return Some(KeyCheck::Key53(check(text)?));
    }
    let Some(text) = text.strip_prefix(TAGGED) else {
        return Some(KeyCheck::Key(check(text)?));
    };
    let (number, text) = text.split_once('-')?;
    Some(KeyCheck::Tagged {
        number: number.parse().ok()?,
        check: check(text)?,
    })
}

fn field(text: &str) -> Option<Field> {
    let (bits, shift) = text.split_once('@')?;
    Some(Field {
        bits: number(bits)?,
        shift: number(shift)?,
    })
}

fn number<N: FromStr>(text: &str) -> Option<N> {
    text.parse().ok()
}

/// States of a lease: held; held, and a copy of the holder has tried to renew; released; and both.
const HELD: char = 'h';
const CONTESTED: char = 'c';
const RELEASED: char = 'r';
const BOTH: char = 'b';

impl NodeRecord {
    /// The record without its node id. Its first field is the end, which is all that a search looks
    /// at.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Self {
            start,
            end,
            past,
            capabilities,
            ..
        } = self;
        let state = match (self.held, self.contested) {
            (true, false) => HELD,
            (true, true) => CONTESTED,
            (false, false) => RELEASED,
            (false, true) => BOTH,
        };
        // As differences, which are short: a record is read and written at each renewal.
        // They wrap, because numbers that somebody has planted must not panic. `read` compares the
        // text that is written again.
        Line::of(&self.form)
            .number(*end)
            .word(format_args!("{state}{}", Base36((*capabilities).into())))
            .number(end.wrapping_sub(*start))
            .number(self.fencing_token.wrapping_sub(*start))
            .number(self.serial)
            .number(u128::from_be_bytes(self.token.to_bytes()))
            .number(self.nonce)
            .number(past.count)
            .number(start.wrapping_sub(past.end))
            .number(past.hash)
            .text(&self.holder)
            .end()
    }

    /// The end in a record's text. Whether the rest of it can be read is not looked at.
    pub(super) fn end_of(text: &str) -> Option<u64> {
        let mut parts = text.split(':');
        // Behind the versions. A search looks at thousands of texts, and needs no more of them.
        keys::number(parts.nth(1)?)
    }

    /// The record of a node id, for a program that knows a version.
    ///
    /// # Errors
    ///
    /// A sentence says what it is instead.
    pub fn from_text(node_id: u32, text: &str, known: u8) -> Result<Self, String> {
        read(
            text,
            known,
            |fields| Self::of(node_id, fields),
            Self::to_text,
        )
    }

    fn of(node_id: u32, fields: &mut Fields<'_>) -> Option<Self> {
        let end: u64 = fields.number()?;
        let mut state = fields.word()?.chars();
        let (held, contested) = match state.next()? {
            HELD => (true, false),
            CONTESTED => (true, true),
            RELEASED => (false, false),
            BOTH => (false, true),
            _ => return None,
        };
        let capabilities = keys::number(state.as_str())?;
        let start = end.wrapping_sub(fields.number()?);
        // The next lease has a higher one.
        let fencing_token = start.wrapping_add(fields.number()?);
        if fencing_token == u64::MAX {
            return None;
        }
        Some(Self {
            node_id,
            start,
            end,
            fencing_token,
            serial: fields.count()?,
            token: Token::from_bytes(fields.long()?.to_be_bytes()),
            nonce: fields.number()?,
            held,
            contested,
            past: HistoryLink {
                count: fields.number()?,
                end: start.wrapping_sub(fields.number()?),
                hash: fields.long()?,
            },
            holder: fields.text()?,
            capabilities: u8::try_from(capabilities).ok()?,
            form: fields.form(),
        })
    }
}

#[cfg(test)]
mod tests {
    use randflake_core::{KeyNumber, Layout, Randflake, Randflake53, Sonyflake};

    use super::super::{Form, VERSION};
    use super::*;

    #[test]
    fn it_is_read_as_it_was_written() {
        let tagged = KeyCheck::Tagged {
            number: KeyNumber::MAX,
            check: 1,
        };
        for (spec, key_check, tail) in [
            (Randflake::SPEC, Some(KeyCheck::Key(1)), ""),
            (Sonyflake::SPEC, Some(KeyCheck::Plain), ":later"),
            (Sonyflake::SPEC, None, ":1:"),
            (Randflake53::SPEC, Some(KeyCheck::Key53(1)), ""),
            (Randflake::SPEC, Some(tagged), ""),
        ] {
            let record = NamespaceRecord {
                versions: Versions {
                    written: 1,
                    holder: 35,
                },
                terms: Terms {
                    spec,
                    key_check,
                    max_ttl_ms: Some(300_000),
                },
                namespace_nonce: u64::MAX,
                writes: 2,
                quarantine: 3,
                reason: QuarantineReason {
                    since: 2,
                    cause: QuarantineCause::Dropped,
                    is_dropped: key_check.is_none(),
                },
                fingerprint: "run:42".to_owned(),
                identity: tail.to_owned(),
                form: Form {
                    tail: tail.to_owned(),
                    ..Form::default()
                },
            };
            let text = record.to_text();
            let read = NamespaceRecord::from_text(&text, VERSION).unwrap();
            assert!(read.terms.agrees_with(&record.terms));
            assert_eq!(read.to_text(), text);
        }
        let refused = |text| NamespaceRecord::from_text(text, VERSION).unwrap_err();
        for foreign in ["", "1", "x", "1:x", "é", "11x", "-1:x"] {
            assert_eq!(refused(foreign), "it is another program's", "{foreign}");
        }
        for damaged in ["11", "11:x", "21:11:x"] {
            assert_eq!(refused(damaged), "it is damaged", "{damaged}");
        }
        let newer = "a newer randflake made it (version 2; this one knows 1)";
        assert!(refused("22:x").starts_with(newer));
    }

    fn node() -> NodeRecord {
        NodeRecord {
            node_id: 7,
            start: 1,
            end: u64::MAX >> 1,
            fencing_token: 3,
            serial: 4,
            token: Token::from_bytes([5; 16]),
            nonce: u64::MAX,
            held: true,
            contested: false,
            past: HistoryLink {
                count: 6,
                end: 1,
                hash: u128::MAX,
            },
            holder: "host:é/1/2".to_owned(),
            capabilities: VERSION,
            form: Form::default(),
        }
    }

    #[test]
    fn it_is_read_as_it_was_written_and_no_part_of_it_is() {
        let text = node().to_text();
        assert_eq!(NodeRecord::from_text(7, &text, VERSION), Ok(node()));
        assert_eq!(NodeRecord::end_of(&text), Some(node().end));
        for (at, _) in text.char_indices() {
            assert!(
                NodeRecord::from_text(7, &text[..at], VERSION).is_err(),
                "{at}"
            );
        }
    }

    /// Of a version that asks no more of readers.
    #[test]
    fn what_follows_is_kept() {
        let text = format!("21{}:more:5:a:b:c", &node().to_text()[2..]);
        let record = NodeRecord::from_text(7, &text, VERSION).unwrap();
        assert_eq!(
            (record.form.version, &*record.form.tail),
            (2, ":more:5:a:b:c")
        );
        assert_eq!(record.to_text(), text);
        assert!(NodeRecord::from_text(7, &format!("{}x", node().to_text()), VERSION).is_err());
    }

    /// Planted: no record is written that often, and nothing could follow on it.
    #[test]
    fn a_number_that_cannot_be_raised_is_refused() {
        let last = u64::MAX;
        for planted in [
            NodeRecord {
                serial: last,
                ..node()
            },
            NodeRecord {
                fencing_token: last,
                ..node()
            },
        ] {
            let refused = NodeRecord::from_text(7, &planted.to_text(), VERSION);
            assert_eq!(refused.unwrap_err(), "it is damaged");
        }
        let highest = NodeRecord {
            serial: last - 1,
            fencing_token: last - 1,
            ..node()
        };
        assert!(NodeRecord::from_text(7, &highest.to_text(), VERSION).is_ok());
    }

    #[test]
    fn what_asks_for_a_later_reader_is_not_read() {
        let text = format!("32{}", &node().to_text()[2..]);
        let refused = NodeRecord::from_text(7, &text, 1).unwrap_err();
        assert!(
            refused.contains("(version 2; this one knows 1)"),
            "{refused}"
        );
        assert!(NodeRecord::from_text(7, &text, 2).is_ok());
    }
}
