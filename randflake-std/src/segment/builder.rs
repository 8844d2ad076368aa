//! Configuration and construction of handles of segments.

use core::error::Error;
use core::fmt::{self, Debug, Display, Formatter};
use core::ops::RangeInclusive;
use core::time::Duration;
use std::sync::Arc;
use std::{io, thread};

use randflake_core::internal::SegmentLength;
use randflake_core::{Permutation, Plain, Sparx64};
use randflake_lease::LeaseStore;
use randflake_lease::Secret;
use randflake_lease::backoff::{Backoff, Retry};
use randflake_lease::unstable::rules::counter::Reservation;
use randflake_lease::{CounterError, CounterTerms};

use super::keeper::SegmentKeeper;
use super::period_end::Sent;
use super::shared::SharedSegments;
use super::{Segments, SegmentsOwner};

/// How long numbers last without the store by default: 60 s.
pub const DEFAULT_SURVIVE: Duration = Duration::from_secs(60);
/// The default range of segment lengths. The maximum is that of Leaf's segment mode
/// (Meituan-Dianping/Leaf, `SegmentIDGenImpl.java`, `MAX_STEP`).
pub const DEFAULT_LENGTHS: RangeInclusive<u32> = 1_000..=1_000_000;

/// Configures and builds [`Segments`]: see [`Segments::builder`].
#[must_use = "a builder does nothing until `build`"]
pub struct SegmentsBuilder<P = Plain> {
    store: LeaseStore,
    permutation: Box<P>,
    survive: Duration,
    lengths: RangeInclusive<u32>,
    refill_at_percent: u32,
}

impl Segments {
    /// A builder of a handle for the counter of a store.
    pub fn builder(store: impl Into<LeaseStore>) -> SegmentsBuilder {
        SegmentsBuilder {
            store: store.into(),
            permutation: Box::new(Plain),
            survive: DEFAULT_SURVIVE,
            lengths: DEFAULT_LENGTHS,
            refill_at_percent: 100,
        }
    }
}

impl<P: Permutation + Send + Sync + 'static> SegmentsBuilder<P> {
    /// Encrypts the numbers under a secret: unpredictable, spread over all 64 bits, and as unique
    /// as before.
    ///
    /// Use a different secret than for a [`Handle`](crate::Handle), or a different column: under
    /// the same secret a number may encrypt to an id of a layout.
    pub fn encrypted(self, secret: &Secret) -> SegmentsBuilder<Sparx64> {
        SegmentsBuilder {
            store: self.store,
            permutation: secret.boxed(|cipher| cipher),
            survive: self.survive,
            lengths: self.lengths,
            refill_at_percent: self.refill_at_percent,
        }
    }

    /// How the counter has to count: another one is refused by name. Default: as it does.
    pub fn terms(mut self, terms: CounterTerms) -> Self {
        self.store.counter().set_terms(terms);
        self
    }

    /// How long numbers last when the store is down. Default: 60 s.
    ///
    /// Numbers with dates last no longer than their period.
    ///
    /// Segment lengths double and halve to achieve it: at a steady rate, the numbers left when the
    /// next segment is requested last this long, and at most twice as long. They last less after
    /// the rate has just risen, or at the maximum length.
    pub fn survive(mut self, outage: Duration) -> Self {
        self.survive = outage;
        self
    }

    /// The range of segment lengths. Default: 1,000 to 1,000,000. A process that ends loses up to
    /// two segments. Its first one has the minimum length.
    pub fn lengths(mut self, lengths: RangeInclusive<u32>) -> Self {
        self.lengths = lengths;
        self
    }

    /// The remainder at which to reserve the next segment, in percent of the last one. Default:
    /// 100, as soon as the previous one is used up. A lower value makes segments longer for the
    /// same outage, and calls the store less often.
    pub fn refill_at_percent(mut self, percent: u32) -> Self {
        self.refill_at_percent = percent;
        self
    }

    /// Reserves the first segment, and starts the thread that reserves the others.
    ///
    /// # Blocking
    ///
    /// It waits for the store: for one [request](randflake_lease#how-long-calls-block) or two,
    /// three times and 0.3 s if the store does not answer.
    ///
    /// # Errors
    ///
    /// [`SegmentsBuildError`].
    pub fn build(mut self) -> Result<Segments<P>, SegmentsBuildError> {
        self.check()?;
        let length = SegmentLength::new(*self.lengths.start(), *self.lengths.end(), self.target());
        // The shortest length: how fast numbers will go is not known yet.
        let (first, sent) = reserve_first(&mut self.store, length.get().into())?;
        let shared = SharedSegments::new(
            first,
            &sent,
            self.permutation,
            self.refill_at_percent,
            length.get(),
        );
        let shared = Arc::new(shared);
        let keeper = SegmentKeeper::new(Arc::clone(&shared), self.store, length);
        let thread = thread::Builder::new()
            .name("randflake-segments".to_owned())
            .spawn(move || keeper.run())
            .map_err(SegmentsBuildError::Thread)?;
        // Nobody has the handle yet, so nobody wakes the thread before this.
        shared.set_keeper(thread.thread());
        Ok(Segments(Arc::new(SegmentsOwner(shared))))
    }

    /// How long a segment has to last: when a refill begins, only this part of it may be left.
    fn target(&self) -> Duration {
        self.survive.saturating_mul(100) / self.refill_at_percent
    }

    fn check(&self) -> Result<(), SegmentsBuildError> {
        let (min, max) = (*self.lengths.start(), *self.lengths.end());
        if min == 0 || min > max {
            return Err(SegmentsBuildError::Lengths { min, max });
        }
        if !(1..=100).contains(&self.refill_at_percent) {
            return Err(SegmentsBuildError::RefillAt {
                percent: self.refill_at_percent,
            });
        }
        Ok(())
    }
}

