//! Leases and counters in a file of this machine.

mod continuity;
mod counter;
mod diagnosis;
mod failure;
mod file;
mod leases;
mod lock;
mod schema;

use core::fmt::{self, Debug, Formatter};
use core::time::Duration;
use std::path::Path;
use std::sync::Arc;

use randflake_core::Clock;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use self::continuity::Evidence;
use self::failure::{Failure, unusable};
use self::file::Place;
use self::leases::Leases;
use self::lock::{Lock, Mark};
use super::moment::{self, Moment};
use super::{
    AcquireRequest, Acquired, Finding, Grant, LeaseStore, Namespace, Record, Renewed, StoreError,
    volume,
};
use crate::ExactSystemClock;
use crate::private_file::Identity;
use crate::segment::{Counter, CounterStatus, Segment, SegmentStore};

/// How long to wait for other programs that work on the database, such as the `sqlite3` tool.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// What a transaction writes over is saved in a file that stays where it is, so that its five waits for the
/// disk are for blocks that are there: of that file twice and of its directory, of the database, and of the
/// file again. A write-ahead log has to be moved into the database and deleted at the end of each operation,
/// because what is left in it would be read into a backup that is restored in place: as many waits, in which
/// the file system has to write its own journal.
const JOURNAL: &str = "persist";

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
/// | the database was deleted, the lock file was not     | a new store, fenced                    |
/// | a backup of the database was restored in place      | fenced                                 |
/// | the file is another: its folder was restored,       | fenced                                 |
/// | or it was moved to this disk                        |                                        |
/// | the file was renamed on its disk                    | nothing: it is the same                |
/// | it is a copy, and the original is at its path       | refused, until the original is removed |
/// | it is a container's own copy of a file of its image | fenced                                 |
/// | the file is mounted alone, as by                    | refused: its lock and journal would be |
/// | `docker -v leases.db:/srv/leases.db`                | elsewhere; mount the directory         |
/// | both files were deleted, or overwritten with        | fenced by that process's next          |
/// | earlier ones, while a process runs                  | operation                              |
/// | the power failed, a disk was full or broke          | nothing: what was answered is kept     |
///
/// Fenced is [`StoreError::Fenced`]: for the longest TTL and 10 s, and until the last lease that the
/// lock file knows of is over: that is long if a clock was far ahead once. Leases from before are not
/// renewed any more.
///
/// No time heals a counter that may have gone back. Where leases are fenced, counters are refused as
/// [`StoreError::CounterLost`], those too that the store does not know, until somebody says where each
/// goes on: [`resume`](SegmentStore::resume).
///
/// # What it cannot notice
///
/// - A machine, or its disk, that was set back as a whole, with the lock file: call
///   [`fence`](LeaseStore::fence) then, and [`resume`](SegmentStore::resume) each counter further on.
/// - Two machines, or volumes, from one image or snapshot of a disk: their files have the same numbers and times.
///   Delete database and lock file in the image.
/// - A copy whose original is not at its path as seen from here: on another machine, or in another container.
///   It is fenced once, then both grant the same node ids. The [`diagnose`](LeaseStore::diagnose) of each tells
///   of a container's own layer.
/// - Both files deleted, or both overwritten in place with those of a backup, and a lease granted before
///   any of the processes that still run has come back to the store. Stop them first.
/// - A path that is another disk's by mistake, because its own was not mounted: this is a new store.
/// - A disk that says that it has written what it has not.
/// - File systems without a time of birth (ext3, ext4 with inodes of 128 bytes) give a restored file's inode number
///   to another: there a restored folder may go unnoticed. On those whose inodes are not stable the store fences
///   itself without need. Network file systems are not for SQLite.
/// - Linux before 5.8 and other systems do not tell of a file that is mounted alone.
///
/// ```
/// use randflake_std::lease::{AcquireRequest, LeaseStore, Namespace, SqliteStore, Token};
/// use randflake_std::Randflake;
///
/// # let folder = std::env::temp_dir().join(format!("randflake-doc-{}", std::process::id()));
/// # let path = folder.join("leases.db");
/// let namespace = Namespace::of::<Randflake>("orders")?;
/// let mut store = SqliteStore::open(&path, &namespace)?;
/// let token = Token::random()?;
/// let acquired = store.acquire(&AcquireRequest { token, holder: "example", count: 1, ttl: 60 })?;
/// assert_eq!(acquired.grants[0].node_id, 0);
/// store.release(&acquired.grants)?;
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct SqliteStore {
    place: Place,
    namespace: Namespace,
    clock: Arc<dyn Clock + Send + Sync>,
    /// The database as this process left it: it fences a store that lost its lock file too.
    seen: Mark,
}

