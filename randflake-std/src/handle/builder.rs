//! How a handle is made.

use core::time::Duration;
use std::sync::{Arc, mpsc};
use std::thread;

use randflake_core::{AnyLayout, Codec, Permutation, Randflake};

use super::build_error::BuildError;
use super::elastic::NodeIdCount;
use super::issuer::Issuer;
use super::keeper::Keeper;
use super::shared::Shared;
use super::store_client::StoreClient;
use super::waiting::{Asked, Waiting};
use super::{Handle, Owner};
use crate::Secret;
use crate::generation::Generation;
use crate::holder::is_name_allowed;
use crate::lease::{LeaseStore, NodeIds, Seal, StoreError};

/// How long a lease lasts unless it is renewed: 60 s.
pub const DEFAULT_TTL: Duration = Duration::from_secs(60);
/// The largest tolerance of a handle, in milliseconds: an id's time is never further ahead.
pub const MAX_TOLERANCE_MS: u64 = 5_000;

/// A lease shorter than a second, or than three ticks, would end between two renewals.
const MIN_TTL: Duration = Duration::from_secs(1);
const MIN_TTL_TICKS: u64 = 3;

/// Makes a [`Handle`]: see [`Handle::builder`].
#[derive(Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct Builder<L: AnyLayout = Randflake, P = <L as AnyLayout>::Permutation> {
    codec: Codec<L, P>,
    store: Box<dyn LeaseStore>,
    node_ids: NodeIdCount,
    chosen: Option<Box<[u32]>>,
    ttl: Duration,
    tolerance: u32,
    holder: Option<String>,
    generation: Generation,
    waiting: Waiting,
}

impl Handle<Randflake> {
    /// A builder of a handle for Randflake ids under a secret, with leases from a store.
    pub fn builder(secret: &Secret, store: impl LeaseStore + 'static) -> Builder {
        Builder::new(Randflake, secret.cipher(), store)
    }
}

