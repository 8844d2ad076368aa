//! Counters: numbers that are handed out in segments, each once. They need no layout and no clock.

use super::fresh::fresh;
use super::text::{self, Fields, Line};
use super::{Committed, Continuity, Engine, Form, Ledger};
use crate::lease::EngineError;
use crate::segment::{CounterError, CounterStatus, Segment, SegmentStore};

/// How often an operation begins anew because others were faster.
const TRIES: usize = 1_000;

/// A counter as a store keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterRecord {
    /// The first number that was not reserved.
    pub next: u64,
    /// The fingerprint of the engine for which somebody vouches that no reservation was lost.
    pub vouched: String,
    /// Of the write, which no other shares: two that reserve as many numbers would write the same, and could not
    /// tell whose it was.
    pub nonce: u64,
    /// Versions and tail of this record.
    pub form: Form,
}

impl CounterRecord {
    /// The record.
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

/// What an engine has read of a counter.
#[derive(Clone, Debug)]
pub struct CounterView {
    /// None if there is no counter.
    pub record: Option<CounterRecord>,
    /// What the engine says of itself. The absence that may be certain is that of the counter.
    pub continuity: Continuity,
}

/// No time heals a counter that may have gone back: it waits until somebody says where it goes on.
fn status(view: &CounterView) -> CounterStatus {
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

fn reserve(status: CounterStatus, count: u64) -> Result<Segment, CounterError> {
    let segment = CounterError::segment(status.next, count)?;
    if status.lost {
        return Err(CounterError::Lost {
            reached: status.next,
        });
    }
    Ok(segment)
}

/// Where a counter begins that somebody says is new.
fn create(view: &CounterView) -> Result<u64, CounterError> {
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

impl<E: Engine> Ledger<E> {
    /// Moves the counter to where a rule says, which also gives the answer.
    fn count<T>(
        &mut self,
        rule: impl Fn(&CounterView) -> Result<(u64, T), CounterError>,
    ) -> Result<T, CounterError> {
        for _ in 0..TRIES {
            let view = self.records.read_counter()?;
            let checked = match &view.continuity.fault {
                Some(fault) => Err(EngineError::unusable(fault.clone()).into()),
                None => rule(&view),
            };
            let (next, answer) = checked.inspect_err(|_| self.records.engine.abandon())?;
            let vouched = view.continuity.fingerprint;
            let (_, nonce) = fresh().map_err(EngineError::unavailable)?;
            let before = view.record.as_ref();
            let after = CounterRecord {
                next,
                vouched,
                nonce,
                form: before.map_or_else(Form::default, |before| before.form.clone()),
            };
            let committed = self.records.commit_counter(view.record.as_ref(), &after)?;
            if committed != Committed::Stale {
                return Ok(answer);
            }
        }
        Err(EngineError::unavailable("other clients of the counter were faster each time").into())
    }
}

impl<E: Engine> SegmentStore for Ledger<E> {
    fn reserve(&mut self, count: u64) -> Result<Segment, CounterError> {
        self.count(|view| {
            let segment = reserve(status(view), count)?;
            Ok((segment.end(), segment))
        })
    }

    fn counter(&mut self) -> Result<CounterStatus, CounterError> {
        let view = self.records.read_counter()?;
        self.records.engine.abandon();
        Ok(status(&view))
    }

    fn create(&mut self) -> Result<(), CounterError> {
        self.count(|view| Ok((create(view)?, ())))
    }

    fn resume(&mut self, number: u64) -> Result<u64, CounterError> {
        self.count(|view| {
            CounterError::segment(number, 1)?;
            let next = status(view).next.max(number);
            Ok((next, next))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::VERSION;

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
