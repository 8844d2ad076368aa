//! One transaction of the database, under the lock.

use core::time::Duration;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use randflake_core::Clock;
use rusqlite::{Connection, OpenFlags};

use super::continuity::{Evidence, Mark, Stored};
use super::directory_lock::DirectoryLock;
use super::place::SqlitePath;
use super::schema;
use super::seen::Seen;
use crate::failure::Failure;
use randflake_lease::EngineError;
use randflake_lease::date::span;
use randflake_lease::private_file::Found;
use randflake_lease::unstable::engine::read_clock;
use randflake_lease::unstable::file::{FileKind, LockedFile};

/// How long to wait for others at most, for the lock and then for other programs that work on the
/// database, such as the `sqlite3` tool: longer than a thousand operations one after the other,
/// well below a renewal's pause.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// The file beside the database: a lock around each operation, and a [`Mark`] outside of the
/// database.
const LOCK: FileKind = FileKind {
    magic: *b"randflake lock\x1a\n",
    name: "the lock file of a lease store",
};

/// What a transaction writes over is saved in a file that stays where it is, so that its five waits
/// for the disk are for blocks that are there: of that file twice and of its directory, of the
/// database, and of the file again. A write-ahead log has to be moved into the database and deleted
/// at the end of each operation, because what is left in it would be read into a backup that is
/// restored in place: as many waits, in which the file system has to write its own journal.
const JOURNAL: &str = "persist";
/// The value `FULL` of `PRAGMA synchronous`.
const SYNCHRONOUS: i64 = 2;

/// The lock, and a transaction that has begun. A caller that drops it without a commit has changed
/// nothing.
#[derive(Debug)]
pub(crate) struct SqliteSession {
    // Closed before the lock is given back.
    pub(crate) connection: Connection,
    lock: Lock,
    pub(crate) stored: Stored,
    found: Found,
    directory: Arc<DirectoryLock>,
}

impl SqliteSession {
    /// Opens the database, and checks what is there. Who has not seen the store before creates what
    /// is missing. What it finds is kept even if the operation that follows is refused.
    pub(crate) fn begin(
        place: &SqlitePath,
        seen: &mut Seen,
        patience: Duration,
        clock: &dyn Clock,
    ) -> Result<Self, Failure> {
        let path = &*place.database;
        let is_opening = seen.file.is_none();
        if !is_opening {
            // Before the lock, whose file would be made.
            place.found()?;
        }
        let begun = Instant::now();
        let mut lock = Lock::wait(&place.lock, patience)?;
        // Noted before the new database is there: a crash in between would make it look like one
        // that was never written.
        if !lock.mark.has_writes() && place.has_remains() {
            lock.remember(Mark::of_lost())?;
        }
        // Under the lock: of two processes that find no file, one makes it.
        let before = place.prepare(is_opening)?;
        // What is left of the patience, which is for both waits together.
        let connection = connect(path, patience.saturating_sub(begun.elapsed()))?;
        // Only now: a container makes a file of its image its own when it is opened to be written.
        let found = place.found()?;
        if found.identity.inode != before.identity.inode {
            return Err(EngineError::unavailable("the database was replaced meanwhile").into());
        }
        // Other programs, such as the `sqlite3` tool, know nothing of the lock file; this keeps
        // them out.
        begin_transaction(&connection)?;
        let is_new = !schema::are_there(&connection)?;
        if is_new && !is_opening {
            return Err(place.gone().into());
        }
        // After the look at the tables: it may change a file's journal mode, and must not change
        // one of another program.
        set_durable(&connection)?;
        let stored = (!is_new).then(|| Stored::read(&connection)).transpose()?;
        let directory = seen.directory_lock(path)?;
        let evidence = Evidence {
            path,
            identity: found.identity,
            marks: [lock.mark, seen.mark],
            ahead: directory.ahead_of(path, stored.as_ref().map(Stored::writes))?,
        };
        // A new database beside an old lock file is a loss: the mark names another store, so the
        // check below counts a break.
        let mut stored = if let Some(stored) = stored {
            stored
        } else {
            schema::create(&connection)?;
            Stored::new(&evidence, read_clock(clock)?)?
        };
        // A break is on the disk before anything is decided from it, or a crash would forget it.
        let is_changed = stored.check(&evidence)? || is_new;
        let mut session = Self {
            connection,
            lock,
            stored,
            found,
            directory,
        };
        if is_changed {
            let mark = session.stored.write(&session.connection, 0)?;
            session.committed(mark, place, seen)?;
            begin_transaction(&session.connection)?;
        } else {
            session.note(session.stored.mark(), place, seen)?;
        }
        Ok(session)
    }

