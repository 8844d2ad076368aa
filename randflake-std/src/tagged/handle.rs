//! `TaggedHandle`, which issues tagged UUIDs and follows rotations.

use core::fmt::{self, Debug, Formatter};
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use core::time::Duration;
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};
use std::time::Instant;

use randflake_core::{
    AnyLayout, GenerateError, Id, KeyNumber, Parts, Randflake, Sparx64, TagKey, TaggedUuid,
};
use randflake_lease::StoreError;
#[cfg(feature = "tokio")]
use tokio::time::sleep;

use super::error::TagCheckError;
use super::secrets::TagSecrets;
use crate::handle::{Handle, Health, LeaseStatus};

/// Ids that [`TaggedHandle::fill`] takes at once, on the stack.
const AT_ONCE: usize = 256;
/// How often a caller that waits looks for the leases under the next key, while there are none.
/// That is rare.
const BETWEEN_KEYS: Duration = Duration::from_millis(10);

/// Issues tagged UUIDs, from any thread. Clones are cheap and issue from the same leases.
///
/// It is a [`Handle`] under the namespace's key. When a rotation has refused its renewal, a
/// background thread acquires leases under the next key, if the directory has it, and callers go on
/// to those: never back. See [the module](super) for rotations, and [`Handle`] for leases and the
/// end.
///
/// ```
/// use randflake_std::lease::{MemoryStore, Namespace};
/// use randflake_std::tagged::{TagSecrets, TaggedHandle};
/// use randflake_std::{Randflake, Secret, TaggedUuid};
///
/// # let directory = tempfile::tempdir()?;
/// # let directory = directory.path();
/// Secret::generate()?.write_new(directory.join("1.key"))?;
/// let secrets = TagSecrets::open(directory, "orders")?;
/// let store = MemoryStore::with_system_clock(Namespace::new("orders", Randflake)?);
/// let ids = TaggedHandle::builder(&secrets, move || Ok(store.clone())).build()?;
///
/// let uuid: TaggedUuid = ids.generate()?;
/// assert_eq!(uuid.key_number().get(), 1);
/// assert!(secrets.check(uuid).is_ok());
/// ids.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TaggedHandle<L: AnyLayout = Randflake>(pub(super) Arc<Owner<L>>);

/// Ends the follower when the last clone goes.
pub(super) struct Owner<L: AnyLayout> {
    pub(super) shared: Arc<Shared<L>>,
    pub(super) secrets: TagSecrets,
    pub(super) follower: Thread,
}

/// Leases under one key.
pub(super) struct Epoch<L: AnyLayout> {
    pub(super) number: KeyNumber,
    pub(super) handle: Handle<L, Sparx64>,
    pub(super) tag: TagKey,
}

impl<L: AnyLayout> Epoch<L> {
    /// The number that the namespace has gone on to, as the last refusal says.
    pub(super) fn next_number(&self) -> Option<KeyNumber> {
        match self.handle.lease().last_error.as_deref() {
            // A lower one is that of a store that went back: the handle stays, and waits for the
            // next key to be taken again.
            Some(StoreError::KeyNumber { stored, .. }) if *stored > self.number => Some(*stored),
            _ => None,
        }
    }
}

/// What callers and the follower share: a place for each key number, and which one is in use. It
/// has no lock, so that a forked child never waits for one.
pub(super) struct Shared<L: AnyLayout> {
    first: Epoch<L>,
    /// Those of the keys after it, by number.
    later: [OnceLock<Epoch<L>>; KeyNumber::MAX.get() as usize + 1],
    current: AtomicU8,
    pub(super) is_closing: AtomicBool,
}

impl<L: AnyLayout> Shared<L> {
    pub(super) fn new(first: Epoch<L>) -> Self {
        Self {
            current: AtomicU8::new(first.number.get()),
            first,
            later: core::array::from_fn(|_| OnceLock::new()),
            is_closing: AtomicBool::new(false),
        }
    }

    /// Leases under the current key.
    #[inline]
    pub(super) fn current(&self) -> &Epoch<L> {
        // With the release of `go_on_to`: who sees the number finds the leases.
        let number = self.current.load(Ordering::Acquire);
        let later = self.later.get(usize::from(number));
        later.and_then(OnceLock::get).unwrap_or(&self.first)
    }

