//! Leases and counters in a file of this machine.

use core::fmt::{self, Debug, Formatter};
use core::time::Duration;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use randflake_core::Clock;

use crate::failure::Failure;
use crate::place::SqlitePath;
use crate::seen::Seen;
use crate::session::{PATIENCE, SqliteSession};
use randflake_lease::ExactSystemClock;
use randflake_lease::unstable::engine::{Removal, Write, WriteOutcome, read_clock};

use randflake_lease::LeaseStore;
use randflake_lease::unstable::engine::{Ask, Engine, LOOK_AT_FILES_EVERY, Look, Profile, Reading};
use randflake_lease::unstable::file::volume;
use randflake_lease::{EngineError, Finding, Namespace, StoreError};

const VANISHES: &str = "the leases vanish with it, and each container of an image has its own: then two grant the same \
                        ids; mount a persistent volume that all of them share";

/// A store of leases and counters in an SQLite database, shared by the processes of one machine.
///
/// Its constructors return a [`LeaseStore`].
///
/// The store is a file, and two more with `.lock` and `-journal` at the end of its name. They are created for their owner
/// only, with the directory if it is missing. The database has one row of text for each namespace, each counter, each node
/// id from its first lease on, up to seventeen hints, most to free node ids, and each earlier
/// lease of the [history](LeaseStore::history).
///
/// Each operation opens the database, works in one transaction that is on disk when it returns, and closes the database.
/// Between operations nothing is held but a lock on the directory, so any number of threads, processes and their forks can use
/// it. The lock tells others that this process runs, and how many writes of the store it has seen. It keeps a volume from being
/// unmounted while the store is open.
///
/// Opening makes a store that is not there. A store that was opened does not: if its files are gone, every operation is
/// refused as [`StoreError::FailedPrecondition`] until they are back, or somebody else has made new ones.
///
/// A process that is stopped (`SIGSTOP`, a debugger, a frozen container) in the middle of an operation keeps the lock, and
/// all others wait for it: each operation for a sixth of the TTL, at least 2 s and at most 10 s, then it fails as
/// [`StoreError::Unavailable`]. Ids go on until the leases expire. To end or resume that process is the remedy. A release
/// that fails so leaves its node id leased until the TTL is over.
///
/// The process must be able to read the directory, to lock it.
/// The directory and the files must belong to this process's user or to root, and others must not be able to write to them;
/// anything else is refused, because whoever can change them decides which ids are issued. A directory may be writable by a
/// group that this process is in (as Kubernetes does with an `fsGroup`), or by all if it is sticky. The path may be a link.
/// The lock file and the journal must not be links, and no file may have a second name (a hard link) or be mounted without
/// its directory.
///
/// # What it notices
///
/// The database stores the inode number, the time of birth and the path of its file, a random number and a count of its
/// writes. The lock file stores the last two as well, and each process remembers them. A `Handle`, and
/// `Segments`, look at the file each second, and stop when it is gone, another one, or older
/// than they have seen it.
///
/// | what happened                                       | what it does                           |
/// |-----------------------------------------------------|----------------------------------------|
/// | no file is there: a new store                       | grants with the next tick, or after 3 s|
/// | the same, beside a process that has it open         | a new store, in quarantine             |
/// | the database was deleted, the lock file or the      | a new store, in quarantine             |
/// | journal was not                                     |                                        |
/// | a backup of the database was restored in place      | quarantine                             |
/// | the file is another: its folder was restored,       | quarantine                             |
/// | or it was moved to this disk                        |                                        |
/// | the file was renamed on its disk                    | nothing: it is the same                |
/// | it is a copy, and the original is at its path       | refused, until the original is removed |
/// | it is a container's own copy of a file of its image | quarantine                             |
/// | the file is mounted alone, as by                    | refused: its lock and journal would be |
/// | `docker -v leases.db:/srv/leases.db`                | elsewhere; mount the directory         |
/// | both files were deleted, moved away, or hidden by a | the process stops within a second, and |
/// | mount, while a process runs                         | makes no new store                     |
/// | both files were overwritten with earlier ones       | quarantine, by the next operation of   |
/// | (`cp -a backup/. state/`) while a process runs      | any process; those that run stop       |
/// | the power failed, a disk was full or broke          | nothing: answered writes are kept      |
///
/// A quarantine ([`StoreError::Quarantined`]) lasts the longest TTL and 20 s, and until the last lease that the lock file
/// knows of has expired, which is long if a clock was far ahead once. If a namespace's record is lost, its longest TTL is
/// taken to be at least 300 s. A lease from before that the store still knows can be renewed.
///
/// A new store has nothing that tells of another one that may have been in its place, whose holders issue until they have
/// looked at their files. So it leases node ids from a random place on, and grants from the next tick on, or from the first
/// one that begins a second later where ticks are shorter than that. Chosen node ids, and any if there are fewer than 16,384 for
/// each one that is asked for, are granted from the next tick after 3 s. Until then an acquire is refused as
/// [`Quarantined`](StoreError::Quarantined) with the cause [`Young`](randflake_lease::QuarantineCause::Young); builds of handles wait.
///
/// A counter that may have gone back cannot be repaired by waiting, and nothing tells a new store from one at
/// another path or one whose files were deleted. So an operator begins each counter, with
/// [`Counter::create`](randflake_lease::Counter::create) (`randflake segment init`) or
/// [`Counter::resume`](randflake_lease::Counter::resume) (`randflake segment resume`). Whatever starts a quarantine also makes counters fail
/// as [`CounterError::Lost`](randflake_lease::CounterError::Lost) until an operator resumes each one.
///
/// # What it cannot notice
///
/// - A machine, or its disk, set back as a whole, with the lock file: call [`start_quarantine`](randflake_lease::Administration::start_quarantine) then, and
///   [`Counter::resume`](randflake_lease::Counter::resume) each counter at a higher number.
/// - Two machines or volumes from one image or snapshot of a disk: their files have the same numbers and times. Delete the
///   database and the lock file in the image.
/// - A copy whose original is not at its path as seen from here: on another machine, or in another container. It is
///   quarantined once, then both grant the same node ids. [`diagnose`](randflake_lease::Administration::diagnose) reports a container's own
///   layer.
/// - Both files deleted, or both overwritten in place with those of a backup, as `rsync` and `cp` do, while no process runs.
///   Rows changed or deleted by hand. Stop all processes first, then do as after a disk that was set back.
/// - A path that is on another disk by mistake, because its own was not mounted, or was moved away with its directory: this is
///   a new store. A process that had the former one open stops within a second, unless it is suspended; what remains then
///   is [left to chance](randflake_lease#what-is-left-to-chance).
/// - Other systems than 64-bit Linux, and sandboxes without locks of open file descriptions, do not tell who else has the store
///   open. There a new store grants beside a process that has a second to stop, and overwritten files are noticed
///   by the processes that run alone.
/// - A lock on the directory that is not of a store. Whoever may read the directory can hold one, and keep the store in
///   quarantine by it: where users are not trusted, give the store a directory of its own with mode 0700.
/// - Disks that report writes which they have not made.
/// - File systems without a time of birth (ext3, ext4 with inodes of 128 bytes) reuse inode numbers: there a restored folder
///   may go unnoticed. Where inode numbers are not stable, the store quarantines itself without need. Do not use SQLite on a
///   network file system.
/// - Linux before 5.8 and other systems do not report a file that is mounted alone.
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
    /// there: in the place of a volume that was not mounted, or at a mistyped path, would be a second store.
    ///
    /// It blocks: see [how long](randflake_lease#how-long-calls-block).
    ///
    /// # Errors
    ///
    /// [`StoreError::FailedPrecondition`] when the file is another program's, a newer version's, a copy of a
    /// store that is still there, damaged, or may not be written, when it or its directory belongs to
    /// another user, is missing, or others may write to it, when the file is mounted alone, and when it has the
    /// namespace with other terms. [`StoreError::Unavailable`] when the disk fails, or another process does not
    /// let go of the lock for 10 s.
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
            // To resolve the path would refuse a directory that is missing, and there is merely no store.
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
    /// Under the lock nobody else looks. All begin at the same place, so that node ids leased before are leased again, and
    /// the file does not grow.
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
        let mut findings = self.at(crate::diagnosis::findings(&session.connection, fingerprint))?;
        findings.push(volume::finding(&self.place.database, VANISHES));
        Ok(findings)
    }
}
