//! Leases and counters in a file of this machine.

mod continuity;
mod diagnosis;
mod failure;
mod file;
mod lock;
mod records;
mod schema;
mod session;

use core::fmt::{self, Debug, Formatter};
use std::path::Path;
use std::sync::Arc;

use randflake_core::Clock;

use self::failure::Failure;
use self::file::Place;
use self::lock::Mark;
use self::records::Records;
use self::session::Session;
#[cfg(doc)]
use super::LeaseStore;
use super::{EngineError, Finding, Namespace, StoreError, volume};
use crate::ExactSystemClock;
use crate::ledger::{Committed, Engine, Keys, Ledger, Reading, Write, read_clock};
#[cfg(doc)]
use crate::segment::SegmentStore;

const VANISHES: &str = "the leases vanish with it, and each container of an image has its own: then two grant the same \
                        ids; mount a persistent volume that all of them share";

/// A store of leases and counters in an SQLite database, shared by the processes of one machine.
///
/// It is a file, and two of the same name with `.lock` and `-journal` at the end; they are created, for their
/// owner alone, with the directory if need be. Each operation opens the database, does its work in
/// one transaction that is on disk when it returns, and closes it: between operations nothing is
/// held, no matter how many threads, processes and forks of them use it.
///
/// Directory and files belong to this process's user or to root, and others may not write to them: anything else is
/// refused, as whoever can change them decides which ids are issued. A directory may be writable by a group that this
/// process is in, as Kubernetes gives a volume to a pod with an `fsGroup`, or by all if it is sticky. The path
/// may be a link; what is beside the database is none, and no file is mounted without its directory.
///
/// # What it notices
///
/// The database holds the inode number, the time of birth and the path of its file, a random number and a count of its
/// writes; the lock file holds the last two as well, and so does each process that has used the store.
///
/// | what happened                                       | what it does                           |
/// |-----------------------------------------------------|----------------------------------------|
/// | neither file is there: a new store                  | grants at once                         |
/// | the database was deleted, the lock file was not     | a new store, quarantined                    |
/// | a backup of the database was restored in place      | quarantined                                 |
/// | the file is another: its folder was restored,       | quarantined                                 |
/// | or it was moved to this disk                        |                                        |
/// | the file was renamed on its disk                    | nothing: it is the same                |
/// | it is a copy, and the original is at its path       | refused, until the original is removed |
/// | it is a container's own copy of a file of its image | quarantined                                 |
/// | the file is mounted alone, as by                    | refused: its lock and journal would be |
/// | `docker -v leases.db:/srv/leases.db`                | elsewhere; mount the directory         |
/// | both files were deleted, or overwritten with        | quarantined by that process's next          |
/// | earlier ones, while a process runs                  | operation                              |
/// | the power failed, a disk was full or broke          | nothing: what was answered is kept     |
///
/// Quarantined is [`StoreError::Quarantined`]: nothing is granted for the longest TTL and 20 s, and until the last lease
/// that the lock file knows of has expired: that is long if a clock was far ahead once. Of a namespace whose record is
/// lost the longest TTL is taken for 300 s at least. A lease from before that the store still knows is renewed.
///
/// No time heals a counter that may have gone back. Where leases are quarantined, counters are refused as
/// [`CounterError::Lost`], those too that the store does not know, until somebody says where each
/// goes on: [`resume`](SegmentStore::resume).
///
/// # What it cannot notice
///
/// - A machine, or its disk, that was set back as a whole, with the lock file: call
///   [`quarantine`](LeaseStore::quarantine) then, and [`resume`](SegmentStore::resume) each counter further on.
/// - Two machines, or volumes, from one image or snapshot of a disk: their files have the same numbers and times.
///   Delete database and lock file in the image.
/// - A copy whose original is not at its path as seen from here: on another machine, or in another container.
///   It is quarantined once, then both grant the same node ids. The [`diagnose`](LeaseStore::diagnose) of each tells
///   of a container's own layer.
/// - Both files deleted, or both overwritten in place with those of a backup, and a lease granted before
///   any of the processes that still run has come back to the store. Stop them first.
/// - A path that is another disk's by mistake, because its own was not mounted: this is a new store.
/// - A disk that says that it has written what it has not.
/// - File systems without a time of birth (ext3, ext4 with inodes of 128 bytes) give a restored file's inode number
///   to another: there a restored folder may go unnoticed. On those whose inodes are not stable the store
///   quarantines itself without need. Network file systems are not for SQLite.
/// - Linux before 5.8 and other systems do not tell of a file that is mounted alone.
///
/// ```
/// use randflake_std::lease::{AcquireRequest, LeaseStore, Namespace, NodeIds, SqliteStore, Token};
/// use randflake_std::Randflake;
///
/// # let folder = std::env::temp_dir().join(format!("randflake-doc-{}", std::process::id()));
/// # let path = folder.join("leases.db");
/// let namespace = Namespace::of::<Randflake>("orders")?;
/// let mut store = SqliteStore::open(&path, &namespace)?;
/// let token = Token::random()?;
/// let acquired = store.acquire(&AcquireRequest { token, holder: "example", nodes: NodeIds::Any(1), ttl: 60 })?;
/// assert!(acquired.grants[0].node_id < 131_072);
/// store.release(&acquired.grants)?;
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type SqliteStore = Ledger<Sqlite>;

