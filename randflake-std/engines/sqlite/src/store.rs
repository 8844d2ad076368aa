//! The SQLite engine, and the public type `SqliteStore`.

use core::fmt::{self, Debug, Formatter};
use core::time::Duration;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use randflake_core::Clock;
use randflake_lease::unstable::engine::{
    Ask, Engine, LOOK_AT_FILES_EVERY, Look, Profile, Reading, Removal, Write, WriteOutcome,
    read_clock,
};
use randflake_lease::unstable::file::volume;
use randflake_lease::unstable::url::{Location, Registration, Scheme};
use randflake_lease::{EngineError, ExactSystemClock, Finding, LeaseStore, Namespace, StoreError};

use crate::failure::Failure;
use crate::place::SqlitePath;
use crate::seen::Seen;
use crate::session::{PATIENCE, SqliteSession};

const VANISHES: &str = "the leases vanish with it, and each container of an image has its own: then two grant the same \
                        ids; mount a persistent volume that all of them share";

/// A store of leases and counters in an SQLite database, shared by the processes of one machine.
///
/// Its constructors return a [`LeaseStore`]. The [documentation of the crate](crate) says which
/// rights and settings it needs, which losses it notices and which it does not.
///
/// ```
/// use randflake_lease::{AcquireRequest, Namespace, NodeIds, QuarantineCause, StoreError, Token};
/// use randflake_sqlite::SqliteStore;
/// use randflake_core::Randflake;
///
/// # let folder = std::env::temp_dir().join(format!("randflake-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("leases.db");
/// let namespace = Namespace::new("orders", Randflake)?;
/// let mut store = SqliteStore::open(&path, &namespace)?;
/// let token = Token::random()?;
/// let request = AcquireRequest { token, holder: "example", nodes: NodeIds::Any(1), ttl: 60 };
/// let acquired = loop {
///     match store.acquire(&request) {
///         // The store was made just now; a `Builder` waits by itself.
///         Err(StoreError::Quarantined { retry_in, quarantine }) if quarantine.cause == QuarantineCause::Young => {
///             std::thread::sleep(retry_in);
///         }
///         acquired => break acquired?,
///     }
/// };
/// assert!(acquired.grants[0].node_id < 131_072);
/// store.release(&acquired.grants)?;
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SqliteStore;

/// An SQLite database with the leases and counters of one namespace, among others.
pub(crate) struct Sqlite {
    place: SqlitePath,
    namespace: String,
    clock: Arc<dyn Clock + Send + Sync>,
    /// The database as this process saw it: it tells of a store that lost its lock file too.
    seen: Seen,
    /// Open transaction, from a read to its write.
    session: Option<SqliteSession>,
    /// How long to wait for others.
    patience: Duration,
}

impl SqliteStore {
    /// Opens the store at a path, creating the file if it is not there. Its directory must be
    /// there: in the place of a volume that was not mounted, or at a mistyped path, would be a
    /// second store.
    ///
    /// It blocks: see [how long](randflake_lease#how-long-calls-block).
    ///
    /// # Errors
    ///
    /// [`StoreError::FailedPrecondition`] when the file is another program's, a newer version's, a
    /// copy of a store that is still there, damaged, or may not be written, when it or its
    /// directory belongs to another user, is missing, or others may write to it, when the file is
    /// mounted alone, and when it has the namespace with other terms. [`StoreError::Unavailable`]
    /// when the disk fails, or another process does not let go of the lock for 10 s.
    pub fn open(path: impl AsRef<Path>, namespace: &Namespace) -> Result<LeaseStore, StoreError> {
        Self::open_with_clock(path, namespace, Arc::new(ExactSystemClock))
    }

    /// [`open`](SqliteStore::open) with another clock than the operating system's, for tests and
    /// simulations.
    ///
    /// # Errors
    ///
    /// As for [`open`](SqliteStore::open).
    pub fn open_with_clock(
        path: impl AsRef<Path>,
        namespace: &Namespace,
        clock: Arc<impl Clock + Send + Sync + 'static>,
    ) -> Result<LeaseStore, StoreError> {
        let database = Sqlite {
            place: SqlitePath::resolve(path.as_ref())?,
            namespace: namespace.name().to_owned(),
            clock,
            seen: Seen::default(),
            session: None,
            patience: PATIENCE,
        };
        LeaseStore::opened(database, namespace.clone())
    }
}

impl Sqlite {
    /// The database at a path, if it is there already.
    pub(crate) fn open_existing(
        path: &Path,
        namespace: &Namespace,
    ) -> Result<Option<Self>, EngineError> {
        match path.metadata() {
            // To resolve the path would refuse a directory that is missing, and there is merely no
            // store.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            // A process that was killed at the start has left it.
            Ok(metadata) if metadata.len() == 0 => return Ok(None),
            _ => {}
        }
        Ok(Some(Self {
            place: SqlitePath::resolve(path)?,
            namespace: namespace.name().to_owned(),
            clock: Arc::new(ExactSystemClock),
            seen: Seen::default(),
            session: None,
            patience: PATIENCE,
        }))
    }

