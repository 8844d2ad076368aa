//! Handles: they issue ids, and keep their leases by themselves.

#[cfg(feature = "tokio")]
mod asynchronous;
mod blocks;
mod builder;
mod building;
mod elastic;
mod health;
mod id_wait;
mod issuer;
mod keeper;
mod per_thread;
mod phase;
mod shared;
mod slots;
mod store_client;
mod tasks;

use core::fmt::{self, Debug, Formatter};
use core::ops::ControlFlow;
use core::time::Duration;
use std::sync::Arc;

pub use builder::{Builder, DEFAULT_TTL, MAX_TOLERANCE_MS};
pub use building::BuildError;
pub use elastic::NodeIdCount;
pub use health::{Health, LeaseStatus};
use id_wait::IdWait;
use randflake_core::{
    AnyLayout, Codec, Feistel53, GenerateError, Id, Id53, Parts, Permutation, Randflake,
};
use randflake_lease::{Losses, StoreError};
use shared::SharedHandle;

/// How long dropping the last clone of a handle waits for its leases to be released.
const DROP_WAIT: Duration = Duration::from_secs(1);

/// Issues ids, from any thread. Clones are cheap and issue from the same leases.
///
/// A background thread, the keeper, renews the leases and replaces lost ones. Generating never
/// waits for it: when its leases have expired a handle refuses, whatever the keeper does.
///
/// # The end
///
/// [`close`](Handle::close) stops issuing, waits until the keeper has released the leases, and
/// returns its error if that failed.
///
/// Dropping the last clone also stops issuing, and blocks for at most one second while the keeper
/// releases the leases. With the feature `tokio`, inside a runtime, a `spawn_blocking` thread waits
/// instead, and the runtime waits for that thread before it ends, as at the end of an async `main`.
/// A process that ends in another way (`exit`, `Runtime::shutdown_background`) may be faster than
/// the keeper. A lease that was not released expires within a TTL; until then its node id is taken.
///
/// ```
/// # #[cfg(feature = "sqlite")]
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use randflake_std::lease::{Namespace, SqliteStore};
/// use randflake_std::{Handle, Randflake, Secret};
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("leases.db");
/// let store = SqliteStore::open(path, &Namespace::new("orders", Randflake)?)?;
/// let ids = Handle::builder(&Secret::generate()?, store).node_ids(2).build()?;
///
/// let id = ids.generate()?;
/// println!("{id} {}", id.to_i64());
/// ids.close()?;
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "sqlite"))]
/// # fn main() {}
/// ```
pub struct Handle<L: AnyLayout = Randflake, P = <L as AnyLayout>::Permutation>(
    Arc<HandleOwner<L, P>>,
)
where
    P: Permutation + Send + Sync + 'static;

/// Ends the keeper when the last handle goes; the keeper itself holds only what is shared.
struct HandleOwner<L: AnyLayout, P: Permutation + Send + Sync + 'static>(Arc<SharedHandle<L, P>>);

