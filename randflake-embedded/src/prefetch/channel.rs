//! Prefetched ids for async tasks.

use core::fmt::{self, Debug, Formatter};
use core::future::{Future, poll_fn};
use core::marker::PhantomData;

use embassy_sync::blocking_mutex::raw::RawMutex;
use embassy_sync::channel::Channel;
use randflake_core::{Clock, GenerateError, Id, Layout, Lease};

use super::{PrefetchBuffer, Prefetched, fill};

/// A channel of prefetched ids for async tasks (`embassy-sync`): one task fills it, others wait for
/// ids.
///
/// `M` is the mutex of the channel: `CriticalSectionRawMutex` if an interrupt or an executor of
/// another priority takes ids, else `NoopRawMutex`. It holds up to `N` ids. An id is handed out
/// during its tick and `max_age` ticks after, while its lease is valid. Older ids are dropped and
/// never issued.
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

    /// Fills the channel without waiting and returns the number of ids added. `lease` and `clock`
    /// are those of the generator or lane that `generate` calls.
    ///
    /// # Errors
    ///
    /// The error of `generate`, or [`ClockUnknown`](GenerateError::ClockUnknown), if the channel
    /// had room and no id was added.
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
            // Dropped here, the future has taken nothing: the channel hands out an id only when it
            // is ready.
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
        // If another task filled the channel in between, this id is skipped, which is safe: ids are
        // never issued twice, but need not all be issued.
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