    /// Session of the last read, as long as nothing was written since; else another.
    fn session(&mut self) -> Result<SqliteSession, EngineError> {
        if let Some(session) = self.session.take() {
            return Ok(session);
        }
        let session =
            SqliteSession::begin(&self.place, &mut self.seen, self.patience, &*self.clock);
        self.at(session)
    }

    /// What failed, with the database's name; the files beside it have theirs, which begins so.
    fn at<T>(&self, outcome: Result<T, impl Into<Failure>>) -> Result<T, EngineError> {
        outcome.map_err(|error| {
            let (error, place) = (EngineError::from(error.into()), self.profile().place);
            // Both names would stand one behind the other.
            if error.to_string().starts_with(&place) {
                return error;
            }
            error.at(&place)
        })
    }
}

impl Debug for Sqlite {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sqlite")
            .field("path", &self.place.database)
            .finish_non_exhaustive()
    }
}

impl Engine for Sqlite {
    /// Under the lock nobody else looks. All begin at the same place, so that node ids leased
    /// before are leased again, and the file does not grow.
    fn profile(&self) -> Profile {
        let path = self.place.database.display().to_string();
        Profile {
            url: Some(format!("sqlite:{path}")),
            is_shared: false,
            look_every: Some(LOOK_AT_FILES_EVERY),
            ..Profile::at(path)
        }
    }

    /// One without the state that no other precedes leaves no transaction open.
    fn read(&mut self, ask: &Ask<'_>) -> Result<Reading, EngineError> {
        // A list leaves nothing to be written, so it should not hold the lock.
        let is_kept = ask.with_state || self.session.is_some();
        let session = self.session()?;
        // Only now: a transaction that waited would grant from an old time.
        let now = read_clock(&*self.clock)?;
        let texts = self.at(session.read(&self.namespace, ask.keys, ask.limit))?;
        let continuity = session.stored.continuity();
        self.session = Some(session).filter(|_| is_kept);
        Ok(Reading {
            now,
            continuity,
            texts,
        })
    }

    fn write(&mut self, write: &Write) -> Result<WriteOutcome, EngineError> {
        // Without it others may have written since the read.
        // Taken: whatever ends this call early also rolls back and gives the lock back.
        let Some(session) = self.session.take() else {
            return Ok(WriteOutcome::Stale);
        };
        let now = read_clock(&*self.clock)?;
        if write.fingerprint != session.stored.continuity().fingerprint
            || !write.is_in_window(now)
            || !self.at(session.put(&self.namespace, &write.entries))?
        {
            return Ok(WriteOutcome::Stale);
        }
        let committed = session.commit(write.latest_end_unix_ms, &self.place, &mut self.seen);
        self.at(committed)?;
        Ok(WriteOutcome::Written { now })
    }

    fn abandon(&mut self) {
        self.session = None;
    }

    fn look(&mut self) -> Result<Look, EngineError> {
        // In the middle of an operation it is what was read.
        if self.session.is_some() {
            return Ok(Look::Same);
        }
        self.seen.look(&self.place)
    }

    fn limit_for(&mut self, ttl: Duration) {
        /// What a crowd on a slow disk needs.
        const SHORTEST: Duration = Duration::from_secs(2);
        const TRIES_PER_TTL: u32 = 6;
        self.patience = (ttl / TRIES_PER_TTL).clamp(SHORTEST, PATIENCE);
    }

    fn namespaces(
        &mut self,
        only: Option<&str>,
    ) -> Result<Option<BTreeMap<String, String>>, EngineError> {
        let session = self.session()?;
        self.at(session.namespaces(only)).map(Some)
    }

    fn remove(&mut self, removal: &Removal<'_>) -> Result<(), EngineError> {
        let session = self.session()?;
        self.at(session.remove(&self.namespace, removal))?;
        // No lease is granted: the latest end stays as it was.
        let committed = session.commit(0, &self.place, &mut self.seen);
        self.at(committed)
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, EngineError> {
        let session = self.session()?;
        let fingerprint = session.stored.fingerprint();
        let mut findings = self.at(crate::schema::findings(&session.connection, fingerprint))?;
        findings.push(volume::finding(&self.place.database, VANISHES));
        Ok(findings)
    }
}

/// The engine as URLs lead to it.
pub static ENGINE: Registration = Registration {
    name: "SQLite",
    schemes: &[Scheme::of_file("sqlite", &[], "sqlite:PATH")],
    has_counters: true,
    check,
    open: |location, namespace| SqliteStore::open(location.path(), namespace),
    open_existing: |location, namespace| {
        let found = Sqlite::open_existing(location.path(), namespace)?;
        Ok(found.map(|database| Box::new(database) as Box<dyn Engine>))
    },
};

fn check(location: &Location) -> Result<(), StoreError> {
    // SQLite would keep it in the memory of one connection.
    if location.path().as_os_str() == ":memory:" {
        return Err(location.refused("names no file"));
    }
    Ok(())
}
