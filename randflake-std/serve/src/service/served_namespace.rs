//! A namespace that is served: its ids, and its store for the leases of others.

use core::fmt::{self, Debug, Formatter};
use core::ops::RangeInclusive;
use core::time::Duration;
use std::sync::{Arc, Mutex};

use randflake_common::failure::{Failure, say, visible};
use randflake_common::layout::IdEncryption;
use randflake_std::lease::{self, KeyCheck, LeaseStore, Namespace, StoreError};
use randflake_std::randflake_core::{Cipher, Codec, LayoutSpec};
use randflake_std::{
    BuildError, Builder, DEFAULT_TTL, GenerateError, Handle, Health, Id, NodeIdCount,
};
use tokio::sync::{Semaphore, SetOnce, SetOnceError};
use tokio::task::JoinError;
use tokio::time::{Instant, timeout_at};

use super::health::NotReady;
use super::health::Recent;
use crate::access::{Principal, Turns, Work};
use crate::counters::Count;
use crate::lock::lock;
use crate::refusal::cause;
use crate::refusal::{Refusal, RefusalKind};

/// How long a request for ids waits: for the next tick, for the first lease, or for a lost one to
/// be replaced.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) type Ids = Handle<LayoutSpec, Option<Cipher>>;
/// Opens the store of a namespace, as often as it is called: after a failure the server may be
/// back.
pub type StoreOpener = Box<dyn Fn() -> Result<LeaseStore, StoreError> + Send + Sync>;

/// A served namespace: its ids, and its store for the leases of others.
pub struct ServedNamespace {
    namespace: Namespace,
    codec: Codec<LayoutSpec, Option<Cipher>>,
    open: StoreOpener,
    /// Set once the store has granted leases.
    ids: SetOnce<Ids>,
    /// How many node ids, the highest ones, its clients are not granted.
    reserved: u32,
    changes: StoreSessions,
    reads: StoreSessions,
    /// Why the store has not granted the first leases.
    waiting: Mutex<Option<NotReady>>,
    /// What was said of the store last, and when.
    logged: Mutex<Option<(String, Instant)>>,
    pub(crate) issued: Count,
    pub(crate) recent: Recent,
}

impl Debug for ServedNamespace {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServedNamespace")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

/// How a handle leases its node ids.
#[derive(Clone, Debug)]
pub struct Leasing {
    /// How many node ids, from the first number up to the second as clients ask for ids.
    pub node_ids: RangeInclusive<u32>,
    /// How long leases last. Unless it is given, as long as usual, or as three ticks if those are
    /// longer.
    pub ttl: Option<Duration>,
    /// What the leases call this server; host and process id unless given.
    pub holder: Option<String>,
}

impl ServedNamespace {
    /// A namespace whose leases are not acquired yet. Ids are plain without a cipher.
    #[must_use]
    pub fn new(namespace: Namespace, cipher: Option<Cipher>, open: StoreOpener) -> Self {
        Self {
            codec: Codec::new(namespace.spec(), cipher),
            reserved: reserved(namespace.node_ids()),
            namespace,
            open,
            ids: SetOnce::new(),
            changes: StoreSessions::new(Work::Change),
            reads: StoreSessions::new(Work::Read),
            waiting: Mutex::default(),
            logged: Mutex::default(),
            issued: Count::default(),
            recent: Recent::default(),
        }
    }

    /// Keeps so many node ids for servers: clients of servers are not granted the highest ones.
    ///
    /// # Errors
    ///
    /// [`Failure`] if the namespace has no more than these.
    pub fn reserving(self, reserved: u32) -> Result<Self, Failure> {
        let total = self.namespace.node_ids();
        if u64::from(reserved) >= total {
            return Err(Failure::usage(format!(
                "--reserved-node-ids {reserved}: namespace {:?} has {total} node ids: fewer than that are allowed",
                self.name()
            )));
        }
        Ok(Self { reserved, ..self })
    }

    /// Which node ids a client may be granted.
    pub(crate) fn leasable(&self, principal: &Principal) -> Result<RangeInclusive<u32>, Refusal> {
        // A layout has at most 2^32, of which one at least is not reserved.
        let last = self.namespace.spec().max_node_id() - self.reserved;
        let (first, last) = match principal.node_ids() {
            Some(own) => (*own.start(), last.min(*own.end())),
            None => (0, last),
        };
        if first <= last {
            return Ok(first..=last);
        }
        Err(Refusal::new(
            RefusalKind::Forbidden,
            format!(
                "the token {:?} may lease node ids from {first} on, and those from {} on are the servers' own \
                 (--reserved-node-ids)",
                principal.name(),
                last + 1
            ),
        ))
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.namespace.name()
    }