    /// Lets callers go on to the leases under a later key. An earlier one changes nothing.
    pub(super) fn go_on_to(&self, epoch: Epoch<L>) {
        let number = epoch.number.get();
        if let Some(place) = self.later.get(usize::from(number))
            && place.set(epoch).is_ok()
        {
            self.current.fetch_max(number, Ordering::AcqRel);
        }
    }

    fn epochs(&self) -> impl Iterator<Item = &Epoch<L>> {
        let later = self.later.iter().filter_map(OnceLock::get);
        core::iter::once(&self.first).chain(later)
    }
}

impl<L: AnyLayout> TaggedHandle<L> {
    /// Returns the next UUID. It takes no lock and does no I/O.
    ///
    /// # Errors
    ///
    /// As for [`Handle::generate`]. [`GenerateError::LeaseOver`] also while the directory lacks the
    /// key that the namespace has gone on to: [`health`](TaggedHandle::health) has the reason.
    #[inline]
    pub fn generate(&self) -> Result<TaggedUuid, GenerateError> {
        let taken = self.attempt(|epoch| Ok(epoch.tag.tag(epoch.handle.generate()?)));
        taken.map_err(|error| self.explained(error))
    }

    /// Returns the next UUID. If there is none, waits at most `limit`, as [`Handle::generate_wait`]
    /// does.
    ///
    /// # Errors
    ///
    /// As for [`generate`](TaggedHandle::generate).
    pub fn generate_wait(&self, limit: Duration) -> Result<TaggedUuid, GenerateError> {
        let started = Instant::now();
        loop {
            let left = limit.saturating_sub(started.elapsed());
            let taken = self.attempt(|epoch| Ok(epoch.tag.tag(epoch.handle.generate_wait(left)?)));
            match taken {
                Err(_) if self.is_between_keys() && !left.is_zero() => {
                    thread::sleep(BETWEEN_KEYS.min(left));
                }
                taken => return taken.map_err(|error| self.explained(error)),
            }
        }
    }

    /// As [`generate_wait`](TaggedHandle::generate_wait), in a task: it waits by the runtime's
    /// timer, as [`Handle::generate_wait_async`] does, and may be dropped while it waits. It needs
    /// the feature `tokio`.
    ///
    /// # Errors
    ///
    /// As for [`generate`](TaggedHandle::generate).
    #[cfg(feature = "tokio")]
    pub async fn generate_wait_async(&self, limit: Duration) -> Result<TaggedUuid, GenerateError> {
        let started = Instant::now();
        loop {
            let epoch = self.0.shared.current();
            let left = limit.saturating_sub(started.elapsed());
            match epoch.handle.generate_wait_async(left).await {
                Ok(id) => return Ok(epoch.tag.tag(id)),
                // A rotation may have come in between: see `attempt`.
                Err(_) if self.0.shared.current().number > epoch.number => {}
                Err(_) if self.is_between_keys() && !left.is_zero() => {
                    sleep(BETWEEN_KEYS.min(left)).await;
                }
                Err(error) => return Err(self.explained(error)),
            }
        }
    }

    /// Fills a buffer with UUIDs from the front, and returns how many, as [`Handle::fill`] does.
    /// What was in the buffer does not matter: begin with copies of one UUID.
    ///
    /// # Errors
    ///
    /// As for [`generate`](TaggedHandle::generate), if there is not a single UUID.
    pub fn fill(&self, uuids: &mut [TaggedUuid]) -> Result<usize, GenerateError> {
        let mut filled = 0;
        let mut ids = [Id::from_u64(0); AT_ONCE];
        for part in uuids.chunks_mut(AT_ONCE) {
            let taken = self.attempt(|epoch| {
                // Under one key: a rotation lies between two parts.
                let ids = ids.get_mut(..part.len()).unwrap_or_default();
                let count = epoch.handle.fill(ids)?;
                for (uuid, id) in part.iter_mut().zip(ids.iter().take(count)) {
                    *uuid = epoch.tag.tag(*id);
                }
                Ok(count)
            });
            match taken {
                Ok(count) => filled += count,
                Err(error) if filled == 0 => return Err(self.explained(error)),
                Err(_) => break,
            }
            if taken != Ok(part.len()) {
                break;
            }
        }
        Ok(filled)
    }

