//! Prefetched ids for an interrupt handler.

use core::fmt::{self, Debug, Formatter};
use core::marker::PhantomData;

use heapless::spsc::{Consumer, Producer, Queue};
use randflake_core::{Clock, GenerateError, Id, Layout, Lease};

use super::{PrefetchBuffer, Prefetched, fill};

/// A lock-free queue of prefetched ids: the main code fills it when idle, one interrupt takes an id
/// in a few instructions.
///
/// The time in an id is when it was generated. It is handed out during that tick and `max_age`
/// ticks after, while its lease is valid, and not when the clock was set back before it; with
/// `max_age` 0 an id always has the current tick. Older ids are dropped and never issued. The queue
/// holds `N - 1` ids.
///
/// ```
/// use core::sync::atomic::AtomicU32;
/// use randflake_core::{Generator, Lease, ManualClock, Randflake, Sparx64};
/// use randflake_embedded::Prefetch;
///
/// let clock = ManualClock::at_unix_ms(1_733_706_297_000);
/// let lease = Lease::new(Randflake, 42, 3_706_297, 3_706_357)?;
/// let key = Sparx64::new(&[7; 16]);
/// let generator = Generator::<Randflake, AtomicU32, _>::new(lease, &clock, key)?;
///
/// let mut queue = Prefetch::<9>::new();
/// let (mut filler, mut taker) = queue.split::<Randflake>(10);
/// // In idle time:
/// assert_eq!(filler.fill(&generator.lease(), &clock, || generator.generate()), Ok(8));
/// // In the interrupt:
/// assert!(taker.take(&clock).is_some());
///
/// clock.advance_ms(11_000);
/// assert_eq!(taker.take(&clock), None, "the others are too old");
/// assert!(taker.take_or(&clock, || generator.generate()).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Prefetch<const N: usize> {
    // It leaves one place empty, to tell full from empty without a counter that both ends would
    // write.
    queue: Queue<Prefetched, N>,
}

impl<const N: usize> Prefetch<N> {
    /// Creates an empty queue.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            queue: Queue::new(),
        }
    }

    /// Splits the queue into its two ends, for ids of layout `L` that are at most `max_age` ticks
    /// old.
    pub fn split<L: Layout>(&mut self, max_age: u32) -> (Filler<'_, L>, Taker<'_, L>) {
        let (producer, consumer) = self.queue.split();
        let filler = Filler {
            producer,
            max_age,
            layout: PhantomData,
        };
        let taker = Taker {
            consumer,
            layout: PhantomData,
        };
        (filler, taker)
    }
}

impl<const N: usize> Default for Prefetch<N> {
    fn default() -> Self {
        Self::new()
    }
}

/// Producer end of a [`Prefetch`], for the main code.
pub struct Filler<'a, L> {
    producer: Producer<'a, Prefetched>,
    max_age: u32,
    layout: PhantomData<L>,
}

impl<L: Layout> Filler<'_, L> {
    /// Fills the queue and returns the number of ids added. `lease` and `clock` are those of the
    /// generator or lane that `generate` calls.
    ///
    /// # Errors
    ///
    /// The error of `generate`, or [`ClockUnknown`](GenerateError::ClockUnknown), if the queue had
    /// room and no id was added.
    pub fn fill(
        &mut self,
        lease: &Lease<L>,
        clock: &impl Clock,
        generate: impl FnMut() -> Result<Id, GenerateError>,
    ) -> Result<usize, GenerateError> {
        fill(&mut self.producer, self.max_age, lease, clock, generate)
    }
}

impl PrefetchBuffer for &mut Producer<'_, Prefetched> {
    fn has_room(&self) -> bool {
        self.ready()
    }

    fn put(&mut self, id: Prefetched) {
        // `has_room` was just true, and this is the only producer.
        let _room = self.enqueue(id);
    }
}

/// Consumer end of a [`Prefetch`], for one interrupt.
pub struct Taker<'a, L> {
    consumer: Consumer<'a, Prefetched>,
    layout: PhantomData<L>,
}

impl<L: Layout> Taker<'_, L> {
    /// Takes the next fresh id, or generates one: after a pause, when all prefetched ids are too
    /// old, an id still costs only one encryption.
    ///
    /// `generate` must use something that the interrupt may call: a generator with a shared word,
    /// or a [`Lane`] of its own.
    ///
    /// # Errors
    ///
    /// The error of `generate`, if the queue had no fresh id.
    ///
    /// [`Lane`]: randflake_core::Lane
    pub fn take_or(
        &mut self,
        clock: &impl Clock,
        generate: impl FnOnce() -> Result<Id, GenerateError>,
    ) -> Result<Id, GenerateError> {
        self.take(clock).map_or_else(generate, Ok)
    }

    /// Takes the next fresh id, or returns `None`: then fill the queue, or use
    /// [`take_or`](Taker::take_or).
    pub fn take(&mut self, clock: &impl Clock) -> Option<Id> {
        loop {
            // Too old ids are dropped here and not by the filler: only now is it known that nobody
            // took them in time.
            let id = self.consumer.dequeue()?;
            if let Some(id) = id.fresh::<L>(clock) {
                return Some(id);
            }
        }
    }
}

/// Omits the ids: they are not issued yet.
impl<const N: usize> Debug for Prefetch<N> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prefetch").finish_non_exhaustive()
    }
}

impl<L> Debug for Filler<'_, L> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filler")
            .field("max_age", &self.max_age)
            .finish_non_exhaustive()
    }
}

impl<L> Debug for Taker<'_, L> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Taker").finish_non_exhaustive()
    }
}