impl SqliteStore {
    /// Opens the store at a path, creating file and namespace if they are not there.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unusable`] when the file is another program's, a newer version's, a copy of a
    /// store that is still there, damaged, or may not be written, when it or its directory belongs to
    /// another user, others may write to it, or it is mounted alone, and when it has the namespace with
    /// another layout. [`StoreError::Unavailable`] when the disk fails, or another process does not
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
        let mut store = Self {
            place: Place::resolve(path.as_ref())?,
            namespace: namespace.clone(),
            clock,
            seen: Mark::default(),
        };
        store.locked(|_, _| Ok(()))?;
        Ok(store)
    }

    /// The database's path, without links.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.place.database
    }

    /// One operation on the leases, in a transaction.
    fn operate<T>(
        &mut self,
        operation: impl FnOnce(&mut Leases<'_>) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        self.locked(|session, connection| {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            // Only now: a transaction that waited would grant from an old time.
            let now = Moment::read(&**session.clock, session.namespace.spec())?;
            let mut leases = Leases::load(&transaction, session.namespace, now)?;
            let answer = operation(&mut leases)?;
            let Leases { changed, until, .. } = leases;
            if changed {
                let mark = continuity::count_write(&transaction)?;
                transaction.commit()?;
                session.remember(Mark {
                    until_ms: session.namespace.spec().unix_ms(until),
                    ..mark
                })?;
            }
            Ok(answer)
        })
    }

    /// One operation on the counter, in a transaction.
    fn count<T>(
        &mut self,
        operation: impl FnOnce(&mut Counter, u64) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.locked(|session, connection| {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let (answer, is_changed) =
                counter::operate(&transaction, session.namespace, operation)?;
            if is_changed {
                let mark = continuity::count_write(&transaction)?;
                transaction.commit()?;
                session.remember(mark)?;
            }
            Ok(answer)
        })
    }

    /// Work on the database under the lock, after its continuity was checked.
    fn locked<T>(
        &mut self,
        work: impl FnOnce(&mut Session<'_>, &mut Connection) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        let Self {
            place,
            namespace,
            clock,
            seen,
        } = self;
        let mut lock = Lock::wait(&place.lock)?;
        let mark = lock.read()?;
        let mut session = Session {
            place,
            namespace,
            clock,
            lock,
            mark,
            seen,
        };
        session
            .run(work)
            .map_err(|failure| failure.at(&place.database))
    }
}

/// One operation's time under the lock.
struct Session<'s> {
    place: &'s Place,
    namespace: &'s Namespace,
    clock: &'s Arc<dyn Clock + Send + Sync>,
    lock: Lock<'s>,
    /// What the lock file says.
    mark: Mark,
    seen: &'s mut Mark,
}

impl Session<'_> {
    fn run<T>(
        &mut self,
        work: impl FnOnce(&mut Self, &mut Connection) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let before = self.place.prepare()?;
        let mut connection = connect(&self.place.database)?;
        // Only now: a container makes a file of its image its own when it is opened to be written.
        let identity = self.place.identity()?;
        if identity.inode != before.inode {
            return Err(StoreError::unavailable("the database was replaced meanwhile").into());
        }
        self.check(&mut connection, identity)?;
        work(self, &mut connection)
    }

    /// Creates what is missing and checks what is there. What it finds is kept even if the operation
    /// that follows is refused.
    fn check(&mut self, connection: &mut Connection, identity: Identity) -> Result<(), Failure> {
        let evidence = Evidence {
            path: &self.place.database,
            identity,
            marks: [self.mark, *self.seen],
        };
        let is_new = !schema::are_there(connection, evidence.path)?;
        let mode: String =
            connection.pragma_update_and_check(None, "journal_mode", JOURNAL, |row| row.get(0))?;
        if mode != JOURNAL {
            let why = "SQLite cannot keep a rollback journal here";
            return Err(unusable(evidence.path, &why).into());
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if is_new {
            schema::create(&transaction)?;
            continuity::begin(&transaction, &evidence)?;
        }
        let now = moment::read(&**self.clock)?;
        let changed = continuity::check(&transaction, &evidence, self.namespace, now)?;
        let created = leases::ensure_namespace(&transaction, self.namespace)?;
        if changed || created || is_new {
            let mark = continuity::count_write(&transaction)?;
            transaction.commit()?;
            self.remember(mark)?;
        }
        Ok(())
    }

    /// Notes a commit in the lock file and in this process.
    fn remember(&mut self, mut mark: Mark) -> Result<(), StoreError> {
        mark.until_ms = mark.until_ms.max(self.mark.until_ms);
        *self.seen = mark;
        self.mark = mark;
        self.lock.write(mark)
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "synchronous", "full")?;
    // macOS: on the disk, not only in its cache.
    connection.pragma_update(None, "fullfsync", true)?;
    Ok(connection)
}

impl Debug for SqliteStore {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore")
            .field("path", &self.place.database)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl LeaseStore for SqliteStore {
    fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    fn acquire(&mut self, request: &AcquireRequest<'_>) -> Result<Acquired, StoreError> {
        self.operate(|leases| {
            Ok(Acquired {
                grants: leases.acquire(request)?,
                now: leases.now.unix,
            })
        })
    }

    fn renew(&mut self, grants: &[Grant], ttl: u64) -> Result<Renewed, StoreError> {
        self.operate(|leases| {
            Ok(Renewed {
                ends: leases.renew(grants, ttl)?,
                now: leases.now.unix,
            })
        })
    }

    fn release(&mut self, grants: &[Grant]) -> Result<(), StoreError> {
        self.operate(|leases| leases.release(grants))
    }

    fn list(&mut self) -> Result<Vec<Record>, StoreError> {
        self.operate(|leases| leases.list())
    }

    fn fence(&mut self) -> Result<Duration, StoreError> {
        self.operate(|leases| {
            leases.raise_fence()?;
            Ok(leases.now.until(leases.fence()))
        })
    }

    fn now(&mut self) -> Result<Duration, StoreError> {
        moment::read(&*self.clock)
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, StoreError> {
        let mut findings = self.operate(|leases| leases.diagnose())?;
        findings.push(volume::finding(self.path(), VANISHES));
        Ok(findings)
    }
}

impl SegmentStore for SqliteStore {
    fn reserve(&mut self, count: u64) -> Result<Segment, StoreError> {
        self.count(|counter, breaks| counter.reserve(count, breaks))
    }

    fn counter(&mut self) -> Result<CounterStatus, StoreError> {
        self.count(|counter, breaks| Ok(counter.status(breaks)))
    }

    fn resume(&mut self, number: u64) -> Result<u64, StoreError> {
        self.count(|counter, breaks| counter.resume(number, breaks))
    }
}
