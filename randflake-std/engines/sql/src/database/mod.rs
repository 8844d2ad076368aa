//! One namespace in a database on a server: one session after the other, each operation within a
//! time limit.

mod catalog;
mod engine;

use core::fmt::{self, Debug, Formatter};
use core::mem;
use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::panic;
use std::time::Instant;

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use crate::connect::first_that_answers;
use crate::driver::{DatabaseSession, Driver};
use crate::failure::DatabaseFailure;
use crate::runtime::{StoreRuntime, ended};
use crate::server_state::emptied;
use crate::values::check_version;
use randflake_lease::unstable::net::ExpectedPeer;
use randflake_lease::unstable::net::{Addresses, Attempt};
use randflake_lease::unstable::url::Location;
use randflake_lease::{EngineError, Namespace, StoreError};

/// How long a server may take to answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(3);
/// How long it may take to make the tables, or to wait for another who does.
// Above the 15 s that MySQL's `GET_LOCK` waits, so that the error says who is waited for.
const SETUP_LIMIT: Duration = Duration::from_secs(20);
/// A kept connection that was idle for this long may have ended without a sign.
// No server or proxy ends connections sooner: they could not be used.
const IDLE: Duration = Duration::from_secs(1);

/// One namespace in a database on a server: the engine of `PostgresStore` and `MysqlStore`. A
/// connection that was lost is replaced by the next operation.
pub struct Database<D: Driver> {
    /// Driver and session; none during an operation.
    // Before the runtime, which its socket belongs to.
    client: Option<DatabaseClient<D>>,
    runtime: StoreRuntime,
    place: String,
    url: String,
    namespace: String,
    has_own_clock: bool,
    /// How long an operation on few node ids may take.
    limit: Duration,
}

/// What an operation works with.
struct DatabaseClient<D: Driver> {
    session: Option<D::Session>,
    /// Whether the server has ever taken a connection.
    has_connected: bool,
    /// When the session was used last.
    used: Instant,
    driver: D,
    addresses: Addresses,
    namespace: String,
}

/// What an operation does on the server. It decides what follows if a kept connection has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// It is repeated on a new connection.
    Reads,
    /// It may have been done, so it is not repeated: a connection that was idle is asked first.
    Writes,
    /// It asks about the session itself: a new one could not answer.
    LooksAtSession,
}

impl<D: Driver> Database<D> {
    /// Makes the engine of a namespace, which is not connected yet.
    ///
    /// # Errors
    ///
    /// [`EngineError`] if the runtime of the store cannot be made.
    pub fn over(
        driver: D,
        location: &Location,
        namespace: &Namespace,
    ) -> Result<Self, EngineError> {
        let has_own_clock = driver.has_own_clock();
        let client = DatabaseClient {
            session: None,
            has_connected: false,
            used: Instant::now(),
            driver,
            addresses: Addresses::of(location.hosts()),
            namespace: namespace.name().to_owned(),
        };
        Ok(Self {
            client: Some(client),
            runtime: StoreRuntime::new()?,
            place: place::<D>(location),
            url: location.to_string(),
            namespace: namespace.name().to_owned(),
            has_own_clock,
            limit: ANSWER_LIMIT,
        })
    }

    /// Operations under a TTL follow: each is so short that it can be tried again in time.
    pub fn limit_for(&mut self, ttl: Duration) {
        /// What even a busy server needs.
        const SHORTEST: Duration = Duration::from_millis(500);
        // A renewal begins after a third of the TTL. The rest has room for some tries and the
        // pauses between them.
        const TRIES_PER_TTL: u32 = 6;
        self.limit = (ttl / TRIES_PER_TTL).clamp(SHORTEST, ANSWER_LIMIT);
    }

    /// Whether the session that was kept has ended. It is dropped then.
    fn has_closed_session(&mut self) -> bool {
        let has_session = self
            .client
            .as_ref()
            .is_some_and(|client| client.session.is_some());
        // An inherited connection is the parent's to look at; the next operation here makes
        // another.
        if !has_session || self.runtime.is_inherited() {
            return false;
        }
        let look = async |client: &mut DatabaseClient<D>| {
            let Some(session) = &mut client.session else {
                return Ok(false);
            };
            let is_open = session.is_open().await;
            if !is_open {
                client.session = None;
            }
            Ok(!is_open)
        };
        self.work(look).unwrap_or(false)
    }

