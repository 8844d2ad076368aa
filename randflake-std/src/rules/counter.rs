//! Counters: numbers that are handed out in segments, each once. They need no layout and no clock.

use randflake_core::segment::Segment;

use super::Continuity;
use crate::vocabulary::{CounterError, CounterStatus};

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