/// Reserves the first segment, and returns it with when it was asked for.
fn reserve_first(store: &mut LeaseStore, length: u64) -> Result<(Reservation, Sent), CounterError> {
    // Only an unknown outcome is tried again. If the first try did reserve, its numbers are a gap.
    let mut backoff = Backoff::new(Duration::ZERO);
    loop {
        let sent = Sent::now();
        let error = match store.counter().reserve_up_to(length) {
            Ok(reserved) => return Ok((reserved, sent)),
            Err(error) => error,
        };
        let Some(pause) = backoff.pause(Retry::from(&error)) else {
            return Err(error);
        };
        thread::sleep(pause);
    }
}

/// Shows the settings, never the secret.
impl<P> Debug for SegmentsBuilder<P> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("SegmentsBuilder")
            .field("store", &self.store)
            .field("survive", &self.survive)
            .field("lengths", &self.lengths)
            .field("refill_at_percent", &self.refill_at_percent)
            .finish_non_exhaustive()
    }
}

/// Error of [`SegmentsBuilder::build`]. No handle was made.
#[derive(Debug)]
#[non_exhaustive]
pub enum SegmentsBuildError {
    /// The range of segment lengths is not allowed.
    Lengths {
        /// Shortest length that was given.
        min: u32,
        /// Longest length that was given.
        max: u32,
    },
    /// The remainder to refill at is not within 1 to 100 %.
    RefillAt {
        /// Remainder that was given, in percent.
        percent: u32,
    },
    /// The store refused the first segment, or failed.
    Counter(CounterError),
    /// The thread that reserves segments could not be started.
    Thread(io::Error),
}

impl From<CounterError> for SegmentsBuildError {
    fn from(error: CounterError) -> Self {
        Self::Counter(error)
    }
}

impl Display for SegmentsBuildError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lengths { min, max } => write!(
                f,
                "a segment of {min} to {max} numbers is none: at least 1, and not more than the \
                 most, is allowed"
            ),
            Self::RefillAt { percent } => write!(
                f,
                "a refill at {percent} per cent of a segment is out of range: 1 to 100 are allowed"
            ),
            Self::Counter(source) => Display::fmt(source, f),
            Self::Thread(source) => {
                write!(
                    f,
                    "the thread that reserves segments cannot be started: {source}"
                )
            }
        }
    }
}

impl Error for SegmentsBuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Counter(source) => Some(source),
            Self::Thread(source) => Some(source),
            Self::Lengths { .. } | Self::RefillAt { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use randflake_core::Randflake;
    use randflake_lease::MemoryStore;
    use randflake_lease::Namespace;

    use super::*;
    use crate::segment::Segments;

    #[test]
    fn what_is_left_at_a_refill_lasts_for_the_outage() {
        let namespace = Namespace::new("orders", Randflake).unwrap();
        let outage = DEFAULT_SURVIVE * 3;
        let builder = Segments::builder(MemoryStore::with_system_clock(namespace))
            .survive(outage)
            .refill_at_percent(25);
        assert_eq!(builder.target(), outage * 4);
    }
}
