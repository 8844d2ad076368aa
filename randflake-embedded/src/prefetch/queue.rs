//! Prefetched ids for an interrupt.

use core::fmt::{self, Debug, Formatter};
use core::marker::PhantomData;

use heapless::spsc::{Consumer, Producer, Queue};
use randflake_core::{Clock, GenerateError, Id, Layout, Lease};

use super::{Prefetched, Waiting, fill};

/// A queue of ids between the main code, which fills it when there is nothing else to do, and one interrupt,
/// which takes an id in a few instructions. Neither waits for the other.
///
/// An id's time is when it was taken. It is handed out while the clock shows that tick or one of the `max_age` ticks
/// after it, never later, nor when the clock was set back to before it; with `max_age` 0 an id always has the
/// current tick. None is handed out when the lease has expired by which it was taken. Dropped ids are skipped,
/// never issued again. The queue holds `N - 1` ids.
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
    queue: Queue<Prefetched, N>,
}

impl<const N: usize> Prefetch<N> {
    /// An empty queue.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            queue: Queue::new(),
        }
    }

    /// The end to fill and the end to take from, for ids of layout `L` that are at most `max_age` ticks old.
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

/// The end of a [`Prefetch`] that the main code fills.
pub struct Filler<'a, L> {
    producer: Producer<'a, Prefetched>,
    max_age: u32,
    layout: PhantomData<L>,
}

impl<L: Layout> Filler<'_, L> {
    /// Fills the queue, and says by how many ids. `lease` is that of the generator or lane that `generate`
    /// asks, and `clock` its clock.
    ///
    /// # Errors
    ///
    /// What `generate` answered, and [`ClockUnknown`](GenerateError::ClockUnknown), if not a single id was
    /// added to a queue with room.
    pub fn fill(
        &mut self,
        lease: &Lease<L>,
        clock: &impl Clock,
        generate: impl FnMut() -> Result<Id, GenerateError>,
    ) -> Result<usize, GenerateError> {
        fill(&mut self.producer, self.max_age, lease, clock, generate)
    }
}

impl Waiting for &mut Producer<'_, Prefetched> {
    fn has_room(&self) -> bool {
        self.ready()
    }

    fn put(&mut self, id: Prefetched) {
        // There is room, and nobody else fills it.
        let _room = self.enqueue(id);
    }
}

/// The end of a [`Prefetch`] that an interrupt takes from.
pub struct Taker<'a, L> {
    consumer: Consumer<'a, Prefetched>,
    layout: PhantomData<L>,
}

impl<L: Layout> Taker<'_, L> {
    /// The next id that is not too old, or else the one that `generate` gives. So there is an id after a pause, too, when
    /// all that was taken in advance is too old: for what an encryption costs.
    ///
    /// `generate` asks what the interrupt may use itself: a generator with a shared word, or a [`Lane`] of its own.
    ///
    /// # Errors
    ///
    /// What `generate` answered, when the queue had no id.
    ///
    /// [`Lane`]: randflake_core::Lane
    pub fn take_or(
        &mut self,
        clock: &impl Clock,
        generate: impl FnOnce() -> Result<Id, GenerateError>,
    ) -> Result<Id, GenerateError> {
        self.take(clock).map_or_else(generate, Ok)
    }

    /// The next id that is not too old, or `None`: then fill the queue, or [generate one](Taker::take_or).
    pub fn take(&mut self, clock: &impl Clock) -> Option<Id> {
        loop {
            let id = self.consumer.dequeue()?;
            if let Some(id) = id.fresh::<L>(clock) {
                return Some(id);
            }
        }
    }
}

/// Shows no ids: they are still to be issued.
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
