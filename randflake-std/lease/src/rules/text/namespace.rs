//! The record of a namespace.

use core::str::FromStr;

use randflake_core::{Field, LayoutFields, LayoutSpec};

use super::super::base36::{self, Base36};
use super::super::{NamespaceRecord, QuarantineReason, Versions};
use super::fields::digits;
use super::{Fields, Line, read};
use crate::types::{KeyCheck, QuarantineCause, Terms};

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
        let quarantine = base36::number(parts.next()?)?;
        let since = base36::number(parts.next()?)?;
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

#[cfg(test)]
mod tests {
    use super::super::{Form, VERSION};
    use super::*;
    use randflake_core::{KeyNumber, Layout, Randflake, Randflake53, Sonyflake};

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
}
