//! Configuration and construction of handles.

use core::time::Duration;
use std::sync::{Arc, mpsc};
use std::thread;

use randflake_core::{AnyLayout, Codec, Feistel53, KeyNumber, Permutation, Randflake, Sparx64};
use randflake_lease::LeaseStore;
use randflake_lease::Secret;
use randflake_lease::unstable::holder::is_name_allowed;
use randflake_lease::{KeyCheck, NodeIds, StoreError};

use super::building::{BuildError, BuildWait, Cancellation};
use super::elastic::NodeIdCount;
use super::issuer::Issuer;
use super::keeper::LeaseKeeper;
use super::shared::SharedHandle;
use super::store_client::StoreClient;
use super::{Handle, HandleOwner};
use crate::generation::Generation;

/// The default TTL, how long a lease lasts unless it is renewed: 60 s.
pub const DEFAULT_TTL: Duration = Duration::from_secs(60);
/// The maximum tolerance of a handle, in milliseconds: no id's time is further ahead.
pub const MAX_TOLERANCE_MS: u64 = 5_000;

/// Shortest TTL: a shorter lease could end between two renewals.
const MIN_TTL: Duration = Duration::from_secs(1);
const MIN_TTL_TICKS: u64 = 3;

/// Configures and builds a [`Handle`]: see [`Handle::builder`].
#[derive(Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct Builder<L: AnyLayout = Randflake, P = <L as AnyLayout>::Permutation> {
    /// In a box, as a cipher that moves leaves a copy of its round keys behind.
    codec: Box<Codec<L, P>>,
    store: LeaseStore,
    /// Number of the key, where ids become tagged UUIDs.
    key_number: Option<KeyNumber>,
    node_ids: NodeIdCount,
    chosen: Option<Box<[u32]>>,
    ttl: Duration,
    tolerance: u32,
    holder: Option<String>,
    generation: Generation,
    waiting: BuildWait,
}

impl Handle<Randflake> {
    /// Returns a builder of a handle for Randflake ids under a secret, with leases from a store.
    ///
    /// The type of a store says nothing of its layout. For another one than Randflake, name the
    /// layout of the namespace again, in [`Builder::encrypted`], in [`Builder::encrypted53`] for
    /// ids of 53 bits, or in [`Builder::new`] for plain ids. The build refuses one that is not the
    /// namespace's.
    ///
    /// ```
    /// use randflake_std::lease::{MemoryStore, Namespace};
    /// use randflake_std::{Builder, Handle, Milliflake, Plain, Secret, Snowflake};
    ///
    /// let store = MemoryStore::with_system_clock(Namespace::new("orders", Milliflake)?);
    /// let ids: Handle<Milliflake> = Builder::encrypted(Milliflake, &Secret::generate()?, store).build()?;
    /// ids.generate()?;
    ///
    /// let store = MemoryStore::with_system_clock(Namespace::new("events", Snowflake)?);
    /// let ids: Handle<Snowflake> = Builder::new(Snowflake, Plain, store).build()?;
    /// ids.generate()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn builder(secret: &Secret, store: impl Into<LeaseStore>) -> Builder {
        Builder::encrypted(Randflake, secret, store)
    }
}

impl<L: AnyLayout> Builder<L, Sparx64> {
    /// Returns a builder for encrypted ids of any layout. Unlike `Builder::new(layout,
    /// secret.cipher(), store)` it leaves no copy of the round keys on the stack.
    ///
    /// ```
    /// use randflake_std::lease::{MemoryStore, Namespace};
    /// use randflake_std::{Builder, Secret, Snowflake};
    ///
    /// let store = MemoryStore::with_system_clock(Namespace::new("orders", Snowflake)?);
    /// let ids = Builder::encrypted(Snowflake, &Secret::generate()?, store).build()?;
    /// assert_ne!(ids.codec().raw(ids.generate()?), ids.generate()?.to_u64());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encrypted(layout: L, secret: &Secret, store: impl Into<LeaseStore>) -> Self {
        Self::of(secret.boxed(|cipher| Codec::new(layout, cipher)), store)
    }
}

