//! What the stores in databases have in common: one session after the other, each operation within a time limit.

mod failure;
mod runtime;
mod values;

use core::fmt::{self, Debug, Formatter};
use core::mem;
use core::time::Duration;

use tokio::time::timeout;

pub(super) use self::failure::{Failure, changed, pooled};
use self::runtime::Blocking;
pub(super) use self::values::{Only, check_version, count, expected, key, time, window};
use super::{EngineError, Namespace};

/// How long a server may take to answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(3);
/// How long it may take to make the tables, or to wait for another who does.
const SETUP_LIMIT: Duration = Duration::from_secs(20);

/// A connection to a server.
pub(super) trait Session: Sized + Send {
    /// Where the server is, and what its sessions have in common.
    type Target: Send;

    async fn connect(target: &Self::Target) -> Result<Self, Failure>;

    /// Makes what is missing, and checks what is there.
    async fn set_up(&mut self, target: &mut Self::Target) -> Result<(), Failure>;

    /// Whether it still works, as far as is known without a round trip.
    async fn is_open(&mut self) -> bool;

    /// Says goodbye.
    async fn close(self);
}

/// A server's database, as one store uses it.
pub(super) struct Database<S: Session> {
    // Before the runtime, which its socket belongs to.
    session: Option<S>,
    runtime: Blocking,
    target: S::Target,
    place: String,
    namespace: String,
    /// How long an operation on few node ids may take.
    limit: Duration,
}

impl<S: Session> Database<S> {
    /// One that is not connected yet.
    pub(super) fn new(
        target: S::Target,
        place: String,
        namespace: &Namespace,
    ) -> Result<Self, EngineError> {
        Ok(Self {
            session: None,
            runtime: Blocking::new()?,
            target,
            place,
            namespace: namespace.name().to_owned(),
            limit: ANSWER_LIMIT,
        })
    }

    /// What it is and where, for errors.
    pub(super) fn place(&self) -> String {
        self.place.clone()
    }

    /// Operations under a TTL follow: each is so short that it can be tried again in time.
    pub(super) fn limit_for(&mut self, ttl: Duration) {
        /// What even a busy server needs.
        const SHORTEST: Duration = Duration::from_millis(500);
        const TRIES_PER_TTL: u32 = 6;
        self.limit = (ttl / TRIES_PER_TTL).clamp(SHORTEST, ANSWER_LIMIT);
    }

    /// Runs an operation that only reads some texts of a namespace. Where the connection that was open fails, it is
    /// repeated on a new one.
    pub(super) fn read<T: Send>(
        &mut self,
        texts: usize,
        operation: impl AsyncFn(&mut S, &str) -> Result<T, Failure> + Sync,
    ) -> Result<T, EngineError> {
        let outcome = self.run(texts, true, operation);
        outcome.map_err(|failure| failure.at(&self.place))
    }

    /// Runs an operation that writes. It is not repeated: it may have been done.
    pub(super) fn write<T: Send>(
        &mut self,
        texts: usize,
        operation: impl AsyncFn(&mut S, &str) -> Result<T, Failure> + Sync,
    ) -> Result<T, EngineError> {
        let outcome = self.run(texts, false, operation);
        outcome.map_err(|failure| failure.at(&self.place))
    }

    fn run<T: Send>(
        &mut self,
        texts: usize,
        only_reads: bool,
        operation: impl AsyncFn(&mut S, &str) -> Result<T, Failure> + Sync,
    ) -> Result<T, Failure> {
        if self.runtime.is_inherited() {
            mem::forget(self.session.take());
            self.runtime = Blocking::new()?;
        }
        let texts = u32::try_from(texts).unwrap_or(u32::MAX);
        let limit = self.limit + Duration::from_micros(100) * texts;
        let mut work = async || {
            let mut open = self.session.take();
            if let Some(session) = &mut open
                && !session.is_open().await
            {
                open = None;
            }
            loop {
                let is_last = open.is_none() || !only_reads;
                let mut session = match open.take() {
                    Some(session) => session,
                    None => open_session::<S>(&mut self.target).await?,
                };
                let answer = timeout(limit, operation(&mut session, &self.namespace)).await;
                let outcome = answer.unwrap_or_else(|elapsed| Err(elapsed.into()));
                match outcome {
                    Err(failure) if !is_last && failure.is_of_the_connection() => {}
                    outcome => {
                        let is_kept = outcome
                            .as_ref()
                            .map_or_else(Failure::is_of_the_store, |_| true);
                        self.session = is_kept.then_some(session);
                        return outcome;
                    }
                }
            }
        };
        self.runtime.wait(|runtime| runtime.block_on(work()))?
    }
}

async fn open_session<S: Session>(target: &mut S::Target) -> Result<S, Failure> {
    let mut session = timeout(ANSWER_LIMIT, S::connect(target)).await??;
    timeout(SETUP_LIMIT, session.set_up(target)).await??;
    Ok(session)
}

impl<S: Session> Drop for Database<S> {
    fn drop(&mut self) {
        let Some(session) = self.session.take() else {
            return;
        };
        if self.runtime.is_inherited() {
            return mem::forget(session);
        }
        let goodbye = async || timeout(ANSWER_LIMIT, session.close()).await;
        let _gone_already = self.runtime.wait(|runtime| runtime.block_on(goodbye()));
    }
}

impl<S: Session> Debug for Database<S> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database")
            .field("place", &self.place)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}
