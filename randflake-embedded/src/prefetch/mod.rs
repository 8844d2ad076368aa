//! Ids generated in idle time, for interrupts and tasks that have no time to encrypt.

use randflake_core::{Clock, GenerateError, Id, Layout, Lease};

#[cfg(feature = "embassy-sync")]
mod channel;
#[cfg(all(
    feature = "heapless",
    any(
        feature = "portable-atomic",
        target_has_atomic = "ptr",
        target_arch = "arm"
    )
))]
mod queue;

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
