//! Continuity of the database: detection of files that were deleted, restored or copied.

use core::time::Duration;
use std::path::Path;

use rusqlite::{Connection, Row, params};

use randflake_lease::EngineError;
use randflake_lease::private_file;
use randflake_lease::private_file::FileIdentity;
use randflake_lease::unstable::engine::Continuity;

/// What is known of a database outside of it, so that its loss or return to an earlier state is
/// noticed. It is written after each commit, so it is never ahead of an unharmed database.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mark {
    /// The random number that the database was created with.
    store: u64,
    /// How many transactions have changed it; 0 if there is none yet.
    writes: u64,
    /// When the last lease granted so far ends, in Unix time.
    until_ms: u64,
}

impl Mark {
    /// Mark of a database of which nothing but its loss is known.
    pub(crate) fn of_lost() -> Self {
        Self {
            writes: 1,
            ..Self::default()
        }
    }

    /// Whether a database has been written.
    pub(crate) fn has_writes(self) -> bool {
        self.writes > 0
    }

    pub(crate) fn to_text(self) -> String {
        format!("{} {} {}", self.store, self.writes, self.until_ms)
    }

    pub(crate) fn from_text(text: &str) -> Option<Self> {
        let mut numbers = text.split(' ').map(|number| number.parse().ok());
        let mut number = || numbers.next().flatten();
        Some(Self {
            store: number()?,
            writes: number()?,
            until_ms: number()?,
        })
    }

    /// How many transactions it knows of.
    pub(crate) fn writes(self) -> u64 {
        self.writes
    }

    /// Mark of a later write: the leases of this one still count.
    pub(crate) fn followed_by(self, mark: Self) -> Self {
        // A counter has no end (0), and a release an early one: neither hides that of a lease
        // before.
        let until_ms = self.until_ms.max(mark.until_ms);
        Self { until_ms, ..mark }
    }

    /// Whether a database is not the one that was marked, or has gone back.
    pub(crate) fn contradicts(self, stored: &Stored) -> bool {
        // A lower mark is that of a process which ended between its commit and its mark. No writes:
        // the lock file is new, and says nothing.
        self.writes > 0 && (self.store != stored.id || self.writes > stored.writes)
    }
}

/// Where a database was found, and what else is known of it.
#[derive(Debug)]
pub(crate) struct Evidence<'a> {
    pub(crate) path: &'a Path,
    pub(crate) identity: FileIdentity,
    /// From the lock file, and from this process's last operation.
    pub(crate) marks: [Mark; 2],
    /// How many writes a running process has seen, if that is more than the database has.
    pub(crate) ahead: Option<u64>,
}

/// What the database knows of itself: its only row.
#[derive(Debug)]
pub(crate) struct Stored {
    id: u64,
    writes: u64,
    identity: FileIdentity,
    path: String,
    known_end_ms: u64,
    breaks: u64,
    /// When it was made, in Unix time.
    made_ms: u64,
    /// A random number, drawn when it was made and at each break: of a database and its copy, or of
    /// two copies, each gets its own.
    search_from: u32,
}

impl Stored {
    /// State of a new database.
    pub(crate) fn new(evidence: &Evidence<'_>, now: Duration) -> Result<Self, EngineError> {
        Ok(Self {
            id: getrandom::u64().map_err(EngineError::unavailable)?,
            writes: 0,
            identity: evidence.identity,
            path: evidence.path.to_string_lossy().into_owned(),
            known_end_ms: 0,
            breaks: 0,
            // The column is a signed number.
            made_ms: i64::try_from(now.as_millis()).map_or(0, i64::cast_unsigned),
            search_from: random()?,
        })
    }