impl<L: AnyLayout, P: Permutation + Send + Sync + 'static> Builder<L, P> {
    /// A builder of a handle for ids of any layout under any permutation: `Builder::new(Snowflake, Plain, store)`
    /// makes a `Handle<Snowflake>`, whose ids are plain, and `Builder::new(Snowflake, secret.cipher(), store)` a
    /// `Handle<Snowflake, Sparx64>`, whose ids are encrypted.
    pub fn new(layout: L, permutation: P, store: impl LeaseStore + 'static) -> Self {
        Self {
            codec: Codec::new(layout, permutation),
            store: Box::new(store),
            node_ids: 1.into(),
            chosen: None,
            ttl: DEFAULT_TTL,
            tolerance: 0,
            holder: None,
            generation: Generation::constant(),
            waiting: Waiting::default(),
        }
    }

    /// How many node ids to lease, 1 unless set. Each issues a full tick's sequences: 131,072 ids a
    /// second in the Randflake layout.
    ///
    /// With a range, such as `1..=64`, the number follows the load: for a service that needs one node id most of the
    /// time and many in a burst. The handle begins with the smallest number.
    ///
    /// - **More** are taken as soon as a call finds no id left of a tick: as many again as are held, in the time of one
    ///   acquire. Until then calls borrow within the [tolerance](Builder::tolerance), wait, or are refused. With ticks
    ///   of a second or longer, more are taken ahead of that when half of the ids of a tick were used: the keeper looks
    ///   ten times a second.
    /// - **Given back** are those that were not needed for one TTL: after one to two TTLs without load. What a node id
    ///   has issued is never issued again: its lease is sealed, then released from its first unused tick on.
    /// - **A namespace that is full** leaves the handle with what it has. It says so as [`Health::Short`], in
    ///   [`LeaseStatus::shortage`], an event and a metric, and asks again after a pause of a sixth of the TTL at most.
    ///
    /// All node ids are renewed in one call. One that is lost is replaced if fewer than the smallest number would be
    /// left, or when the load asks for it.
    ///
    /// Take a number instead where the load is known: then nothing is refused while the store is asked. The largest
    /// number costs 8 bytes for each node id that is not leased.
    ///
    /// ```
    /// use randflake_std::lease::{MemoryStore, Namespace};
    /// use randflake_std::{ExactSystemClock, Handle, Id, Randflake, Secret};
    /// use std::time::Duration;
    ///
    /// let store = MemoryStore::new(Namespace::new("orders", Randflake)?, ExactSystemClock.into());
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

    /// Leases these node ids and no others, such as those of a machine's address. They come from the same records
    /// as free ones, so who chooses and who takes any that is free exclude each other: while another process
    /// has one of them, the handle is refused as [`StoreError::Exhausted`]. After a crash they are free again when
    /// their leases expire. [`node_ids`](Builder::node_ids) has no effect then.
    ///
    /// ```
    /// use randflake_std::lease::{MemoryStore, Namespace, StoreError};
    /// use randflake_std::{BuildError, Builder, Plain, Sonyflake, SystemClock};
    /// use std::sync::Arc;
    ///
    /// let server = MemoryStore::new(Namespace::new("orders", Sonyflake)?, Arc::new(SystemClock));
    /// // Of 10.0.18.103; the feature `private-ip` finds out the address.
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

    /// How long a lease lasts unless it is renewed, 60 s unless set: how long issuing goes on without
    /// the store, and how long the node ids of a killed process stay taken. At least a second and
    /// three ticks, at most what the namespace allows.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// How many ticks an id may be ahead of the clock, 0 unless set: to go on when a tick is
    /// exhausted. At most 5 s.
    pub fn tolerance(mut self, ticks: u32) -> Self {
        self.tolerance = ticks;
        self
    }

    /// What the store's records call this process, `host/process id` unless set. A random number is
    /// added, so that no two processes share a name.
    ///
    /// 1 to 96 bytes without control characters. `device` and names that begin with `device/` are refused:
    /// the leases of devices have such.
    pub fn holder(mut self, name: impl Into<String>) -> Self {
        self.holder = Some(name.into());
        self
    }

    /// Watches a number that changes when a copy of this machine or process is resumed, such as
    /// [`Generation::of_virtual_machine`] or a word of the caller's. Without it two copies issue the same ids until
    /// one of them renews its lease.
    ///
    /// The number is read before a lease is acquired, and compared when an id is handed out, after it was taken. Once
    /// it has changed nothing more is issued under the leases from before, nor are they renewed or released: they
    /// may be in use by another copy. The keeper acquires others under another name; calls fail with
    /// [`GenerateError::Copied`](crate::GenerateError::Copied) until it has.
    ///
    /// What it cannot take back are ids that a caller already had when the copy was made.
    pub fn generation(mut self, number: impl Into<Generation>) -> Self {
        self.generation = number.into();
        self
    }

    /// For how long [`build`](Builder::build) goes on while the store grants nothing, instead of failing: not at all
    /// unless set.
    ///
    /// It waits for what can pass without a change of settings: too few node ids are free, the store is
    /// [quarantined](StoreError::Quarantined) or does not answer, or its clock and this machine's differ, as they may
    /// before a machine has set its own. The store is asked at least every 2.2 s, because a holder may release a lease, and
    /// an operator end a quarantine, before the store expects it. Anything else fails at once.
    ///
    /// A store's `open` fails by itself when a server cannot be reached;
    /// [`lease::deferred`](crate::lease::deferred) makes opening a part of what is waited for.
    ///
    /// It says so: with the feature `tracing` by the event `waiting for a lease`, and to
    /// [`on_wait`](Builder::on_wait). There is no handle yet whose [health](Handle::health) could be asked, so a
    /// service is not ready until `build` has returned.
    ///
    /// When the time is up the error is [`BuildError::Waited`], with the last reason.
    ///
    /// ```
    /// use randflake_std::lease::{LeaseStore, MemoryStore, Namespace, StoreError};
    /// use randflake_std::{BuildError, ExactSystemClock, Handle, Randflake, Secret};
    /// use std::time::Duration;
    ///
    /// let mut store = MemoryStore::new(Namespace::new("orders", Randflake)?, ExactSystemClock.into());
    /// store.quarantine()?; // for the longest TTL and 20 s, 320 s
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

    /// What to call when [`build`](Builder::build) begins to [wait](Builder::wait), and whenever the reason becomes
    /// another: with the reason, and how long it waits at most from now on. It is called in the thread that builds.
    pub fn on_wait(mut self, tell: impl FnMut(&StoreError, Duration) + Send + 'static) -> Self {
        self.waiting.tell = Some(Box::new(tell));
        self
    }

    /// Acquires the leases and starts the keeper.
    ///
    /// # Blocking
    ///
    /// It waits for the store: [as long as an acquire takes](crate::lease#how-long-calls-block), and if the store does not
    /// answer, for three acquires and 0.3 s. With [`wait`](Builder::wait) it goes on for that time and one acquire more. In a
    /// task call `build_async` (feature `tokio`).
    ///
    /// # Errors
    ///
    /// [`BuildError`]; no lease is held then, unless the store has granted one and its answer was lost: that one ends by
    /// itself.
    pub fn build(self) -> Result<Handle<L, P>, BuildError> {
        let (_wanted, asked) = mpsc::channel();
        self.build_while(&asked)
    }

    /// [`build`](Builder::build), until nobody wants the handle any more.
    pub(super) fn build_while(mut self, asked: &Asked) -> Result<Handle<L, P>, BuildError> {
        self.check()?;
        // First of all: a lease that nobody keeps would be held until it expires.
        let (keeper, received) = mpsc::channel::<Keeper<L, P>>();
        thread::Builder::new()
            .name("randflake-keeper".to_owned())
            .spawn(move || received.recv().into_iter().for_each(Keeper::run))
            .map_err(BuildError::Thread)?;
        let holder = self.holder.unwrap_or_else(crate::holder::process_name);
        let holder = crate::holder::unique(&holder).map_err(StoreError::unavailable)?;
        self.store.seal(Seal::of(self.codec.permutation()));
        let mut client = StoreClient::new(self.store, holder, self.ttl);
        let wanted = match &self.chosen {
            Some(chosen) => NodeIds::These(chosen),
            None => NodeIds::Any(self.node_ids.least),
        };
        let count = match &self.chosen {
            Some(_) => wanted.count().into(),
            None => self.node_ids,
        };
        let generation = self.generation.now();
        let (acquired, sent) = self.waiting.acquire(&mut client, wanted, asked)?;
        let issuers: Result<Vec<_>, _> = acquired
            .grants
            .iter()
            .map(|grant| Issuer::new(self.codec.layout(), grant, acquired.now, sent, generation))
            .collect();
        let issuers = issuers.inspect_err(|_| client.release_unused(&acquired.grants))?;
        let shared = Arc::new(Shared::new(
            issuers,
            count,
            self.codec,
            self.tolerance,
            self.generation,
            (acquired.now, sent),
        ));
        let is_chosen = self.chosen.is_some();
        let _waits_for_it = keeper.send(Keeper::new(
            Arc::clone(&shared),
            client,
            acquired.grants,
            is_chosen,
            count,
        ));
        Ok(Handle(Arc::new(Owner(shared))))
    }

    fn check(&self) -> Result<(), BuildError> {
        let spec = self.codec.layout().spec();
        let namespace = self.store.namespace();
        if namespace.spec() != spec {
            return Err(BuildError::Layout {
                namespace: namespace.name().to_owned(),
            });
        }
        let NodeIdCount { least, most } = self.node_ids;
        // A store refuses a number by itself.
        if least != most && (least == 0 || least > most || u64::from(most) > namespace.node_ids()) {
            return Err(BuildError::NodeIds {
                least,
                most,
                max: namespace.node_ids(),
            });
        }
        if let Some(name) = self.holder.as_ref().filter(|name| !is_name_allowed(name)) {
            return Err(BuildError::Holder { name: name.clone() });
        }
        if self.ttl < MIN_TTL || namespace.ticks(self.ttl) < MIN_TTL_TICKS {
            let ticks = Duration::from_millis(spec.tick_ms().saturating_mul(MIN_TTL_TICKS));
            return Err(BuildError::Ttl {
                ttl: self.ttl,
                min: MIN_TTL.max(ticks),
            });
        }
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
