//! Prefetched ids for tasks.

use core::fmt::{self, Debug, Formatter};
use core::future::{Future, poll_fn};
use core::marker::PhantomData;

use embassy_sync::blocking_mutex::raw::RawMutex;
use embassy_sync::channel::Channel;
use randflake_core::{Clock, GenerateError, Id, Layout, Lease};

use super::{Prefetched, Waiting, fill};

/// [`Prefetch`](crate::Prefetch) for tasks: a channel of `embassy-sync`, which one task fills and others wait for.
///
/// `M` is the channel's mutex: `CriticalSectionRawMutex` if an interrupt or an executor of another priority takes ids, else
/// `NoopRawMutex`. It holds `N` ids. An id is handed out while the clock shows its tick or one of the `max_age` ticks
/// after it, and the lease by which it was taken has not expired; others are dropped, never issued again.
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
    /// An empty channel, for ids of layout `L` that are at most `max_age` ticks old.
    #[must_use]
    pub const fn new(max_age: u32) -> Self {
        Self {
            channel: Channel::new(),
            max_age,
            layout: PhantomData,
        }
    }

    /// Waits until there is room to [fill](Self::fill).
    pub fn has_room(&self) -> impl Future<Output = ()> + '_ {
        poll_fn(|context| self.channel.poll_ready_to_send(context))
    }

    /// Fills the channel without waiting, and says by how many ids. `lease` is that of the generator or lane that
    /// `generate` asks, and `clock` its clock.
    ///
    /// # Errors
    ///
    /// What `generate` answered, and [`ClockUnknown`](GenerateError::ClockUnknown), if not a single id was
    /// added to a channel with room.
    pub fn fill(
        &self,
        lease: &Lease<L>,
        clock: &impl Clock,
        generate: impl FnMut() -> Result<Id, GenerateError>,
    ) -> Result<usize, GenerateError> {
        fill(&self.channel, self.max_age, lease, clock, generate)
    }

    /// The next id that is not too old, waiting until the channel is filled. It may be cancelled.
    pub async fn take(&self, clock: &impl Clock) -> Id {
        loop {
            let id = self.channel.receive().await;
            if let Some(id) = id.fresh::<L>(clock) {
                return id;
            }
        }
    }

    /// The next id that is not too old, or `None`, without waiting: for interrupts.
    pub fn try_take(&self, clock: &impl Clock) -> Option<Id> {
        loop {
            let id = self.channel.try_receive().ok()?;
            if let Some(id) = id.fresh::<L>(clock) {
                return Some(id);
            }
        }
    }
}

impl<M: RawMutex, const N: usize> Waiting for &Channel<M, Prefetched, N> {
    fn has_room(&self) -> bool {
        !self.is_full()
    }

    fn put(&mut self, id: Prefetched) {
        // If another task filled it in between, this id is skipped.
        let _room = self.try_send(id);
    }
}

/// Shows no ids: they are still to be issued.
impl<L, M: RawMutex, const N: usize> Debug for AsyncPrefetch<L, M, N> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncPrefetch")
            .field("max_age", &self.max_age)
            .finish_non_exhaustive()
    }
}