impl<L: AnyLayout, P: Permutation + Send + Sync + 'static> Handle<L, P> {
    /// Returns the next id, of the current tick. It takes no lock and does no I/O.
    ///
    /// With encryption, each thread takes a block of the tick's ids and encrypts them together, so
    /// that an id costs a fraction of an encryption and threads rarely contend. In each tick a
    /// block begins with one id and doubles, to at most 256. All threads together hold at most 1/16
    /// of a node id's ids in a tick, in 2 KiB per thread and handle. Ids that a thread does not use
    /// within their tick are dropped. So the sequences of one thread ascend; those of several
    /// interleave.
    ///
    /// # Errors
    ///
    /// An error consumes nothing.
    ///
    /// - [`GenerateError::SequenceExhausted`]: all ids of the tick have been issued, on every node
    ///   id;
    /// - [`GenerateError::ClockBehind`]: the store's clock stepped back;
    /// - [`GenerateError::LeaseOver`]: every lease has expired, and the keeper is replacing them;
    /// - [`GenerateError::Closed`]: the handle was closed, or its leases were lost;
    /// - [`GenerateError::Copied`]: the [generation number](Builder::generation) has changed, and
    ///   the keeper has not acquired other leases yet;
    /// - [`GenerateError::InForkedChild`]: this process is a forked child of the one that built the
    ///   handle. Build one in the child.
    #[inline]
    pub fn generate(&self) -> Result<Id, GenerateError> {
        self.0.0.generate()
    }

    /// Fills a buffer with ids from the front, and returns how many. Much cheaper per id than one
    /// by one.
    ///
    /// Returns fewer than the buffer holds when the tick is exhausted; the next call returns the
    /// error.
    ///
    /// # Errors
    ///
    /// As for [`generate`](Handle::generate), if there is not a single id.
    pub fn fill(&self, ids: &mut [Id]) -> Result<usize, GenerateError> {
        self.0.0.fill(ids)
    }

    /// Returns the next id. If there is none, waits at most `limit`: for the next tick, for a clock
    /// that stepped back a little, or for the keeper to replace a lost lease.
    ///
    /// It blocks the thread; in a task call `generate_wait_async` (feature `tokio`).
    ///
    /// # Errors
    ///
    /// As for [`generate`](Handle::generate): at once if waiting cannot help or would exceed the
    /// limit, otherwise when the limit is reached.
    pub fn generate_wait(&self, limit: Duration) -> Result<Id, GenerateError> {
        // Apart from the retries, so that an id that is there costs no further reading of a clock.
        match self.generate() {
            Ok(id) => Ok(id),
            Err(_) => self.retry(limit, || self.generate()),
        }
    }

    /// [`fill`](Handle::fill), but waits at most `limit` if there is not a single id.
    ///
    /// It blocks the thread; in a task call `fill_wait_async` (feature `tokio`).
    ///
    /// # Errors
    ///
    /// As for [`generate_wait`](Handle::generate_wait).
    pub fn fill_wait(&self, ids: &mut [Id], limit: Duration) -> Result<usize, GenerateError> {
        match self.fill(ids) {
            Ok(filled) => Ok(filled),
            Err(_) => self.retry(limit, || self.fill(ids)),
        }
    }

    #[cold]
    fn retry<T>(
        &self,
        limit: Duration,
        mut attempt: impl FnMut() -> Result<T, GenerateError>,
    ) -> Result<T, GenerateError> {
        let retry = IdWait::new(&self.0.0, limit);
        loop {
            match retry.attempt(&mut attempt)? {
                ControlFlow::Break(success) => return Ok(success),
                ControlFlow::Continue(pause) => {
                    self.0
                        .0
                        .phase
                        .wait_until(pause.limit, |phase| pause.is_over(phase));
                }
            }
        }
    }

    /// Returns the current state of the leases; that of a handle without any in a forked child,
    /// since they are its parent's.
    #[must_use]
    pub fn lease(&self) -> LeaseStatus<L> {
        let shared = &*self.0.0;
        // As in `health`: the lock may never be free in a forked child.
        if shared.check_process().is_err() {
            return LeaseStatus {
                leases: Vec::new(),
                remaining: Duration::ZERO,
                losses: Losses::default(),
                last_error: None,
                shortage: None,
            };
        }
        let slots = shared.slots.read();
        let issuers = slots.values();
        let phase = shared.phase.lock();
        LeaseStatus {
            // The longest: as long as one lease is live, ids are issued.
            remaining: issuers
                .clone()
                .map(issuer::Issuer::remaining)
                .max()
                .unwrap_or_default(),
            leases: issuers.map(issuer::Issuer::lease).collect(),
            losses: phase.losses,
            last_error: phase.last_error.clone(),
            shortage: phase.shortage.clone(),
        }
    }

    /// Whether the handle can issue ids, for a readiness probe.
    ///
    /// It reads memory only: it calls neither the store nor the keeper.
    ///
    /// ```
    /// use randflake_std::lease::{MemoryStore, Namespace};
    /// use randflake_std::{Handle, Health, Randflake, Secret};
    ///
    /// let namespace = Namespace::new("orders", Randflake)?;
    /// let store = MemoryStore::with_system_clock(namespace);
    /// let ids = Handle::builder(&Secret::generate()?, store).build()?;
    ///
    /// // In the handler of `/ready`:
    /// let (status, body) = match ids.health() {
    ///     Health::Ready { .. } => (200, "ready".to_owned()),
    ///     Health::Degraded { remaining, error } => (200, format!("{remaining:?} left: {error}")),
    ///     other => (503, format!("{other:?}")),
    /// };
    /// assert_eq!((status, &*body), (200, "ready"));
    ///
    /// ids.close()?;
    /// assert!(!ids.health().is_ready());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn health(&self) -> Health {
        let shared = &*self.0.0;
        // Before the lock: in a forked child it may be held by a thread that exists only in the
        // parent.
        if shared.check_process().is_err() {
            return Health::InForkedChild;
        }
        let (closing, error, shortage) = {
            // Copied, so that the keeper does not wait for the lock while clocks are read.
            let phase = shared.phase.lock();
            let error = phase.last_error.clone();
            (phase.closing, error, phase.shortage.clone())
        };
        if closing {
            return Health::Closed;
        }
        let slots = shared.slots.read();
        let generation = shared.generation.now();
        let issuers = slots.values();
        // A lease from before a copy has time left, but issues nothing any more.
        let current = issuers.filter(|issuer| issuer.is_of(generation));
        let remaining = current.map(issuer::Issuer::remaining).max();
        match (remaining.filter(|left| !left.is_zero()), error) {
            (Some(remaining), None) => match shortage {
                None => Health::Ready { remaining },
                Some(error) => Health::Short { remaining, error },
            },
            (Some(remaining), Some(error)) => Health::Degraded { remaining, error },
            (None, error) => Health::NotReady { error },
        }
    }

    /// Returns the fields of an id, for debugging. Never use it as an access check, and do not
    /// expose it to the public: every 64-bit number has fields.
    #[must_use]
    pub fn inspect(&self, id: Id) -> Parts {
        self.0.0.codec.inspect(id)
    }

    /// The codec, which composes and inspects ids under the handle's secret.
    #[must_use]
    pub fn codec(&self) -> &Codec<L, P> {
        &self.0.0.codec
    }

    /// Stops issuing, for every clone, and releases the leases.
    ///
    /// # Blocking
    ///
    /// It waits for the store: for the request that the keeper may be in, and the release, each [as
    /// long as a request takes](randflake_lease#how-long-calls-block). In a task call `close_async`
    /// (feature `tokio`).
    ///
    /// # Errors
    ///
    /// The store's error. Issuing has stopped anyway, and the leases expire by themselves.
    pub fn close(&self) -> Result<(), StoreError> {
        let shared = &*self.0.0;
        if shared.begin_close() {
            // Without a limit of its own: each request of the keeper has one.
            shared.phase.wait_until(Duration::MAX, |phase| phase.ended);
        }
        shared.end_close()
    }
}

