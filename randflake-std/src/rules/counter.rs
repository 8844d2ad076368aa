//! Counters: numbers that are handed out in segments, each once. They need no layout and no clock.

use randflake_core::segment::Segment;

use super::text::{self, Fields, Line};
use super::{Continuity, Form};
use crate::vocabulary::{CounterError, CounterStatus};

/// Stored record of a counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterRecord {
    /// First number that is not reserved.
    pub next: u64,
    /// Fingerprint of the engine under which no reservation was lost, as an operator or the store vouches.
    pub vouched: String,
    /// Nonce of the write: two clients that reserve the same count would otherwise write the same text and could
    /// not tell whose it was.
    pub nonce: u64,
    /// Versions and tail of this record.
    pub form: Form,
}

impl CounterRecord {
    /// Encodes the record as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let line = Line::of(&self.form).number(self.next).number(self.nonce);
        line.text(&self.vouched).end()
    }

    /// The record of a text, for a program that knows a version.
    ///
    /// # Errors
    ///
    /// A sentence says what it is instead.
    pub fn from_text(text: &str, known: u8) -> Result<Self, String> {
        let record = |fields: &mut Fields<'_>| {
            Some(Self {
                next: fields.number()?,
                nonce: fields.number()?,
                vouched: fields.text()?,
                form: fields.form(),
            })
        };
        text::read(text, known, record, Self::to_text)
    }
}

/// State of a counter as an engine has read it.
#[derive(Clone, Debug)]
pub struct CounterView {
    /// `None` if there is no counter.
    pub record: Option<CounterRecord>,
    /// What the engine says of itself. The absence that may be certain is that of the counter.
    pub continuity: Continuity,
}

/// A counter that may have gone back never recovers by itself: an operator says where it goes on.
pub(crate) fn status(view: &CounterView) -> CounterStatus {
    match &view.record {
        Some(record) => CounterStatus {
            next: record.next,
            lost: record.vouched != view.continuity.fingerprint,
        },
        None => CounterStatus {
            next: 1,
            lost: !view.continuity.is_absence_certain,
        },
    }
}

pub(crate) fn reserve(status: CounterStatus, count: u64) -> Result<Segment, CounterError> {
    let segment = CounterError::segment(status.next, count)?;
    if status.lost {
        return Err(CounterError::Lost {
            reached: status.next,
        });
    }
    Ok(segment)
}

/// Where a counter begins that somebody says is new.
pub(crate) fn create(view: &CounterView) -> Result<u64, CounterError> {
    let status = status(view);
    match &view.record {
        Some(record) if record.next > 1 || status.lost => {
            let next = record.next;
            Err(CounterError::Invalid(format!(
                "the counter is not new: as far as the store knows, {next} is its next number; if the store may have lost \
                 numbers, resume it above every number ever reserved"
            )))
        }
        _ => Ok(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::VERSION;

    #[test]
    fn a_counter_is_read_as_it_was_written() {
        let record = CounterRecord {
            next: u64::MAX,
            vouched: "run:42".to_owned(),
            nonce: 7,
            form: Form {
                tail: ":later".to_owned(),
                ..Form::default()
            },
        };
        let text = record.to_text();
        assert_eq!(CounterRecord::from_text(&text, VERSION), Ok(record));
        let refused = |text| CounterRecord::from_text(text, VERSION).unwrap_err();
        assert_eq!(refused("11:1:7:run"), "it is damaged");
    }
}
