//! Ids taken in idle time, for those who have no time to encrypt.

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

/// An id, and the ticks at which it is handed out: from the one at which it was taken until before `expires`.
struct Prefetched {
    id: Id,
    taken: u64,
    expires: u64,
}

impl Prefetched {
    /// The id, if the clock shows now that it is neither too old nor of a time ahead, as after it was set back. So whoever
    /// is interrupted between taking it and asking gets none that went stale in between.
    #[inline]
    fn fresh<L: Layout>(self, clock: &impl Clock) -> Option<Id> {
        (self.taken..self.expires)
            .contains(&tick::<L>(clock)?)
            .then_some(self.id)
    }
}

/// Where prefetched ids wait.
trait Waiting {
    fn has_room(&self) -> bool;
    fn put(&mut self, id: Prefetched);
}

fn fill<L: Layout>(
    mut waiting: impl Waiting,
    max_age: u32,
    lease: &Lease<L>,
    clock: &impl Clock,
    mut generate: impl FnMut() -> Result<Id, GenerateError>,
) -> Result<usize, GenerateError> {
    let mut added = 0_usize;
    while waiting.has_room() {
        // Before the id is taken, so that it is not thought younger than it is.
        let now = tick::<L>(clock).ok_or(GenerateError::ClockUnknown);
        match now.and_then(|now| Ok((now, generate()?))) {
            Ok((taken, id)) => {
                let expires = taken.saturating_add(max_age.into()).saturating_add(1);
                let expires = expires.min(lease.end());
                waiting.put(Prefetched { id, taken, expires });
                added = added.saturating_add(1);
            }
            Err(error) if added == 0 => return Err(error),
            Err(_) => break,
        }
    }
    Ok(added)
}

fn tick<L: Layout>(clock: &impl Clock) -> Option<u64> {
    L::SPEC.tick_at(clock.now()?)
}
