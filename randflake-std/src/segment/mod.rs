//! Dense numbers: for those who want 1, 2, 3 and so on, or have no usable clock.
//!
//! A store keeps a counter for each namespace. [`Segments`] reserves a range of it at once, a segment,
//! and issues its numbers without asking again; a second segment is kept in reserve, so that the store
//! may be away for a while. Uniqueness rests on one promise of the store: **the counter never goes
//! back**, so all segments ever reserved are disjoint.
//!
//! Numbers of one handle ascend; over handles they do not. What a handle has not issued when it ends is
//! lost: gaps are allowed, repetitions are not.

mod builder;
mod error;
mod keeper;
mod shared;
mod store;

use core::error::Error;
use core::fmt::{self, Debug, Display, Formatter};
use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use randflake_core::{Id, Permutation, Plain};

pub use crate::lease::url::open_counter as open;
pub use builder::{BuildError, Builder, DEFAULT_LENGTHS, DEFAULT_SURVIVE};
pub use error::{CounterError, CounterErrorKind};
pub use randflake_core::segment::{MAX_NUMBER, Segment};
use shared::Shared;
pub use store::{CounterStatus, SegmentStore};

/// Issues dense numbers, from any thread. Clones are cheap and issue from the same segments.
///
/// [`next`](Segments::next) takes a number of the segments that were reserved before; a thread of its
/// own reserves another when those run low. So if the store is away, numbers last for at least the
/// time that the [builder](Builder::survive) was given, at the rate seen before and as far as the
/// longest length that is allowed goes.
///
/// Numbers are from 1 to 2^63 - 2. They tell how many there are and in which order they were made;
/// under a [secret](Builder::encrypted) they tell nothing, and are spread over all 64 bits.
///
/// A copy of the whole machine that runs beside it, such as a snapshot resumed twice, would issue the
/// rest of its segments again: nothing here can notice that.
///
/// ```
/// # #[cfg(feature = "sqlite")]
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use randflake_std::Randflake;
/// use randflake_std::lease::{Namespace, SqliteStore};
/// use randflake_std::segment::Segments;
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("counters.db");
/// let store = SqliteStore::open(path, &Namespace::new("invoices", Randflake)?)?;
/// let numbers = Segments::builder(store).build()?;
/// assert_eq!(numbers.next()?.to_u64(), 1);
/// assert_eq!(numbers.next()?.to_u64(), 2);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "sqlite"))]
/// # fn main() {}
/// ```
pub struct Segments<P = Plain>(Arc<Owner<P>>);

/// Ends the keeper when the last handle goes; the keeper itself holds only what is shared.
struct Owner<P>(Arc<Shared<P>>);

impl<P: Permutation> Segments<P> {
    /// The next number. It never waits for the store.
    ///
    /// # Errors
    ///
    /// Nothing is consumed by an error.
    ///
    /// - [`SegmentError::Refilling`], [`SegmentError::StoreAway`] and [`SegmentError::StoreRefuses`]
    ///   when every number that was reserved is issued;
    /// - [`SegmentError::InForkedChild`] in a forked child of the process that built the handle, which
    ///   must build its own.
    #[inline]
    pub fn next(&self) -> Result<Id, SegmentError> {
        self.0.0.next()
    }

    /// Fills a buffer with numbers from the front, and says how many. Many at once cost a fraction of
    /// what they cost one by one.
    ///
    /// They are fewer than the buffer holds when there were no more to be had; the next call says why.
    ///
    /// # Errors
    ///
    /// As for [`next`](Segments::next), when there was not a single number.
    pub fn fill(&self, ids: &mut [Id]) -> Result<usize, SegmentError> {
        self.0.0.fill(ids)
    }

    /// The next number, waiting for at most `limit` for the store when there is none at once.
    ///
    /// # Errors
    ///
    /// As for [`next`](Segments::next): at once when waiting alone does not help, else when the limit
    /// is reached.
    pub fn next_wait(&self, limit: Duration) -> Result<Id, SegmentError> {
        match self.next() {
            Err(error) if error.can_pass() => self.retry(limit),
            outcome => outcome,
        }
    }

    #[cold]
    fn retry(&self, limit: Duration) -> Result<Id, SegmentError> {
        let started = Instant::now();
        let shared = &*self.0.0;
        loop {
            // Read before the attempt, so that a segment put during it is not missed.
            let puts = shared.phase().puts;
            let left = limit.saturating_sub(started.elapsed());
            match self.next() {
                Err(error) if error.can_pass() && !left.is_zero() => {
                    shared.wait_for_put(puts, left);
                }
                outcome => return outcome,
            }
        }
    }

    /// How many numbers are left, and how the store does.
    #[must_use]
    pub fn status(&self) -> SegmentsStatus {
        self.0.0.status()
    }

    /// The number that was issued as this id: itself, or what is behind it under the secret.
    #[must_use]
    pub fn number(&self, id: Id) -> u64 {
        self.0.0.permutation.invert(id.to_u64())
    }
}

impl<P> Drop for Owner<P> {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl<P> Clone for Segments<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// Shows how much is left, never the secret.
impl<P: Permutation> Debug for Segments<P> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Segments").field(&self.status()).finish()
    }
}

/// The state of a handle's segments.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SegmentsStatus {
    /// How many numbers can be issued without the store.
    pub remaining: u64,
    /// How many numbers the next segment will have.
    pub length: u32,
    /// How long the store has failed, refused, or not answered for a second; `None` when it answers.
    pub away_for: Option<Duration>,
    /// Why the last call of the store failed; `None` when it succeeded or is still to be answered.
    pub last_error: Option<Arc<CounterError>>,
}

/// Why a handle issued no number. Nothing was consumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SegmentError {
    /// Every number reserved is issued, and the next segment is on its way.
    Refilling,
    /// Every number reserved is issued, and the store fails, or has not answered for a second.
    StoreAway {
        /// For how long, in milliseconds.
        since_ms: u64,
    },
    /// Every number reserved is issued, and the store refuses more until somebody sees to it:
    /// [`Segments::status`] has its sentence.
    StoreRefuses {
        /// For how long, in milliseconds.
        since_ms: u64,
    },
    /// This process is a forked child of the one that built the handle: it must build its own.
    InForkedChild,
}

impl SegmentError {
    /// Whether another try may succeed without anybody's help.
    const fn can_pass(self) -> bool {
        matches!(self, Self::Refilling | Self::StoreAway { .. })
    }
}

impl Display for SegmentError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        const USED_UP: &str = "every number reserved is issued";
        match self {
            Self::Refilling => write!(f, "{USED_UP}, and the next segment is on its way"),
            Self::StoreAway { since_ms } => {
                write!(
                    f,
                    "{USED_UP}, and the store has been away for {since_ms} ms"
                )
            }
            Self::StoreRefuses { since_ms } => {
                write!(
                    f,
                    "{USED_UP}, and the store has refused more for {since_ms} ms"
                )
            }
            Self::InForkedChild => f.write_str(
                "a forked child must not use its parent's segments: build a handle of its own",
            ),
        }
    }
}

impl Error for SegmentError {}
