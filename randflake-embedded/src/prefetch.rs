//! Ids generated in idle time, for interrupts and tasks that have no time to encrypt.

use randflake_core::{Clock, GenerateError, Id, Layout, Lease};

#[cfg(feature = "embassy-sync")]
pub use channel::AsyncPrefetch;
#[cfg(all(
    feature = "heapless",
    any(
        feature = "portable-atomic",
        target_has_atomic = "ptr",
        target_arch = "arm"
    )
))]
pub use queue::{Filler, Prefetch, Taker};

/// An id and the ticks during which it may be handed out: `taken..expires`.
struct Prefetched {
    id: Id,
    taken: u64,
    expires: u64,
}

impl Prefetched {
    /// The id, if it is fresh now. The clock is read after the id was dequeued: an interrupt in
    /// between may let it expire. An id ahead of the clock is dropped too, as after the clock was
    /// set back.
    #[inline]
    fn fresh<L: Layout>(self, clock: &impl Clock) -> Option<Id> {
        (self.taken..self.expires)
            .contains(&tick::<L>(clock)?)
            .then_some(self.id)
    }
}

/// Storage of prefetched ids, filled by [`fill`].
trait PrefetchBuffer {
    fn has_room(&self) -> bool;
    fn put(&mut self, id: Prefetched);
}

fn fill<L: Layout>(
    mut buffer: impl PrefetchBuffer,
    max_age: u32,
    lease: &Lease<L>,
    clock: &impl Clock,
    mut generate: impl FnMut() -> Result<Id, GenerateError>,
) -> Result<usize, GenerateError> {
    let mut added = 0_usize;
    while buffer.has_room() {
        // Read before the id is generated, so that its age is never underestimated.
        let now = tick::<L>(clock).ok_or(GenerateError::ClockUnknown);
        match now.and_then(|now| Ok((now, generate()?))) {
            Ok((taken, id)) => {
                let expires = taken
                    .saturating_add(max_age.into())
                    .saturating_add(1)
                    // Never past the lease: from its end on another holder may have the node id.
                    .min(lease.end());
                buffer.put(Prefetched { id, taken, expires });
                added = added.saturating_add(1);
            }
            // With some ids added the error can wait for the next call, which meets it again.
            Err(error) if added == 0 => return Err(error),
            Err(_) => break,
        }
    }
    Ok(added)
}

fn tick<L: Layout>(clock: &impl Clock) -> Option<u64> {
    L::SPEC.tick_at(clock.now()?)
}

#[cfg(feature = "embassy-sync")]
mod channel {
    //! Prefetched ids for async tasks.

    use core::fmt::{self, Debug, Formatter};
    use core::future::{Future, poll_fn};
    use core::marker::PhantomData;

    use embassy_sync::blocking_mutex::raw::RawMutex;
    use embassy_sync::channel::Channel;
    use randflake_core::{Clock, GenerateError, Id, Layout, Lease};

    use super::{PrefetchBuffer, Prefetched, fill};

    /// A channel of prefetched ids for async tasks (`embassy-sync`): one task fills it, others wait
    /// for ids.
    ///
    /// `M` is the mutex of the channel: `CriticalSectionRawMutex` if an interrupt or an executor of
    /// another priority takes ids, else `NoopRawMutex`. It holds up to `N` ids. An id is handed out
    /// during its tick and `max_age` ticks after, while its lease is valid. Older ids are dropped
    /// and never issued.
    ///
    /// ```
    /// use core::sync::atomic::AtomicU32;
    /// use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
    /// use randflake_core::{Clock, GenerateError, Generator, Id, Lease, ManualClock, Randflake, Sparx64};
    /// use randflake_embedded::AsyncPrefetch;
    ///
    /// static IDS: AsyncPrefetch<Randflake, CriticalSectionRawMutex, 8> = AsyncPrefetch::new(10);
    ///
    /// /// The task that owns the generator, with the lowest priority.
    /// async fn fill(generator: &Generator<Randflake, AtomicU32, &ManualClock>, clock: &ManualClock) -> GenerateError {
    ///     loop {
    ///         IDS.has_room().await;
    ///         let filled = IDS.fill(&generator.lease(), clock, || generator.generate());
    ///         if let Err(error) = filled {
    ///             return error; // in earnest: wait for `error.retry_in_ms()`, or begin the next block
    ///         }
    ///     }
    /// }
    ///
    /// async fn send(clock: &ManualClock) -> Id {
    ///     IDS.take(clock).await
    /// }
    /// ```
    pub struct AsyncPrefetch<L, M: RawMutex, const N: usize> {
        channel: Channel<M, Prefetched, N>,
        max_age: u32,
        layout: PhantomData<L>,
    }