    /// Takes from the leases under the current key; once more if a rotation came in between.
    #[inline]
    fn attempt<T>(
        &self,
        mut take: impl FnMut(&Epoch<L>) -> Result<T, GenerateError>,
    ) -> Result<T, GenerateError> {
        let mut epoch = self.0.shared.current();
        loop {
            let taken = take(epoch);
            if taken.is_ok() {
                return taken;
            }
            // Leases of the key before are given back as soon as those of the next one are there.
            let next = self.0.shared.current();
            if next.number <= epoch.number {
                return taken;
            }
            epoch = next;
        }
    }

    /// Whether waiting may help where the leases under the current key give up: those under the
    /// next one are on their way.
    fn is_between_keys(&self) -> bool {
        let shared = &self.0.shared;
        let epoch = shared.current();
        let has_given_back = matches!(epoch.handle.health(), Health::Closed);
        !shared.is_closing.load(Ordering::SeqCst)
            && (has_given_back || epoch.next_number().is_some())
    }

    /// The error for the caller: a tagged handle is not closed when only its current leases are.
    fn explained(&self, error: GenerateError) -> GenerateError {
        if error == GenerateError::Closed && !self.0.shared.is_closing.load(Ordering::SeqCst) {
            return GenerateError::LeaseOver { since_ms: 0 };
        }
        error
    }

    /// Number of the key that it issues under now.
    #[must_use]
    pub fn key_number(&self) -> KeyNumber {
        self.0.shared.current().number
    }

    /// Whether it can issue UUIDs, for a readiness probe: that of the [`Handle`] under the current
    /// key. Where the namespace has gone on to a key that the directory lacks, the error in it is
    /// [`StoreError::KeyNumber`].
    #[must_use]
    pub fn health(&self) -> Health {
        let shared = &self.0.shared;
        let handle = &shared.current().handle;
        match handle.health() {
            // Its node ids were given back, for the next key to take.
            Health::Closed if !shared.is_closing.load(Ordering::SeqCst) => Health::NotReady {
                error: handle.lease().last_error,
            },
            health => health,
        }
    }

    /// The state of the leases under the current key.
    #[must_use]
    pub fn lease(&self) -> LeaseStatus<L> {
        self.0.shared.current().handle.lease()
    }

    /// The secrets, which read UUIDs of all keys that are not retired.
    #[must_use]
    pub fn secrets(&self) -> &TagSecrets {
        &self.0.secrets
    }

    /// Checks the tag of a UUID and returns the fields of its id, as [`TagSecrets::inspect`] does.
    ///
    /// # Errors
    ///
    /// [`TagCheckError`].
    pub fn inspect(&self, uuid: TaggedUuid) -> Result<Parts, TagCheckError> {
        let layout = self.0.shared.current().handle.codec().layout();
        self.0.secrets.inspect(layout, uuid)
    }

    /// Stops issuing, for every clone, and releases the leases.
    ///
    /// # Blocking
    ///
    /// As for [`Handle::close`].
    ///
    /// # Errors
    ///
    /// The store's error. Issuing has stopped anyway, and the leases expire by themselves.
    pub fn close(&self) -> Result<(), StoreError> {
        // The follower looks at it after it has put leases there: one of the two closes them.
        self.0.shared.is_closing.store(true, Ordering::SeqCst);
        self.0.follower.unpark();
        let closed = self.0.shared.epochs().map(|epoch| epoch.handle.close());
        closed.fold(Ok(()), Result::and)
    }
}

impl<L: AnyLayout> Drop for Owner<L> {
    fn drop(&mut self) {
        // It holds no leases while it sleeps, so they are released by this drop. Neither step takes
        // a lock that a forked child might wait for.
        self.shared.is_closing.store(true, Ordering::SeqCst);
        self.follower.unpark();
    }
}

impl<L: AnyLayout> Clone for TaggedHandle<L> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// Shows the key number and the leases, never a secret.
impl<L: AnyLayout> Debug for TaggedHandle<L> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaggedHandle")
            .field("key_number", &self.key_number())
            .field("lease", &self.lease())
            .finish()
    }
}
