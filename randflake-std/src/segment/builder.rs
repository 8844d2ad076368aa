//! How a handle of segments is made.

use core::error::Error;
use core::fmt::{self, Debug, Display, Formatter};
use core::ops::RangeInclusive;
use core::time::Duration;
use std::sync::Arc;
use std::{io, thread};

use randflake_core::internal::SegmentLength;
use randflake_core::{Permutation, Plain, Sparx64};

use super::keeper::Keeper;
use super::shared::Shared;
use super::{CounterError, Owner, SegmentStore, Segments};
use crate::Secret;

/// How long numbers last without the store unless it is set: 60 s.
pub const DEFAULT_SURVIVE: Duration = Duration::from_secs(60);
/// The lengths of a segment unless they are set. The longest is that of Leaf's segment mode
/// (Meituan-Dianping/Leaf, `SegmentIDGenImpl.java`, `MAX_STEP`).
pub const DEFAULT_LENGTHS: RangeInclusive<u32> = 1_000..=1_000_000;

/// How often the first reservation is tried when the store does not answer.
const TRIES: u32 = 3;
const PAUSE: Duration = Duration::from_millis(100);

/// Makes [`Segments`]: see [`Segments::builder`].
#[must_use = "a builder does nothing until `build`"]
pub struct Builder<P = Plain> {
    store: Box<dyn SegmentStore>,
    permutation: P,
    survive: Duration,
    lengths: RangeInclusive<u32>,
    refill_at_percent: u32,
}

impl Segments {
    /// A builder of a handle for the counter of a store.
    pub fn builder(store: impl SegmentStore + 'static) -> Builder {
        Builder {
            store: Box::new(store),
            permutation: Plain,
            survive: DEFAULT_SURVIVE,
            lengths: DEFAULT_LENGTHS,
            refill_at_percent: 100,
        }
    }
}

impl<P: Permutation + Send + Sync + 'static> Builder<P> {
    /// Issues the numbers encrypted under a secret: unpredictable, spread over all 64 bits, and as
    /// unique as they are.
    ///
    /// Take another secret than that of a [`Handle`](crate::Handle), or another column: under one
    /// secret a number may become an id that a layout has.
    pub fn encrypted(self, secret: &Secret) -> Builder<Sparx64> {
        Builder {
            store: self.store,
            permutation: secret.cipher(),
            survive: self.survive,
            lengths: self.lengths,
            refill_at_percent: self.refill_at_percent,
        }
    }

    /// For how long numbers shall last when the store is away, 60 s unless set.
    ///
    /// Segments grow and shrink by halves for it: at a steady rate they settle so that what is left
    /// when another one is asked for lasts this long, and at most twice as long. A rate that has
    /// just risen, and the longest length allowed, make it shorter.
    pub fn survive(mut self, outage: Duration) -> Self {
        self.survive = outage;
        self
    }

    /// How many numbers a segment has, at least and at most: 1,000 to 1,000,000 unless set. A process
    /// that ends loses up to two of them. Its first has the least.
    pub fn lengths(mut self, lengths: RangeInclusive<u32>) -> Self {
        self.lengths = lengths;
        self
    }

    /// At which remainder to reserve another segment, in per cent of the last one: 100 unless set, as
    /// soon as the one before is used up. Less makes segments longer for the same time without the
    /// store, and the store is asked less often.
    pub fn refill_at_percent(mut self, percent: u32) -> Self {
        self.refill_at_percent = percent;
        self
    }

    /// Reserves the first segment, and starts the thread that reserves the others.
    ///
    /// # Errors
    ///
    /// [`BuildError`].
    pub fn build(mut self) -> Result<Segments<P>, BuildError> {
        self.check()?;
        let target = self.survive.saturating_mul(100) / self.refill_at_percent;
        let length = SegmentLength::new(*self.lengths.start(), *self.lengths.end(), target);
        let first = reserve_first(&mut *self.store, length.get().into())?;
        let shared = Shared::new(
            first,
            self.permutation,
            self.refill_at_percent,
            length.get(),
        );
        let shared = Arc::new(shared);
        let keeper = Keeper::new(Arc::clone(&shared), self.store, length);
        let thread = thread::Builder::new()
            .name("randflake-segments".to_owned())
            .spawn(move || keeper.run())
            .map_err(BuildError::Thread)?;
        shared.is_kept_by(thread.thread());
        Ok(Segments(Arc::new(Owner(shared))))
    }

    fn check(&self) -> Result<(), BuildError> {
        let (min, max) = (*self.lengths.start(), *self.lengths.end());
        if min == 0 || min > max {
            return Err(BuildError::Lengths { min, max });
        }
        if !(1..=100).contains(&self.refill_at_percent) {
            return Err(BuildError::RefillAt {
                percent: self.refill_at_percent,
            });
        }
        Ok(())
    }
}

fn reserve_first(
    store: &mut dyn SegmentStore,
    length: u64,
) -> Result<super::Segment, CounterError> {
    let mut tries = 1;
    loop {
        match store.reserve(length) {
            Err(CounterError::Unavailable(_)) if tries < TRIES => {
                thread::sleep(PAUSE * tries);
                tries += 1;
            }
            outcome => return outcome,
        }
    }
}

/// Shows no secret.
impl<P> Debug for Builder<P> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("store", &self.store)
            .field("survive", &self.survive)
            .field("lengths", &self.lengths)
            .field("refill_at_percent", &self.refill_at_percent)
            .finish_non_exhaustive()
    }
}

/// Why no handle was made.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// The lengths of a segment are none.
    Lengths {
        /// The least given.
        min: u32,
        /// The most given.
        max: u32,
    },
    /// The remainder to refill at is no part of a segment.
    RefillAt {
        /// The part given, in per cent.
        percent: u32,
    },
    /// The counter was not moved.
    Counter(CounterError),
    /// The thread that reserves segments could not be started.
    Thread(io::Error),
}

impl From<CounterError> for BuildError {
    fn from(error: CounterError) -> Self {
        Self::Counter(error)
    }
}

impl Display for BuildError {
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

impl Error for BuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Counter(source) => Some(source),
            Self::Thread(source) => Some(source),
            Self::Lengths { .. } | Self::RefillAt { .. } => None,
        }
    }
}
