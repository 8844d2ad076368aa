//! The operations on a counter.

use randflake_core::segment::Segment;

use super::fresh::fresh;
use super::records::Records;
use super::{Ask, LeaseStore, Reading};
use crate::rules::counter::{
    CounterCaller, CounterDecision, check, create, reserve, resume, status,
};
use crate::rules::{Before, CounterRecord, CounterView, Entry, Key, Keys};
use crate::vocabulary::{CounterError, CounterStatus, EngineError};

const KEYS: [Keys; 1] = [Keys::One(Key::Counter)];

/// The namespace's counter: see [`segment`](crate::segment).
impl LeaseStore {
    /// Reserves the next `count` numbers. Not idempotent: after an unknown outcome, reserve again, which may leave a
    /// gap.
    ///
    /// # Errors
    ///
    /// [`CounterError::Invalid`] when `count` is 0 or the counter has fewer left, [`CounterError::Lost`],
    /// [`CounterError::Rewound`], and the engine's errors.
    pub fn reserve(&mut self, count: u64) -> Result<Segment, CounterError> {
        self.count(|view, caller| reserve(view, caller, count))
    }

    /// Compares the counter with what this store has seen of it. If it is behind that, marks it as lost, for all clients.
    ///
    /// # Errors
    ///
    /// [`CounterError::Lost`], [`CounterError::Rewound`], and the engine's errors.
    pub(crate) fn check_counter(&mut self) -> Result<(), CounterError> {
        self.count(check)
    }

    /// Returns the counter's position.
    ///
    /// # Errors
    ///
    /// What any operation meets.
    pub fn counter(&mut self) -> Result<CounterStatus, CounterError> {
        let records = self.ready()?;
        let reading = records.engine().read(&Ask::with_state(&KEYS));
        // Before `?`: an engine may hold a lock since the read, also after an error.
        records.engine().abandon();
        Ok(status(&records.counter_of(reading?)?))
    }

    /// Declares that the counter is new, so that it begins at 1. For an operator who knows that no number of it was ever
    /// reserved. Does nothing if it was declared so and nothing was reserved since.
    ///
    /// A [`Segments`](crate::segment::Segments) that runs compares the counter with what it has seen, and marks it as
    /// lost if it is gone, so that this is refused. So who is not sure waits for
    /// [`COMPARED_WITHIN`](crate::segment::COMPARED_WITHIN) first, as `randflake segment init` does.
    ///
    /// # Errors
    ///
    /// [`CounterError::Invalid`] when the counter has reserved numbers, was resumed or may have gone back;
    /// [`CounterError::Lost`] and [`CounterError::Rewound`] when this store has seen numbers of it; and the engine's errors.
    pub fn create_counter(&mut self) -> Result<(), CounterError> {
        self.count(create)
    }

    /// Continues at `number`, or at the counter's position if that is higher; returns which. For an operator: to begin
    /// at a number other than 1, and after a data loss, when `number` must be higher than every number ever reserved.
    ///
    /// # Errors
    ///
    /// [`CounterError::Invalid`] when `number` is not from 1 to [`MAX_NUMBER`](crate::segment::MAX_NUMBER), and the engine's
    /// errors.
    pub fn resume_counter(&mut self, number: u64) -> Result<u64, CounterError> {
        self.count(|view, caller| resume(view, caller, number))
    }

    /// Moves the counter as a rule says, and returns its answer.
    fn count<T>(
        &mut self,
        rule: impl Fn(&CounterView, &CounterCaller) -> CounterDecision<T>,
    ) -> Result<T, CounterError> {
        // Once for all tries: a stale one wrote nothing, so its numbers are still fresh.
        let caller = CounterCaller {
            seen: self.counter,
            fresh: fresh().map_err(EngineError::unavailable)?,
        };
        let decided = self.ready()?.update(&KEYS, |records, reading| {
            let view = records.counter_of(reading)?;
            let CounterDecision { after, answer } = rule(&view, &caller);
            // The key of the counter alone: it outlives a drop, so no namespace guards it.
            let entry = after.as_ref().map(|after| Entry {
                key: Key::Counter,
                before: Before::read(view.record.as_ref().map(CounterRecord::to_text)),
                after: Some(after.to_text()),
            });
            // A refusal may come with a record to write, so it is an answer here, not an error.
            let decided = (answer, after.or(view.record));
            Ok::<_, CounterError>((Vec::from_iter(entry), decided))
        });
        let (answer, record) = decided?;
        // Only what was answered with success: a mark of a loss must not hide what was seen before.
        if let (Ok(_), Some(record)) = (&answer, record) {
            self.counter.note(&record);
        }
        answer
    }
}

impl Records {
    fn counter_of(&self, reading: Reading) -> Result<CounterView, EngineError> {
        let record = reading.texts.get(&Key::Counter).map(|text| {
            CounterRecord::from_text(text, self.knows).map_err(|why| {
                self.refused(&format!("the counter {:?}", self.namespace.name()), &why)
            })
        });
        Ok(CounterView {
            record: record.transpose()?,
            continuity: reading.continuity,
        })
    }
}
