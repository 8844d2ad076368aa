//! The operations on a counter.

use randflake_core::segment::Segment;

use super::fresh::fresh;
use super::{Engine, Ledger, SegmentStore};
use crate::rules::counter::{create, reserve, status};
use crate::rules::{Committed, CounterRecord, CounterView, Form};
use crate::vocabulary::{CounterError, CounterStatus, EngineError};

/// How often an operation begins anew because others were faster.
const TRIES: usize = 1_000;

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