    /// Its terms.
    #[must_use]
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Check value of the key that encrypts its ids.
    #[must_use]
    pub fn key_check(&self) -> KeyCheck {
        KeyCheck::of(self.codec.permutation())
    }

    pub(crate) fn codec(&self) -> &Codec<LayoutSpec, Option<Cipher>> {
        &self.codec
    }

    pub(crate) fn form(&self) -> IdEncryption {
        IdEncryption::of_cipher(self.codec.permutation().as_ref())
    }

    /// Refuses what is no id of the namespace's form.
    pub(crate) fn check(&self, id: Id) -> Result<(), Refusal> {
        self.form().check(id).map_err(Refusal::invalid)
    }

    /// The handle, once it has leases.
    pub(crate) fn handle(&self) -> Option<&Ids> {
        self.ids.get()
    }

    /// `None` until the store has granted leases for the first time.
    pub(crate) fn health(&self) -> Option<Health> {
        self.handle().map(Handle::health)
    }

    /// Why no ids are issued; `None` if they are.
    pub(crate) fn not_ready(&self) -> Option<NotReady> {
        match self.health() {
            Some(health) => NotReady::of(&health),
            None => Some(
                lock(&self.waiting)
                    .clone()
                    .unwrap_or_else(NotReady::starting),
            ),
        }
    }

    /// Acquires the first leases, however long the store takes. Fails if waiting does not help.
    pub(crate) async fn start(
        self: &Arc<Self>,
        leasing: &Leasing,
        mut tell: impl FnMut(&StoreError, Duration) + Send + 'static,
    ) -> Result<(), BuildError> {
        /// Longer than any service runs, and short enough for every clock.
        const FOREVER: Duration = Duration::from_secs(100 * 366 * 24 * 3600);
        let (opened, waiting) = (Arc::clone(self), Arc::clone(self));
        // Opened by the build: a server that cannot be reached is waited for, as one that refuses
        // is.
        let store = lease::deferred(&self.namespace, move |_| (opened.open)());
        let cipher = self.codec.permutation().clone();
        let most = u32::try_from(self.namespace.node_ids()).unwrap_or(u32::MAX);
        let (least, limit) = (*leasing.node_ids.start(), *leasing.node_ids.end());
        // Cut to what the layout has: the default of 64 must not stop a namespace of 16 node ids.
        let node_ids: NodeIdCount = if limit.min(most) == least {
            least.into()
        } else {
            (least..=limit.min(most)).into()
        };
        // A keeper renews after a third of the TTL, which has to be a tick at least.
        let shortest = Duration::from_millis(self.namespace.spec().tick_ms().saturating_mul(3));
        let builder = Builder::new(self.namespace.spec(), cipher, store)
            .node_ids(node_ids)
            .ttl(leasing.ttl.unwrap_or(DEFAULT_TTL.max(shortest)))
            .wait(FOREVER)
            .on_wait(move |error, limit| {
                *lock(&waiting.waiting) = Some(NotReady::of_store(error));
                tell(error, limit);
            });
        let builder = match &leasing.holder {
            Some(name) => builder.holder(name),
            None => builder,
        };
        let handle = builder.build_async().await?;
        if let Err(SetOnceError(second)) = self.ids.set(handle) {
            // It was started before, and those leases are used.
            _ = second.close_async().await;
        }
        Ok(())
    }

    /// Fills the whole buffer, and waits for that if need be.
    pub(crate) async fn fill(&self, ids: &mut [Id], patience: Duration) -> Result<(), Refusal> {
        let limit = Instant::now() + patience;
        let handle = self.ready(limit).await?;
        // Without a timer where all are there at once, which is nearly always. Its error comes
        // again from the wait.
        let mut done = handle.fill(ids).unwrap_or_default();
        while done < ids.len() {
            let left = limit.saturating_duration_since(Instant::now());
            let filled = handle.fill_wait_async(&mut ids[done..], left).await;
            // What was filled so far is lost then: gaps are allowed, and a client expects all or
            // none.
            done += filled.map_err(|error| self.refusal(&error))?;
        }
        self.issued.add(ids.len() as u64);
        Ok(())
    }

    /// One id, at once. `None`: ask [`fill`](Self::fill), which waits or says why there is none.
    pub(crate) fn next(&self) -> Option<Id> {
        self.handle()?.generate().ok()
    }