    fn has_open_session(&mut self) -> bool {
        let client = self.client.as_ref();
        let has_session = client.is_some_and(|client| client.session.is_some());
        has_session && !self.runtime.is_inherited() && !self.has_closed_session()
    }

    /// Runs an operation on some texts of the namespace.
    fn run<T: Send + 'static>(
        &mut self,
        texts: usize,
        effect: Effect,
        operation: impl AsyncFn(&mut D::Session) -> Result<T, DatabaseFailure> + Send + 'static,
    ) -> Result<T, EngineError> {
        let texts = u32::try_from(texts).unwrap_or(u32::MAX);
        // More time for many texts: a search for a free node id reads 4,096 at once.
        let limit = self.limit + Duration::from_micros(100) * texts;
        self.work(async move |client: &mut DatabaseClient<D>| {
            client.operate(limit, effect, &operation).await
        })
    }

    /// Waits for some work with the client.
    fn work<T: Send + 'static>(
        &mut self,
        work: impl AsyncFnOnce(&mut DatabaseClient<D>) -> Result<T, DatabaseFailure> + Send + 'static,
    ) -> Result<T, EngineError> {
        if self.runtime.is_inherited() {
            let runtime = StoreRuntime::new()?;
            if let Some(client) = &mut self.client {
                // To drop it would say goodbye on the parent's connection.
                mem::forget(client.session.take());
            }
            self.runtime = runtime;
        }
        // Before the client is taken: if no thread can be started, it must not be lost.
        self.runtime.prepare()?;
        let mut client = self.client.take().ok_or_else(ended)?;
        // The client moves with the work, which may run in another thread, and comes back with its
        // outcome, after a panic too.
        let done = self.runtime.wait(move |runtime| {
            // On the helper a panic would end the thread, and all later calls with it.
            let work = AssertUnwindSafe(|| runtime.block_on(work(&mut client)));
            let outcome = panic::catch_unwind(work);
            (client, outcome)
        });
        let (client, outcome) = done?;
        self.client = Some(client);
        // Only now, with the client back in its place: a caller that catches the panic may go on.
        let outcome = outcome.unwrap_or_else(|payload| panic::resume_unwind(payload));
        outcome.map_err(|failure| failure.at(&self.place))
    }
}

impl<D: Driver> DatabaseClient<D> {
    async fn operate<T>(
        &mut self,
        limit: Duration,
        effect: Effect,
        operation: &impl AsyncFn(&mut D::Session) -> Result<T, DatabaseFailure>,
    ) -> Result<T, DatabaseFailure> {
        let mut open = self.kept_session(limit, effect).await;
        loop {
            // A new connection that fails at once will not do better again.
            let is_last = open.is_none() || effect != Effect::Reads;
            let mut session = match open.take() {
                Some(session) => session,
                None => self.open_session().await?,
            };
            // Without a limit a server that hangs would hang the keeper past the end of its leases.
            let answer = timeout(limit, operation(&mut session)).await;
            let outcome = answer.unwrap_or_else(|elapsed| Err(elapsed.into()));
            match outcome {
                Err(failure) if !is_last && failure.is_of_the_connection() => {}
                outcome => {
                    if outcome.as_ref().is_err_and(DatabaseFailure::is_silence) {
                        self.addresses.is_silent();
                    }
                    self.used = Instant::now();
                    // After any other error an answer may still be on its way.
                    let is_kept = outcome
                        .as_ref()
                        .map_or_else(DatabaseFailure::is_of_the_store, |_| true);
                    self.session = is_kept.then_some(session);
                    return outcome;
                }
            }
        }
    }

    /// The session that was kept, if it still works.
    async fn kept_session(&mut self, limit: Duration, effect: Effect) -> Option<D::Session> {
        // Taken out, so that a panic in the operation drops it with what may still be on its way.
        let mut session = self.session.take()?;
        if !session.is_open().await {
            return None;
        }
        // Not every end is seen from here: a firewall forgets a connection without a word, and the
        // client of MySQL does not tell. A renewal that fails because of it would count as an
        // outage.
        if effect == Effect::Writes && self.used.elapsed() >= IDLE {
            let answer = timeout(limit / 2, session.has_same_tables()).await;
            answer.ok()?.ok()?;
        }
        Some(session)
    }