impl<L: AnyLayout> Builder<L, Feistel53> {
    /// Returns a builder for ids of 53 bits, which JavaScript and JSON hold exactly as numbers: of
    /// [`Randflake53`](crate::Randflake53), or another layout of at most 53 bits. As
    /// [`encrypted`](Builder::encrypted) it leaves no copy of the round keys on the stack.
    ///
    /// ```
    /// use randflake_std::lease::{MemoryStore, Namespace};
    /// use randflake_std::{Builder, Id53, Randflake53, Secret};
    ///
    /// let store = MemoryStore::with_system_clock(Namespace::new("orders", Randflake53)?);
    /// let ids = Builder::encrypted53(Randflake53, &Secret::generate()?, store).build()?;
    /// let order: Id53 = ids.generate53()?;
    /// assert!(order.to_u64() <= Id53::MAX);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encrypted53(layout: L, secret: &Secret, store: impl Into<LeaseStore>) -> Self {
        let key = secret.key53();
        let codec = key.boxed(|cipher| Codec::new(layout, Feistel53::new(cipher)));
        Self::of(codec, store)
    }
}

impl<L: AnyLayout, P: Permutation + Send + Sync + 'static> Builder<L, P> {
    /// Returns a builder for any layout and permutation. `Builder::new(Snowflake, Plain, store)`
    /// makes a `Handle<Snowflake>` of plain ids, `Builder::new(Snowflake, secret.cipher(), store)`
    /// a `Handle<Snowflake, Sparx64>` of encrypted ones, as [`encrypted`](Builder::encrypted) does.
    pub fn new(layout: L, permutation: P, store: impl Into<LeaseStore>) -> Self {
        Self::of(Box::new(Codec::new(layout, permutation)), store)
    }

    fn of(codec: Box<Codec<L, P>>, store: impl Into<LeaseStore>) -> Self {
        Self {
            codec,
            store: store.into(),
            key_number: None,
            node_ids: 1.into(),
            chosen: None,
            ttl: DEFAULT_TTL,
            tolerance: 0,
            holder: None,
            generation: Generation::constant(),
            waiting: BuildWait::default(),
        }
    }

    /// Leases for tagged UUIDs, under the key of a number: ids must get their tag by it.
    pub(crate) fn tagged(mut self, number: KeyNumber) -> Self {
        self.key_number = Some(number);
        self
    }

    /// The number of node ids to lease. Default: 1. Each issues a full tick's sequences: 131,072
    /// ids per second in the Randflake layout.
    ///
    /// With a range, such as `1..=64`, the number follows the load, for a service that needs one
    /// node id most of the time and many in a burst. The handle begins with the minimum.
    ///
    /// - **Taking more:** when a call finds the tick exhausted, the handle doubles its node ids,
    ///   within the time of one acquire. Until then calls borrow within the
    ///   [tolerance](Builder::tolerance), wait, or are refused. With ticks of a second or longer it
    ///   takes more earlier, when half of a tick's ids are used: the keeper checks ten times per
    ///   second.
    /// - **Giving back:** node ids that were not needed for one TTL are released, so after one to
    ///   two TTLs without load. No id is issued again: issuing from it stops, then it is released
    ///   from its first unused tick on.
    /// - **A full namespace** leaves the handle with what it has. It reports [`Health::Short`],
    ///   [`LeaseStatus::shortage`], an event and a metric, and retries after at most a sixth of the
    ///   TTL.
    /// - **Others:** a handle takes no more than 7/8 of a namespace's node ids, whatever the
    ///   maximum. While the namespace is full, it gives back an eighth of what it has beyond the
    ///   minimum once in a TTL, and asks again 3 s later, so that a [build that
    ///   waits](Builder::wait) gets its own.
    ///
    /// All node ids are renewed in one call. A lost one is replaced if fewer than the minimum would
    /// be left, or when the load needs it.
    ///
    /// Use a fixed number if the load is known: then nothing is refused while the store is called.
    /// The maximum costs 8 bytes per node id that is not leased.
    ///
    /// ```
    /// use randflake_std::lease::{MemoryStore, Namespace};
    /// use randflake_std::{Handle, Id, Randflake, Secret};
    /// use std::time::Duration;
    ///
    /// let store = MemoryStore::with_system_clock(Namespace::new("orders", Randflake)?);
    /// let ids = Handle::builder(&Secret::generate()?, store).node_ids(1..=64).build()?;
    /// assert_eq!(ids.lease().leases.len(), 1);
    ///
    /// // More than one node id has in a second.
    /// let mut buffer = vec![Id::from_u64(0); 200_000];
    /// while ids.lease().leases.len() == 1 {
    ///     ids.fill_wait(&mut buffer, Duration::from_secs(2))?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// [`Health::Short`]: crate::Health::Short
    /// [`LeaseStatus::shortage`]: crate::LeaseStatus::shortage
    pub fn node_ids(mut self, count: impl Into<NodeIdCount>) -> Self {
        self.node_ids = count.into();
        self
    }

    /// Leases exactly these node ids, such as one derived from a machine's address. Chosen and free
    /// node ids exclude each other: while another process holds one of them, the build fails with
    /// [`StoreError::Exhausted`]. After a crash they are free again when their leases expire.
    /// Overrides [`node_ids`](Builder::node_ids).
    ///
    /// ```
    /// use randflake_std::lease::{MemoryStore, Namespace, StoreError};
    /// use randflake_std::{BuildError, Builder, Plain, Sonyflake, SystemClock};
    /// use std::sync::Arc;
    ///
    /// let server = MemoryStore::new(Namespace::new("orders", Sonyflake)?, Arc::new(SystemClock));
    /// // As Sonyflake does: the low 16 bits of the private address, here 10.0.18.103.
    /// let node_id = 18 << 8 | 103;
    /// let build = || Builder::new(Sonyflake, Plain, server.clone()).choose([node_id]).build();
    ///
    /// let ids = build()?;
    /// assert_eq!(ids.inspect(ids.generate()?).node_id, node_id);
    ///
    /// // A second machine of the same low 16 bits.
    /// assert!(matches!(build(), Err(BuildError::Store(StoreError::Exhausted { .. }))));
    /// ids.close()?; // The node id is free in the tick after its last id.
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn choose(mut self, node_ids: impl Into<Box<[u32]>>) -> Self {
        self.chosen = Some(node_ids.into());
        self
    }

    /// How long a lease lasts unless it is renewed. Default: 60 s. It is how long issuing continues
    /// without the store, and how long the node ids of a killed process stay taken. At least a
    /// second and three ticks, at most the namespace's longest TTL.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// How many ticks an id may be ahead of the clock, so that issuing continues when a tick is
    /// exhausted. Default: 0. At most 5 s.
    pub fn tolerance(mut self, ticks: u32) -> Self {
        self.tolerance = ticks;
        self
    }

    /// The name of this process in the store's records. Default: `host/process id`. A random number
    /// is appended, so that names are unique.
    ///
    /// 1 to 96 bytes without control characters. `device` and names that begin with `device/` are
    /// refused: they are reserved for the leases of devices.
    pub fn holder(mut self, name: impl Into<String>) -> Self {
        self.holder = Some(name.into());
        self
    }

    /// Watches a number that changes when a copy of this machine or process is resumed, such as
    /// [`Generation::of_virtual_machine`] or a word of your own. Without it, two copies issue the
    /// same ids until one of them renews its lease.
    ///
    /// The number is read before a lease is acquired, and compared after each id is taken, before
    /// it is returned. Once it has changed, the handle issues nothing under its old leases, and
    /// neither renews nor releases them: another copy may use them. The keeper acquires new leases
    /// under another name; until then calls fail with
    /// [`GenerateError::Copied`](crate::GenerateError::Copied).
    ///
    /// It cannot revoke ids that a caller already had when the copy was made.
    pub fn generation(mut self, number: impl Into<Generation>) -> Self {
        self.generation = number.into();
        self
    }

    /// How long [`build`](Builder::build) waits for a store that grants nothing, instead of
    /// failing. Default: zero, but for a store in a file that was [made a moment
    /// ago](crate::lease::QuarantineCause::Young).
    ///
    /// It waits for conditions that can pass without a change of settings: too few node ids are
    /// free, the store is [quarantined](StoreError::Quarantined) or does not answer, or its clock
    /// and this machine's differ, as they may before a machine has set its own. The store is asked
    /// at least every 2.2 s, because a holder may release a lease, and an operator end a
    /// quarantine, before the store expects it. Any other error is returned at once.
    ///
    /// A store's `open` fails if its server cannot be reached; with
    /// [`lease::deferred`](crate::lease::deferred), `build` waits for that too.
    ///
    /// Waiting is reported by the event `waiting for a lease` (feature `tracing`) and to
    /// [`on_wait`](Builder::on_wait). There is no handle yet to ask for its
    /// [health](Handle::health), so a service is not ready until `build` returns.
    ///
    /// When the time is up, the error is [`BuildError::Waited`], with the last reason.
    ///
    /// ```
    /// use randflake_std::lease::{MemoryStore, Namespace, StoreError};
    /// use randflake_std::{BuildError, Handle, Randflake, Secret};
    /// use std::time::Duration;
    ///
    /// let mut store = MemoryStore::with_system_clock(Namespace::new("orders", Randflake)?);
    /// store.administration().create_namespace()?;
    /// store.administration().start_quarantine()?; // for the longest TTL and 20 s, 80 s
    ///
    /// let builder = Handle::builder(&Secret::generate()?, store).wait(Duration::from_millis(200));
    /// let error = builder.build().unwrap_err();
    /// assert!(matches!(error, BuildError::Waited { error: StoreError::Quarantined { .. }, .. }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait(mut self, limit: Duration) -> Self {
        self.waiting.limit = limit;
        self
    }

    /// Calls `notice` when [`build`](Builder::build) begins to [wait](Builder::wait), and whenever
    /// the reason changes: with the reason, and the maximum wait from now on. It runs in the thread
    /// that builds.
    pub fn on_wait(mut self, notice: impl FnMut(&StoreError, Duration) + Send + 'static) -> Self {
        self.waiting.notice = Some(Box::new(notice));
        self
    }

    /// Acquires the leases and starts the keeper.
    ///
    /// # Blocking
    ///
    /// It waits for the store: [as long as an acquire takes](randflake_lease#how-long-calls-block);
    /// if the store does not answer, for three acquires and 0.3 s; and in an SQLite file that was
    /// just made, for the rest of a tick or 3 s. With [`wait`](Builder::wait) it waits for that
    /// time plus one acquire. In a task call `build_async` (feature `tokio`).
    ///
    /// # Errors
    ///
    /// [`BuildError`]. No lease is held then, unless the store granted one and its answer was lost;
    /// that one expires by itself.
    pub fn build(self) -> Result<Handle<L, P>, BuildError> {
        // A name, not `_`, which would drop the sender at once and so cancel the build.
        let (_caller, cancellation) = mpsc::channel();
        self.build_while(&cancellation)
    }

    /// [`build`](Builder::build), which stops when the caller cancels.
    pub(super) fn build_while(
        mut self,
        cancellation: &Cancellation,
    ) -> Result<Handle<L, P>, BuildError> {
        self.check()?;
        // Checked first: a lease without a keeper would stay taken until it expires.
        let (keeper, received) = mpsc::channel::<LeaseKeeper<L, P>>();
        thread::Builder::new()
            .name("randflake-keeper".to_owned())
            // It waits for its keeper; if the build fails there is none, and it ends.
            .spawn(move || received.recv().into_iter().for_each(LeaseKeeper::run))
            .map_err(BuildError::Thread)?;
        let holder = self
            .holder
            .unwrap_or_else(randflake_lease::unstable::holder::process_name);
        let holder =
            randflake_lease::unstable::holder::unique(&holder).map_err(StoreError::unavailable)?;
        // Before the first request, which claims the key for the namespace or is refused because
        // another one has it.
        let key_check = KeyCheck::of(self.codec.permutation());
        self.store.set_key_check(
            self.key_number
                .map_or(key_check, |number| key_check.under(number)),
        );
        let mut client = StoreClient::new(self.store, holder, self.ttl);
        let wanted = match &self.chosen {
            Some(chosen) => NodeIds::These(chosen),
            None => NodeIds::Any(self.node_ids.least),
        };
        let count = match &self.chosen {
            // Chosen node ids are a fixed number: an elastic handle would acquire others beside
            // them.
            Some(_) => wanted.count().into(),
            None => self.node_ids,
        };
        // Before the acquire: if the machine is copied during it, both copies may have the grant,
        // and none uses it.
        let generation = self.generation.now();
        let (acquired, sent) = self.waiting.acquire(&mut client, wanted, cancellation)?;
        client.warn_of_short_ttl();
        client.notify_of_local_leases();
        let issuers = Issuer::of_all(self.codec.layout(), &acquired, sent, generation)
            // A grant that is invalid for this layout has no issuer, so nothing was issued from it,
            // and all of it can be released.
            .inspect_err(|_| client.release_unused(&acquired.grants))?;
        let shared = Arc::new(SharedHandle::new(
            issuers,
            count,
            self.codec,
            self.tolerance,
            self.generation,
            (acquired.now, sent),
        ));
        let is_chosen = self.chosen.is_some();
        let _waits_for_it = keeper.send(LeaseKeeper::new(
            Arc::clone(&shared),
            client,
            acquired.grants,
            is_chosen,
            count,
        ));
        Ok(Handle(Arc::new(HandleOwner(shared))))
    }

    fn check(&self) -> Result<(), BuildError> {
        let spec = self.codec.layout().spec();
        let namespace = self.store.namespace();
        // Ticks and node ids of a grant are numbers of the namespace's layout: under another one
        // the same numbers are other times and other bits of an id.
        if namespace.spec() != spec {
            return Err(BuildError::Layout {
                namespace: namespace.name().to_owned(),
            });
        }
        let (bits, max) = (spec.bits(), self.codec.permutation().bits());
        if bits > max {
            return Err(BuildError::TooWide { bits, max });
        }
        let NodeIdCount { least, most } = self.node_ids;
        // A store refuses a fixed number by itself, by what is free; of a range it never sees the
        // end.
        let is_elastic = self.node_ids.is_elastic();
        if least > most || is_elastic && (least == 0 || u64::from(most) > namespace.node_ids()) {
            return Err(BuildError::NodeIds {
                least,
                most,
                max: namespace.node_ids(),
            });
        }
        if let Some(name) = self.holder.as_ref().filter(|name| !is_name_allowed(name)) {
            return Err(BuildError::Holder { name: name.clone() });
        }
        // The longest TTL is the namespace's to refuse: it may have another one than this program
        // knows of.
        if self.ttl < MIN_TTL || namespace.ticks(self.ttl) < MIN_TTL_TICKS {
            let ticks = Duration::from_millis(spec.tick_ms().saturating_mul(MIN_TTL_TICKS));
            return Err(BuildError::Ttl {
                ttl: self.ttl,
                min: MIN_TTL.max(ticks),
            });
        }
        // None for ticks longer than that: an id could not be ahead by less than one.
        let max_ticks = MAX_TOLERANCE_MS / spec.tick_ms();
        if u64::from(self.tolerance) > max_ticks {
            return Err(BuildError::Tolerance {
                ticks: self.tolerance,
                max_ticks,
            });
        }
        Ok(())
    }
}