    /// Makes the transaction's changes last, and notes them outside of the database; a lease among
    /// them ends at `until_ms`.
    pub(crate) fn commit(
        mut self,
        until_ms: u64,
        place: &SqlitePath,
        seen: &mut Seen,
    ) -> Result<(), Failure> {
        let mark = self.stored.write(&self.connection, until_ms)?;
        self.committed(mark, place, seen)
    }

    fn committed(
        &mut self,
        mark: Mark,
        place: &SqlitePath,
        seen: &mut Seen,
    ) -> Result<(), Failure> {
        self.connection.execute_batch("COMMIT")?;
        // After the commit: a mark ahead of the database would look like a database that went back.
        // In memory first: it counts even if the disk refuses the mark.
        self.note(self.lock.mark.followed_by(mark), place, seen)?;
        Ok(self.lock.remember(mark)?)
    }

    /// Remembers the database, and shows other processes how far this one has seen it.
    fn note(&self, mark: Mark, place: &SqlitePath, seen: &mut Seen) -> Result<(), Failure> {
        seen.mark = seen.mark.followed_by(mark);
        seen.breaks = self.stored.breaks();
        seen.file = Some(self.found.clone());
        Ok(self.directory.note(&place.database, mark.writes())?)
    }
}

/// The lock file, held until dropped. Nobody else, thread or process, works on the database
/// meanwhile.
#[derive(Debug)]
struct Lock {
    file: LockedFile,
    /// Content of the mark.
    mark: Mark,
}

impl Lock {
    fn wait(path: &Path, patience: Duration) -> Result<Self, Failure> {
        let Some(file) = LockedFile::wait(path, &LOCK, patience)? else {
            let why = format!(
                "other processes have held the lock for {}: if one of them is stopped or hangs, resume or end it \
                 (`fuser` names those that have the file open); else the disk is too slow for so many",
                span(patience)
            );
            return Err(EngineError::unavailable(why)
                .at(&path.display().to_string())
                .into());
        };
        // A new lock file has no text, and its mark contradicts nothing.
        let mark = Mark::from_text(file.text().1).unwrap_or_default();
        Ok(Self { file, mark })
    }

    /// Notes a commit in the lock file.
    fn remember(&mut self, mark: Mark) -> Result<(), EngineError> {
        self.mark = self.mark.followed_by(mark);
        // Without a wait for the disk: a cut of the power then leaves an older mark, which
        // contradicts nothing.
        self.file.write(self.mark.to_text(), false)
    }
}

fn begin_transaction(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("BEGIN IMMEDIATE")
}

fn connect(path: &Path, patience: Duration) -> rusqlite::Result<Connection> {
    // Never created by SQLite: `SqlitePath::prepare` does it, for the owner only. The path has no
    // links left, so one in its place was put there since.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(path, flags)?;
    // For a program that has the database open beside the lock.
    connection.busy_timeout(patience)?;
    // macOS: on the disk, not only in its cache.
    connection.pragma_update(None, "fullfsync", true)?;
    Ok(connection)
}

/// Lets the transaction that has begun, and has changed nothing, be on the disk when it is
/// committed.
fn set_durable(connection: &Connection) -> Result<(), Failure> {
    if is_durable(connection).is_ok_and(|is_durable| is_durable) {
        return Ok(());
    }
    // The rest can be set between transactions only: somebody has left a write-ahead log.
    connection.execute_batch("ROLLBACK")?;
    connection.pragma_update(None, "synchronous", SYNCHRONOUS)?;
    if !is_durable(connection)? {
        let why = "SQLite cannot keep a rollback journal here";
        return Err(EngineError::failed_precondition(why).into());
    }
    Ok(begin_transaction(connection)?)
}

fn is_durable(connection: &Connection) -> rusqlite::Result<bool> {
    let synchronous: i64 = connection.pragma_query_value(None, "synchronous", |row| row.get(0))?;
    let journal = connection.pragma_update_and_check(
        None,
        "journal_mode",
        JOURNAL,
        |row: &rusqlite::Row<'_>| row.get::<_, String>(0),
    )?;
    Ok(synchronous == SYNCHRONOUS && journal == JOURNAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both are told to SQLite, which may have been built with others.
    #[test]
    fn a_connection_waits_for_others_and_for_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("leases.db");
        std::fs::write(&path, "").unwrap();
        let connection = connect(&path, Duration::from_millis(1_234)).unwrap();
        let number = |name| {
            let number = connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
            number.unwrap()
        };
        assert_eq!(number("busy_timeout"), 1_234);
        assert_eq!(number("fullfsync"), 1);
        connection.pragma_update(None, "synchronous", 1).unwrap();
        begin_transaction(&connection).unwrap();
        set_durable(&connection).unwrap();
        assert_eq!(number("synchronous"), SYNCHRONOUS);
        assert!(!connection.is_autocommit());
    }
}