    async fn connect(&mut self) -> Result<D::Session, DatabaseFailure> {
        let Self {
            driver,
            addresses,
            namespace,
            ..
        } = self;
        let connect =
            async |attempt: &Attempt| D::Session::connect(driver, attempt, namespace).await;
        let connected = first_that_answers(addresses, ANSWER_LIMIT, connect).await;
        self.has_connected |= connected.is_ok();
        // A server that has been there was the right one.
        if self.has_connected {
            return connected;
        }
        let expected = self.driver.expected();
        connected.map_err(|failure| failure.or_mistake(|| ExpectedPeer::mistake_of_all(expected)))
    }

    async fn open_session(&mut self) -> Result<D::Session, DatabaseFailure> {
        let mut session = self.connect().await?;
        // Longer: making the tables waits for others who make them.
        let done = timeout(SETUP_LIMIT, set_up(&mut session, &self.driver)).await;
        done.inspect_err(|_| self.addresses.is_silent())??;
        Ok(session)
    }
}

/// Connects, and runs some work that is not a store's.
///
/// # Errors
///
/// [`StoreError`] of the URL, the server, and the work.
pub fn once<D: Driver, C, T>(
    location: &Location,
    connect: &impl AsyncFn(&D, &Attempt) -> Result<C, DatabaseFailure>,
    work: impl AsyncFnOnce(C) -> Result<T, DatabaseFailure>,
) -> Result<T, StoreError> {
    const CONNECT_LIMIT: Duration = Duration::from_secs(10);
    /// With a wait for the locks of others.
    const WORK_LIMIT: Duration = Duration::from_secs(60);
    let driver = D::of(location)?;
    let mut addresses = Addresses::of(location.hosts());
    let runtime = Builder::new_current_thread().enable_all().build();
    let done = runtime.map_err(EngineError::unavailable)?.block_on(async {
        let connect = async |attempt: &Attempt| connect(&driver, attempt).await;
        let connected = first_that_answers(&mut addresses, CONNECT_LIMIT, connect).await;
        let client = connected.map_err(|failure| {
            failure.or_mistake(|| ExpectedPeer::mistake_of_all(driver.expected()))
        })?;
        timeout(WORK_LIMIT, work(client)).await?
    });
    done.map_err(|failure: DatabaseFailure| failure.at(&place::<D>(location)).into())
}

fn place<D: Driver>(location: &Location) -> String {
    format!("{} at {}", D::PLACE, location.address)
}

/// Makes what is missing, and checks what is there.
async fn set_up<S: DatabaseSession>(
    session: &mut S,
    driver: &S::Driver,
) -> Result<(), DatabaseFailure> {
    // First: under another `search_path`, even the check of the tables in PostgreSQL could run
    // functions of other users.
    session.prepare(driver).await?;
    if !is_made(session).await? {
        session.make().await?;
        // Another user may have been quicker, and `make` keeps what is there: so it is checked too.
        if !is_made(session).await? {
            return Err(emptied());
        }
    }
    session.enter().await
}

/// Whether there are tables, which can be used.
async fn is_made<S: DatabaseSession>(session: &mut S) -> Result<bool, DatabaseFailure> {
    if let Some(sentence) = session.distrust().await? {
        return Err(EngineError::failed_precondition(sentence).into());
    }
    match session.ask(S::VERSION, &[]).await {
        // The table that has the version is not there.
        Err(failure) if failure.is_overtaken() => Ok(false),
        row => {
            // A version that is no number counts as the newest, and is refused.
            let version = row?.map(|row| row.concat().parse().unwrap_or(u64::MAX));
            version.map(check_version).transpose()?;
            // Tables without their row count as not made: MySQL's `make` puts one there, with a new
            // number.
            Ok(version.is_some())
        }
    }
}

impl<D: Driver> Drop for Database<D> {
    fn drop(&mut self) {
        let session = self.client.take().and_then(|client| client.session);
        let Some(session) = session else {
            return;
        };
        if self.runtime.is_inherited() {
            return mem::forget(session);
        }
        // A server counts and logs connections that end without one.
        let goodbye = async || timeout(ANSWER_LIMIT, session.close()).await;
        let _gone_already = self
            .runtime
            .wait(|runtime: &Runtime| runtime.block_on(goodbye()));
    }
}

impl<D: Driver> Debug for Database<D> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database")
            .field("place", &self.place)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}
