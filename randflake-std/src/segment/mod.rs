//! Sequential numbers (1, 2, 3, ...), without a clock.
//!
//! **Start here:** [`Segments::builder`] takes a store, from [`open`] or any of
//! [`lease`](crate::lease).
//!
//! A store keeps a counter for each namespace. [`Segments`] reserves a range of it, a segment, and
//! issues its numbers without asking again. It keeps a second segment in reserve, so that it
//! outlives an outage of the store. Uniqueness rests on one promise of the store: **the counter
//! never goes back**, so all segments ever reserved are disjoint.
//!
//! Numbers of one handle ascend; across handles they do not. Numbers that a handle has not issued
//! when it ends are lost: there may be gaps, never duplicates.
//!
//! # What a store promises
//!
//! 1. **Disjoint.** All segments ever reserved of a counter are pairwise disjoint, over all clients
//!    and all restarts: the counter never goes back. Gaps are allowed.
//! 2. **Sequential.** A reservation begins where the previous one ended, unless a reply was lost or
//!    the counter was [resumed](crate::lease::Counter::resume) further on.
//! 3. **Durable.** An acknowledged reservation survives a crash of the store.
//! 4. **Amnesia.** The store keeps a fingerprint of its continuity. If that changed or is
//!    unexpectedly missing, the counter may have gone back. Leases are safe again once they have
//!    expired; a counter never is. So reservations are refused as [`CounterError::Lost`] until an
//!    operator says, with `Counter::resume`, where to continue. Each store's documentation lists
//!    what it detects.
//! 5. **Begun by a person.** A counter that is not there is [`CounterError::Lost`], in every store
//!    but [`MemoryStore`](crate::lease::MemoryStore): a store at another path, on a volume that is
//!    not mounted, or without its data looks like a new one. An operator begins it at 1
//!    ([`Counter::create`](crate::lease::Counter::create), `randflake segment init`) or elsewhere
//!    ([`Counter::resume`](crate::lease::Counter::resume), `randflake segment resume`), once. The
//!    error has both commands.
//! 6. A running [`Segments`] compares its counter with what it has seen every 20 s (it looks at a
//!    file each second), and marks it as `Lost` if it is gone, so that nobody begins it again by
//!    mistake. A handle that was cut off meanwhile, and finds numbers issued again, fails as
//!    [`CounterError::Rewound`], and so does every other client of the counter.
//! 7. No clock is involved, unless numbers have dates, and a reservation costs the same for any
//!    length.
//! 8. **Terms.** How a counter counts ([`CounterTerms`]) is kept in its record: in steps from a
//!    first number, or anew each day, month or year. A client that [names](SegmentsBuilder::terms)
//!    other terms is refused as [`CounterError::OtherTerms`].
//!
//! # Numbers with dates
//!
//! [`DatedNumbers`] are those of one counter that jumps ahead when a period begins: the date's
//! digits stand before the number's own, so that it still only grows, and no pair of date and
//! number repeats, whatever clocks do. The date is that of the store's clock at the reservation. A
//! handle drops what is left of a period at its end, by its monotonic clock or its wall clock,
//! whichever comes first. If the store's clock was ahead, nothing is reserved until it reaches that
//! date again ([`CounterError::Ahead`]), but for the last 10 s.

mod builder;
mod keeper;
mod period_end;
mod shared;

use core::error::Error;
use core::fmt::{self, Debug, Display, Formatter};
use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

pub use crate::url::open_counter as open;
pub use builder::{DEFAULT_LENGTHS, DEFAULT_SURVIVE, SegmentsBuildError, SegmentsBuilder};
use keeper::COMPARED_PER;
pub use randflake_core::segment::{MAX_NUMBER, Segment};
use randflake_core::{Id, Permutation, Plain};
use randflake_lease::LeaseStore;
use randflake_lease::backoff::renewed_within;
pub use randflake_lease::{
    CounterError, CounterErrorKind, CounterPlace, CounterStatus, CounterTerms, CounterTermsError,
    DatedNumbers, Period, UtcOffset,
};
use shared::SharedSegments;

/// Time within which every [`Segments`] that reaches this store has compared its counter with what
/// it has seen, even if one try failed: 33 s on a server, 2 s in a file, which is looked at each
/// second. An operator who begins a counter [waits](crate::lease::Counter::create) for it.
#[must_use]
pub fn compared_within(store: &LeaseStore) -> Duration {
    // On a server a look tells of its tables, not of a counter.
    let every = store.look_every().filter(|_| !store.is_on_server());
    let looks = every.map(|every| every * 2);
    looks.unwrap_or_else(|| renewed_within(COMPARED_PER))
}