/// An SQLite database with the leases and counters of one namespace, among others.
pub struct Sqlite {
    place: Place,
    namespace: String,
    clock: Arc<dyn Clock + Send + Sync>,
    /// The database as this process left it: it tells of a store that lost its lock file too.
    seen: Mark,
    /// From a read to its write.
    session: Option<Session>,
}

impl SqliteStore {
    /// Opens the store at a path, creating the file if it is not there.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unusable`] when the file is another program's, a newer version's, a copy of a
    /// store that is still there, damaged, or may not be written, when it or its directory belongs to
    /// another user, others may write to it, or it is mounted alone, and when it has the namespace with
    /// other terms. [`StoreError::Unavailable`] when the disk fails, or another process does not
    /// let go of the lock for 10 s.
    pub fn open(path: impl AsRef<Path>, namespace: &Namespace) -> Result<Self, StoreError> {
        Self::open_with_clock(path, namespace, Arc::new(ExactSystemClock))
    }

    /// [`open`](SqliteStore::open) with another clock than the operating system's, for tests and
    /// simulations.
    ///
    /// # Errors
    ///
    /// As for [`open`](SqliteStore::open).
    pub fn open_with_clock<C>(
        path: impl AsRef<Path>,
        namespace: &Namespace,
        clock: Arc<C>,
    ) -> Result<Self, StoreError>
    where
        C: Clock + Send + Sync + 'static,
    {
        let database = Sqlite {
            place: Place::resolve(path.as_ref())?,
            namespace: namespace.name().to_owned(),
            clock,
            seen: Mark::default(),
            session: None,
        };
        Self::opened(database, namespace)
    }

    /// The database's path, without links.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.records.engine.place.database
    }
}

impl Sqlite {
    /// That of the last read, as long as nothing was written since; else another.
    fn session(&mut self) -> Result<Session, EngineError> {
        if let Some(session) = self.session.take() {
            return Ok(session);
        }
        let session = Session::begin(&self.place, &mut self.seen);
        session.map_err(|failure| failure.at(&self.place.database))
    }

    fn records<'s>(&'s self, session: &'s Session) -> Records<'s> {
        Records {
            connection: &session.connection,
            namespace: &self.namespace,
        }
    }

    fn at<T>(&self, outcome: Result<T, impl Into<Failure>>) -> Result<T, EngineError> {
        outcome.map_err(|failure| failure.into().at(&self.place.database))
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
    fn place(&self) -> String {
        self.place.database.display().to_string()
    }

    fn read(&mut self, keys: &[Keys]) -> Result<Reading, EngineError> {
        let session = self.session()?;
        // Only now: a transaction that waited would grant from an old time.
        let now = read_clock(&*self.clock)?;
        let texts = self.at(self.records(&session).read(keys))?;
        let continuity = session.continuity.clone();
        self.session = Some(session);
        Ok(Reading {
            now,
            continuity,
            texts,
        })
    }

    fn write(&mut self, write: &Write) -> Result<Committed, EngineError> {
        // Without it others may have written since the read.
        let Some(session) = self.session.take() else {
            return Ok(Committed::Stale);
        };
        let now = read_clock(&*self.clock)?;
        let records = self.records(&session);
        if write.fingerprint != session.continuity.fingerprint
            || !write.is_in_window(now)
            || !self.at(records.allow(&write.entries))?
        {
            return Ok(Committed::Stale);
        }
        self.at(records.put(&write.entries))?;
        let committed = session.commit(write.latest_end_unix_ms, &mut self.seen);
        self.at(committed)?;
        Ok(Committed::Done { now })
    }

    /// Under the lock nobody else looks: so those leased before are leased again, and the file does not grow.
    fn is_shared(&self) -> bool {
        false
    }

    fn abandon(&mut self) {
        self.session = None;
    }

    fn list(&mut self, first: u32, most: usize) -> Result<Vec<(u32, String)>, EngineError> {
        let is_within_a_read = self.session.is_some();
        let session = self.session()?;
        let texts = self.at(self.records(&session).list(first, most))?;
        self.session = Some(session).filter(|_| is_within_a_read);
        Ok(texts)
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, EngineError> {
        let session = self.session()?;
        let mut findings = self.at(diagnosis::findings(&session.connection))?;
        findings.push(volume::finding(&self.place.database, VANISHES));
        Ok(findings)
    }
}