    /// The handle. Before the first leases it waits for them: a socket of systemd's takes clients
    /// before the server is there.
    async fn ready(&self, limit: Instant) -> Result<&Ids, Refusal> {
        if let Some(handle) = self.handle() {
            return Ok(handle);
        }
        let waiting = lock(&self.waiting).clone();
        // A quarantine, or a namespace that is full, lasts longer than a client waits.
        let is_long = waiting.is_some_and(|reason| reason.is_of_namespace);
        let granted = if is_long {
            None
        } else {
            timeout_at(limit, self.ids.wait()).await.ok()
        };
        granted.ok_or_else(|| {
            let name = self.name();
            let message =
                format!("namespace {name:?} is starting: its store has not granted a lease yet");
            Refusal::new(RefusalKind::Unavailable, message)
        })
    }

    fn refusal(&self, error: &GenerateError) -> Refusal {
        let mut refusal = Refusal::from(error);
        let status = self.handle().map(Handle::lease);
        // The cause alone: the store's own message may name its host.
        if let Some(error) = status.and_then(|status| status.last_error.or(status.shortage)) {
            refusal.message = format!("{}; {}", refusal.message, cause(&error));
        }
        refusal
    }

    /// Changes leases, in a thread that may block.
    pub(crate) async fn with_store<T: Send + 'static>(
        self: &Arc<Self>,
        principal: &Principal,
        work: impl FnOnce(&mut LeaseStore) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        self.in_session(principal.turns(), Work::Change, work).await
    }

    /// As [`with_store`](Self::with_store), where only some node ids may be granted.
    pub(crate) async fn grant_within<T: Send + 'static>(
        self: &Arc<Self>,
        principal: &Principal,
        node_ids: RangeInclusive<u32>,
        work: impl FnOnce(&mut LeaseStore) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        self.with_store(principal, move |store| {
            // Sessions are used in turns: who had this one before may have had others.
            store.lease_within(node_ids);
            work(store)
        })
        .await
    }

    /// Looks at what the store has, in a thread that may block and in sessions of its own. `None`:
    /// the server itself does.
    pub(crate) async fn read_store<T: Send + 'static>(
        self: &Arc<Self>,
        principal: Option<&Principal>,
        work: impl FnOnce(&mut LeaseStore) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let turns = principal.and_then(Principal::turns);
        self.in_session(turns, Work::Read, work).await
    }

    fn sessions(&self, kind: Work) -> &StoreSessions {
        match kind {
            Work::Change => &self.changes,
            Work::Read => &self.reads,
        }
    }

    async fn in_session<T: Send + 'static>(
        self: &Arc<Self>,
        turns: Option<&Turns>,
        kind: Work,
        work: impl FnOnce(&mut LeaseStore) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let busy = |_| {
            let message = "the lease store is busy with other requests: try again";
            Refusal::new(RefusalKind::Busy, message).retry_in(Duration::from_secs(1))
        };
        let limit = Instant::now() + PATIENCE;
        // First: who waits for its own turn holds up nobody.
        let turn = match turns {
            Some(turns) => timeout_at(limit, turns.take(kind)).await.map_err(busy)?,
            None => None,
        };
        // Sessions are few, because each is a connection of the database. The wait is as long for
        // both together.
        let at_once = Arc::clone(&self.sessions(kind).at_once);
        let acquired = timeout_at(limit, at_once.acquire_owned()).await;
        let permit = acquired.map_err(busy)?.map_err(|_| stopping())?;
        let space = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || {
            // Moved in: if the client has gone, the future is dropped and the store works on, and
            // until then another request must not count on this session.
            let _permits = (permit, turn);
            // The permit stands for a session: there are never more of them than permits.
            let idle = lock(&space.sessions(kind).idle).pop();
            let mut store = idle.map_or_else(|| space.session(), Ok)?;
            // After a panic the session is dropped with whatever state it has.
            let done = work(&mut store);
            // Also after a refusal, for the next request: a store whose connection broke makes
            // another one.
            lock(&space.sessions(kind).idle).push(store);
            if let Err(Refusal {
                detail: Some(detail),
                ..
            }) = &done
            {
                space.log(detail);
            }
            done
        });
        done.await.unwrap_or_else(|ended| Err(self.not_done(ended)))
    }

    /// Work that ended before its end: by a panic, or because the runtime is ending.
    pub(crate) fn not_done(&self, ended: JoinError) -> Refusal {
        let Ok(panic) = ended.try_into_panic() else {
            return stopping();
        };
        let formatted = panic.downcast_ref::<String>().map(String::as_str);
        let text = formatted.or_else(|| panic.downcast_ref::<&str>().copied());
        let name = self.name();
        say(&format!(
            "error: work with the store of namespace {name:?} panicked, which is a defect of the server: {}",
            visible(text.unwrap_or("without a message"))
        ));
        let message =
            "a defect of the server: its log says more; whether it did what was asked is unknown";
        Refusal::new(RefusalKind::Internal, message)
    }

    /// Says what a client was not told: the same once in a minute.
    fn log(&self, detail: &str) {
        // Clients that try again would fill the log with the same line.
        const PAUSE: Duration = Duration::from_secs(60);
        let mut last = lock(&self.logged);
        let now = Instant::now();
        if let Some((said, when)) = &*last
            && said == detail
            && now - *when < PAUSE
        {
            return;
        }
        say(&format!("warning: namespace {:?}: {detail}", self.name()));
        *last = Some((detail.to_owned(), now));
    }

    fn session(&self) -> Result<LeaseStore, Refusal> {
        let mut store = (self.open)()?;
        // As the server's own leases: a namespace that was made anew with another key is refused,
        // not filled.
        store.set_key_check(KeyCheck::of(self.codec.permutation()));
        // What clients present proves nothing about the store: a forged lease must not stop a
        // fleet.
        store.act_as_proxy();
        Ok(store)
    }

    /// Stops issuing, and releases the leases.
    pub(crate) async fn close(&self) -> Result<(), StoreError> {
        match self.handle() {
            Some(handle) => handle.close_async().await,
            // Nothing was granted yet, and a build that still waits has been dropped.
            None => Ok(()),
        }
    }
}