impl<L: AnyLayout> Handle<L, Feistel53> {
    /// Returns the next id as what it is: of 53 bits. Ids of the other methods convert by
    /// [`Id::try_typed`], which does not fail for them.
    ///
    /// # Errors
    ///
    /// As for [`generate`](Handle::generate).
    #[expect(
        clippy::expect_used,
        clippy::missing_panics_doc,
        reason = "`build` refuses a layout of more bits"
    )]
    pub fn generate53(&self) -> Result<Id53, GenerateError> {
        let id = self.generate()?.try_typed();
        Ok(id.expect("53 bits are permuted to 53 bits"))
    }
}

impl<L: AnyLayout, P: Permutation + Send + Sync + 'static> Drop for HandleOwner<L, P> {
    fn drop(&mut self) {
        // The keeper ends by `closing`, and not by the number of handles: it holds the shared state
        // too, so that one never drops by itself.
        // Not in a forked child, whose copy of the keeper is not there to wait for.
        if self.0.begin_close() {
            let shared = Arc::clone(&self.0);
            tasks::block(move || _ = shared.phase.wait_until(DROP_WAIT, |phase| phase.ended));
        }
    }
}

impl<L: AnyLayout, P: Permutation + Send + Sync + 'static> Clone for Handle<L, P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// Shows the leases, never the secret.
impl<L: AnyLayout, P: Permutation + Send + Sync + 'static> Debug for Handle<L, P> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Handle").field(&self.lease()).finish()
    }
}