    impl<L: Layout, M: RawMutex, const N: usize> AsyncPrefetch<L, M, N> {
        /// Creates an empty channel for ids of layout `L` that are at most `max_age` ticks old.
        #[must_use]
        pub const fn new(max_age: u32) -> Self {
            Self {
                channel: Channel::new(),
                max_age,
                layout: PhantomData,
            }
        }

        /// Waits until the channel has room to [fill](Self::fill).
        pub fn has_room(&self) -> impl Future<Output = ()> + '_ {
            // Woken by the channel, so a task that only fills takes no time while it is full.
            poll_fn(|context| self.channel.poll_ready_to_send(context))
        }

        /// Fills the channel without waiting and returns the number of ids added. `lease` and
        /// `clock` are those of the generator or lane that `generate` calls.
        ///
        /// # Errors
        ///
        /// The error of `generate`, or [`ClockUnknown`](GenerateError::ClockUnknown), if the
        /// channel had room and no id was added.
        pub fn fill(
            &self,
            lease: &Lease<L>,
            clock: &impl Clock,
            generate: impl FnMut() -> Result<Id, GenerateError>,
        ) -> Result<usize, GenerateError> {
            fill(&self.channel, self.max_age, lease, clock, generate)
        }

        /// Takes the next fresh id, waiting until the channel is filled. Cancel-safe.
        pub async fn take(&self, clock: &impl Clock) -> Id {
            loop {
                // Dropped here, the future has taken nothing: the channel hands out an id only when
                // it is ready.
                let id = self.channel.receive().await;
                if let Some(id) = id.fresh::<L>(clock) {
                    return id;
                }
            }
        }

        /// Takes the next fresh id, or returns `None` without waiting: for interrupts.
        pub fn try_take(&self, clock: &impl Clock) -> Option<Id> {
            loop {
                let id = self.channel.try_receive().ok()?;
                if let Some(id) = id.fresh::<L>(clock) {
                    return Some(id);
                }
            }
        }
    }

    impl<M: RawMutex, const N: usize> PrefetchBuffer for &Channel<M, Prefetched, N> {
        fn has_room(&self) -> bool {
            !self.is_full()
        }

        fn put(&mut self, id: Prefetched) {
            // If another task filled the channel in between, this id is skipped, which is safe: ids
            // are never issued twice, but need not all be issued.
            let _room = self.try_send(id);
        }
    }

    /// Omits the ids: they are not issued yet.
    impl<L, M: RawMutex, const N: usize> Debug for AsyncPrefetch<L, M, N> {
        fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
            f.debug_struct("AsyncPrefetch")
                .field("max_age", &self.max_age)
                .finish_non_exhaustive()
        }
    }
}

#[cfg(all(
    feature = "heapless",
    any(
        feature = "portable-atomic",
        target_has_atomic = "ptr",
        target_arch = "arm"
    )
))]
mod queue {
    //! Prefetched ids for an interrupt handler.

    use core::fmt::{self, Debug, Formatter};
    use core::marker::PhantomData;

    use heapless::spsc::{Consumer, Producer, Queue};
    use randflake_core::{Clock, GenerateError, Id, Layout, Lease};

    use super::{PrefetchBuffer, Prefetched, fill};

    /// A lock-free queue of prefetched ids: the main code fills it when idle, one interrupt takes
    /// an id in a few instructions.
    ///
    /// The time in an id is when it was generated. It is handed out during that tick and `max_age`
    /// ticks after, while its lease is valid, and not when the clock was set back before it; with
    /// `max_age` 0 an id always has the current tick. Older ids are dropped and never issued. The
    /// queue holds `N - 1` ids.
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

        /// Splits the queue into its two ends, for ids of layout `L` that are at most `max_age`
        /// ticks old.
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
        /// Fills the queue and returns the number of ids added. `lease` and `clock` are those of
        /// the generator or lane that `generate` calls.
        ///
        /// # Errors
        ///
        /// The error of `generate`, or [`ClockUnknown`](GenerateError::ClockUnknown), if the queue
        /// had room and no id was added.
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
        /// Takes the next fresh id, or generates one: after a pause, when all prefetched ids are
        /// too old, an id still costs only one encryption.
        ///
        /// `generate` must use something that the interrupt may call: a generator with a shared
        /// word, or a [`Lane`] of its own.
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
                // Too old ids are dropped here and not by the filler: only now is it known that
                // nobody took them in time.
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
}