/// How many node ids servers keep for themselves unless it is set: a sixteenth, and no more than a
/// fleet of servers needs, which is 16 servers of 64 node ids each.
fn reserved(total: u64) -> u32 {
    const MOST: u64 = 1_024;
    if total <= 1 {
        return 0;
    }
    u32::try_from(total.div_ceil(16).min(MOST)).unwrap_or_default()
}

fn stopping() -> Refusal {
    Refusal::new(RefusalKind::Unavailable, "the server is stopping")
}

/// Idle sessions, and how many may be in use.
pub(super) struct StoreSessions {
    pub(super) idle: Mutex<Vec<LeaseStore>>,
    pub(super) at_once: Arc<Semaphore>,
}

impl StoreSessions {
    pub(super) fn new(work: Work) -> Self {
        Self {
            idle: Mutex::default(),
            at_once: Arc::new(Semaphore::new(work.sessions())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use randflake_std::lease::MemoryStore;
    use randflake_std::randflake_core::Layout as _;
    use randflake_std::{Randflake, SystemClock};
    use tokio::task::JoinSet;

    use super::*;

    fn space() -> Arc<ServedNamespace> {
        let namespace = Namespace::new("orders", Randflake::SPEC).unwrap();
        let store = MemoryStore::new(namespace.clone(), Arc::new(SystemClock));
        Arc::new(ServedNamespace::new(
            namespace,
            None,
            Box::new(move || Ok(store.clone().into())),
        ))
    }

    #[tokio::test]
    async fn work_that_panics_is_a_defect_and_leaves_the_store_to_others() {
        let (space, principal) = (space(), Principal::anybody());
        // More often than there are sessions.
        for _ in 0..10 {
            let panicking = space.with_store::<()>(&principal, |_| panic!("the test does"));
            let refusal = panicking.await.unwrap_err();
            assert_eq!(
                (refusal.kind, refusal.kind.http()),
                (RefusalKind::Internal, 500)
            );
        }
        space.with_store(&principal, |_| Ok(())).await.unwrap();
    }

    #[tokio::test]
    async fn there_is_a_session_for_others_however_much_one_token_asks() {
        let space = space();
        let [greedy, other] = ["greedy", "other"].map(|name| {
            let line = format!(
                "name={name} sha256={} scopes=leases namespaces=*",
                "0".repeat(64)
            );
            Arc::new(Principal::new(line.parse().unwrap(), None))
        });
        let (end, ended) = mpsc::channel::<()>();
        let ended = Arc::new(Mutex::new(ended));
        let mut working = JoinSet::new();
        for _ in 0..20 {
            let (space, greedy) = (Arc::clone(&space), Arc::clone(&greedy));
            let ended = Arc::clone(&ended);
            working.spawn(async move {
                let until_the_end = move |_: &mut LeaseStore| {
                    _ = ended.lock().unwrap().recv();
                    Ok(())
                };
                _ = space.with_store(&greedy, until_the_end).await;
            });
        }
        // All of them have asked.
        tokio::task::yield_now().await;
        space.with_store(&other, |_| Ok(())).await.unwrap();
        drop(end);
        working.join_all().await;
    }
}