/// Issues sequential numbers, from any thread. Clones are cheap and issue from the same segments.
///
/// [`next`](Segments::next) takes a number from the segments reserved so far; a background thread
/// reserves another when they run low. If the store is down, numbers last for at least the time set
/// with [`survive`](SegmentsBuilder::survive), at the rate observed before and within the maximum
/// segment length.
///
/// Numbers are from 1 to 2^63 - 2. They reveal how many there are and in which order they were
/// issued; [encrypted](SegmentsBuilder::encrypted) under a secret they reveal nothing, and are
/// spread over all 64 bits.
///
/// Two copies of a machine, such as a snapshot resumed twice, issue the rest of its segments twice.
/// Nothing here can detect that.
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
/// let mut store = SqliteStore::open(path, &Namespace::new("invoices", Randflake)?)?;
/// store.counter().create()?; // once, when the counter is new; from a shell: `randflake segment init`
/// let numbers = Segments::builder(store).build()?;
/// assert_eq!(numbers.next()?.to_u64(), 1);
/// assert_eq!(numbers.next()?.to_u64(), 2);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "sqlite"))]
/// # fn main() {}
/// ```
pub struct Segments<P = Plain>(Arc<SegmentsOwner<P>>);

/// Ends the keeper when the last handle goes; the keeper itself holds only what is shared.
struct SegmentsOwner<P>(Arc<SharedSegments<P>>);

impl<P: Permutation> Segments<P> {
    /// Returns the next number. It never waits for the store.
    ///
    /// # Errors
    ///
    /// Nothing is consumed by an error.
    ///
    /// - [`SegmentError::Refilling`], [`SegmentError::StoreAway`] and
    ///   [`SegmentError::StoreRefuses`] when every reserved number has been issued;
    /// - [`SegmentError::InForkedChild`] in a forked child of the process that built the handle,
    ///   which must build its own.
    #[inline]
    pub fn next(&self) -> Result<Id, SegmentError> {
        self.0.0.next()
    }

    /// Fills a buffer with numbers from the front, and returns how many. Much cheaper per number
    /// than one by one.
    ///
    /// Returns fewer than the buffer holds when the reserved numbers are used up; the next call
    /// returns the error.
    ///
    /// # Errors
    ///
    /// As for [`next`](Segments::next), if there is not a single number.
    pub fn fill(&self, ids: &mut [Id]) -> Result<usize, SegmentError> {
        self.0.0.fill(ids)
    }

    /// Returns the next number, and waits for the store, at most `limit`, if there is none. It
    /// blocks the thread; a task calls [`next`](Segments::next), which does not.
    ///
    /// # Errors
    ///
    /// As for [`next`](Segments::next): at once if waiting does not help, otherwise when the limit
    /// is reached.
    pub fn next_wait(&self, limit: Duration) -> Result<Id, SegmentError> {
        match self.next() {
            // Apart from the loop, so that a number that is there costs no clock.
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
                // It slept until a segment was put, and others may have been faster: so it is tried
                // again.
                Err(error) if error.can_pass() && !left.is_zero() => {
                    shared.wait_for_put(puts, left);
                }
                outcome => return outcome,
            }
        }
    }

    /// The numbers left, and the state of the store. In a forked child there are none: they are its
    /// parent's.
    #[must_use]
    pub fn status(&self) -> SegmentsStatus {
        self.0.0.status()
    }

    /// How the counter counts.
    #[must_use]
    pub fn terms(&self) -> CounterTerms {
        self.0.0.terms
    }

    /// The number that was issued as this id, as text: with its date if it has one,
    /// `20261128-000123`.
    #[must_use]
    pub fn text(&self, id: Id) -> String {
        self.terms().text(self.number(id))
    }

    /// The number that was issued as this id: decrypted if the handle has a secret, otherwise the
    /// id itself.
    #[must_use]
    pub fn number(&self, id: Id) -> u64 {
        self.0.0.permutation.invert(id.to_u64())
    }
}

impl<P> Drop for SegmentsOwner<P> {
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

/// Numbers left in a handle, and the state of its store: see [`Segments::status`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SegmentsStatus {
    /// The numbers that can be issued without the store.
    pub remaining: u64,
    /// The length of the latest segment that was reserved.
    pub length: u32,
    /// For how long the store has failed, refused, or not answered for a second; `None` if it
    /// answers.
    pub away_for: Option<Duration>,
    /// Why the last call of the store failed; `None` if it succeeded or is still pending.
    pub last_error: Option<Arc<CounterError>>,
}

/// Why a handle issued no number. Nothing was consumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SegmentError {
    /// Every reserved number has been issued; the next segment is being reserved.
    Refilling,
    /// Every reserved number has been issued, and the store fails or has not answered for a second.
    StoreAway {
        /// Time since the request for the next segment began, in milliseconds.
        since_ms: u64,
    },
    /// Every reserved number has been issued, and the store refuses more until an operator
    /// intervenes: [`Segments::status`] has its message.
    StoreRefuses {
        /// Time since the store was first asked, in milliseconds.
        since_ms: u64,
    },
    /// This process is a forked child of the one that built the handle. Build one in the child.
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