    pub(crate) fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let sql = "SELECT id, writes, inode, born_ns, path, known_end_ms, breaks, made_ms, search_from FROM store";
        connection.query_row(sql, [], |row| {
            let inode: Option<i64> = row.get(2)?;
            Ok(Self {
                id: row.get::<_, i64>(0)?.cast_unsigned(),
                writes: number(row, 1)?,
                identity: FileIdentity {
                    inode: inode.map(i64::cast_unsigned),
                    born_ns: row.get(3)?,
                },
                path: row.get(4)?,
                known_end_ms: number(row, 5)?,
                breaks: number(row, 6)?,
                made_ms: number(row, 7)?,
                search_from: row.get(8)?,
            })
        })
    }

    /// Counts a transaction that changes something, and gives the mark to remember it by; a lease
    /// that it grants ends at `until_ms`.
    pub(crate) fn write(
        &mut self,
        connection: &Connection,
        until_ms: u64,
    ) -> rusqlite::Result<Mark> {
        // In the same transaction as what is written: neither is there without the other.
        self.writes = self.writes.saturating_add(1);
        let values = params![
            self.id.cast_signed(),
            self.writes.cast_signed(),
            self.identity.inode.map(u64::cast_signed),
            self.identity.born_ns,
            self.path,
            self.known_end_ms.cast_signed(),
            self.breaks.cast_signed(),
            self.made_ms.cast_signed(),
            self.search_from,
        ];
        connection.execute(
            "REPLACE INTO store VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            values,
        )?;
        Ok(Mark {
            store: self.id,
            writes: self.writes,
            until_ms,
        })
    }

    /// Compares the database with the evidence, and counts a break if it may have forgotten
    /// something. If it is a copy, it is refused. Says whether that is to be written.
    pub(crate) fn check(&mut self, evidence: &Evidence<'_>) -> Result<bool, EngineError> {
        let Evidence {
            path,
            identity,
            marks,
            ahead,
        } = evidence;
        let name = path.to_string_lossy();
        // Copies first: below, the path and the identity become those of this file, and then
        // nothing would tell it from the original.
        let is_renamed = self.path != name;
        if is_renamed && self.is_copied_to(path) {
            let why = format!(
                "this is a copy of the lease store {}, and both would grant the same node ids; use that \
                 one, or remove it before this one is used in its place",
                self.path
            );
            return Err(EngineError::failed_precondition(why));
        }
        let is_broken = self.identity != *identity
            || ahead.is_some()
            || marks.iter().any(|mark| mark.contradicts(self));
        if is_broken {
            self.breaks = self.breaks.saturating_add(1);
            self.search_from = random()?;
            // The marks know of leases that a clock ahead of ours has granted.
            // The column is a signed number.
            let known = marks.iter().map(|mark| mark.until_ms.min(i64::MAX as u64));
            self.known_end_ms = known.fold(self.known_end_ms, u64::max);
        }
        // From now on this is the file that is known, and nobody has seen more writes, so that one
        // loss counts once.
        self.writes = self.writes.max(ahead.unwrap_or(0));
        self.identity = *identity;
        self.path = name.into_owned();
        Ok(is_broken || is_renamed)
    }

    /// Whether what is at a path is a copy: the file that was recorded is still there, and is
    /// another one.
    fn is_copied_to(&self, path: &Path) -> bool {
        // Where no original is to be seen, this file was moved.
        let Ok(Some(original)) = private_file::look(Path::new(&self.path)) else {
            return false;
        };
        let is_here = path
            .symlink_metadata()
            .is_ok_and(|here| private_file::is_same(&here, &original.metadata));
        // Where the system tells no inode, no two files can be told apart.
        self.identity.inode.is_some() && original.identity == self.identity && !is_here
    }

    /// How many transactions have changed it.
    pub(crate) fn writes(&self) -> u64 {
        self.writes
    }

    /// Mark of its last write, of which no end of a lease is known.
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            store: self.id,
            writes: self.writes,
            until_ms: 0,
        }
    }

    /// How often it may have forgotten something.
    pub(crate) fn breaks(&self) -> u64 {
        self.breaks
    }

    /// What namespaces and counters are told of the database.
    pub(crate) fn continuity(&self) -> Continuity {
        Continuity {
            fingerprint: format!("{:016x}/{}", self.id, self.breaks),
            // A copy beside its original is refused by `check`, which looks for the original.
            identity: String::new(),
            // After a break a record that is missing may be one that was lost.
            is_absence_certain: self.breaks == 0,
            known_end_unix_ms: self.known_end_ms,
            made_unix_ms: self.made_ms,
            search_from: self.search_from,
            fault: None,
        }
    }

    /// What the continuity is known by, for people.
    pub(crate) fn fingerprint(&self) -> String {
        let FileIdentity { inode, born_ns } = self.identity;
        let inode = inode.map_or_else(|| "unknown".to_owned(), |inode| inode.to_string());
        let born = born_ns.map_or_else(|| "unknown".to_owned(), |ns| format!("{ns} ns"));
        let (id, writes) = (self.id, self.writes);
        format!("store {id:016x}, inode {inode}, born {born}, {writes} writes")
    }
}

fn random() -> Result<u32, EngineError> {
    getrandom::u32().map_err(EngineError::unavailable)
}

/// A number that is never negative, unless somebody has edited the table.
fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
}
