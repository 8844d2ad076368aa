//! The record of a node id, and of an earlier lease in its history.

use super::super::base36::{self, Base36};
use super::super::{HistoryLink, NodeRecord};
use super::{Fields, Line, read};
use crate::types::Token;

/// States of a lease: held; held, and a copy of the holder has tried to renew; released; and both.
const HELD: char = 'h';
const CONTESTED: char = 'c';
const RELEASED: char = 'r';
const BOTH: char = 'b';

impl NodeRecord {
    /// The record without its node id. Its first field is the end, which is all that a search looks at.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Self {
            start,
            end,
            past,
            knows,
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
            .word(format_args!("{state}{}", Base36((*knows).into())))
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
    pub(in super::super) fn end_of(text: &str) -> Option<u64> {
        let mut parts = text.split(':');
        // Behind the versions. A search looks at thousands of texts, and needs no more of them.
        base36::number(parts.nth(1)?)
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
        let knows = base36::number(state.as_str())?;
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
            knows: u8::try_from(knows).ok()?,
            form: fields.form(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Form, VERSION};
    use super::*;

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
            knows: VERSION,
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
