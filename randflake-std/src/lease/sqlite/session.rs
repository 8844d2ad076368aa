//! One operation's time with the database, under the lock.

use core::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::continuity::{self, Evidence};
use super::failure::{Failure, unusable};
use super::file::Place;
use super::lock::{Lock, Mark};
use super::schema;
use crate::lease::EngineError;
use crate::ledger::Continuity;

/// How long to wait for other programs that work on the database, such as the `sqlite3` tool.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// What a transaction writes over is saved in a file that stays where it is, so that its five waits for the
/// disk are for blocks that are there: of that file twice and of its directory, of the database, and of the
/// file again. A write-ahead log has to be moved into the database and deleted at the end of each operation,
/// because what is left in it would be read into a backup that is restored in place: as many waits, in which
/// the file system has to write its own journal.
const JOURNAL: &str = "persist";

/// The lock, and a transaction that has begun. Whoever drops it without a commit has changed nothing.
#[derive(Debug)]
pub(super) struct Session {
    // Closed before the lock is given back.
    pub(super) connection: Connection,
    lock: Lock,
    /// What the lock file says.
    mark: Mark,
    pub(super) continuity: Continuity,
}

impl Session {
    /// Opens the database, creates what is missing, and checks what is there. What it finds is kept even if the
    /// operation that follows is refused.
    pub(super) fn begin(place: &Place, seen: &mut Mark) -> Result<Self, Failure> {
        let mut lock = Lock::wait(&place.lock)?;
        let mut mark = lock.read()?;
        let before = place.prepare()?;
        let connection = connect(&place.database)?;
        // Only now: a container makes a file of its image its own when it is opened to be written.
        let identity = place.identity()?;
        if identity.inode != before.inode {
            return Err(EngineError::unavailable("the database was replaced meanwhile").into());
        }
        let evidence = Evidence {
            path: &place.database,
            identity,
            marks: [mark, *seen],
        };
        let is_new = !schema::are_there(&connection, evidence.path)?;
        let mode: String =
            connection.pragma_update_and_check(None, "journal_mode", JOURNAL, |row| row.get(0))?;
        if mode != JOURNAL {
            let why = "SQLite cannot keep a rollback journal here";
            return Err(unusable(evidence.path, &why).into());
        }
        begin_transaction(&connection)?;
        if is_new {
            schema::create(&connection)?;
            continuity::begin(&connection, &evidence)?;
        }
        if continuity::check(&connection, &evidence)? || is_new {
            let counted = continuity::count_write(&connection)?;
            connection.execute_batch("COMMIT")?;
            mark = remember(&mut lock, mark, counted, seen)?;
            begin_transaction(&connection)?;
        }
        let continuity = continuity::told(&connection)?;
        Ok(Self {
            connection,
            lock,
            mark,
            continuity,
        })
    }

    /// Makes the transaction's changes last, and notes them outside of the database; a lease among them ends at
    /// `until_ms`.
    pub(super) fn commit(mut self, until_ms: u64, seen: &mut Mark) -> Result<(), Failure> {
        let counted = continuity::count_write(&self.connection)?;
        self.connection.execute_batch("COMMIT")?;
        let counted = Mark {
            until_ms,
            ..counted
        };
        remember(&mut self.lock, self.mark, counted, seen)?;
        Ok(())
    }
}

fn begin_transaction(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("BEGIN IMMEDIATE")
}

/// Notes a commit in the lock file and in this process.
fn remember(
    lock: &mut Lock,
    former: Mark,
    mut mark: Mark,
    seen: &mut Mark,
) -> Result<Mark, EngineError> {
    mark.until_ms = mark.until_ms.max(former.until_ms);
    *seen = mark;
    lock.write(mark)?;
    Ok(mark)
}

fn connect(path: &std::path::Path) -> rusqlite::Result<Connection> {
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
