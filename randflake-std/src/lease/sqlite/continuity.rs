//! Whether the database is what it was, or has lost leases that were granted.

use std::path::Path;

use rusqlite::{Connection, Row, params};

use super::failure::{Failure, unusable};
use super::lock::Mark;
use crate::lease::EngineError;
use crate::ledger::Continuity;
use crate::private_file::{self, Identity};

/// Where a database was found, and what else is known of it.
#[derive(Debug)]
pub(super) struct Evidence<'a> {
    pub(super) path: &'a Path,
    pub(super) identity: Identity,
    /// From the lock file, and from this process's last operation.
    pub(super) marks: [Mark; 2],
}

/// Puts the only row into a new database.
pub(super) fn begin(connection: &Connection, evidence: &Evidence<'_>) -> Result<(), Failure> {
    let id = getrandom::u64().map_err(EngineError::unavailable)?;
    connection.execute(
        "INSERT INTO store VALUES (1, ?1, 0, ?2, ?3, ?4, 0, 0)",
        params![
            id.cast_signed(),
            evidence.identity.inode.map(u64::cast_signed),
            evidence.identity.born_ns,
            evidence.path.to_string_lossy()
        ],
    )?;
    Ok(())
}

/// Compares the database with the evidence, and counts a break if it may have forgotten something. If it is a
/// copy, it is refused. Says whether it changed anything.
pub(super) fn check(connection: &Connection, evidence: &Evidence<'_>) -> Result<bool, Failure> {
    let Evidence {
        path,
        identity,
        marks,
    } = evidence;
    let stored = Stored::read(connection)?;
    let name = path.to_string_lossy();
    let moved = stored.identity != *identity;
    if stored.path != name && stored.is_copied_to(path) {
        let why = format!(
            "this is a copy of the lease store {}, and both would grant the same node ids; use that \
             one, or remove it before this one is used in its place",
            stored.path
        );
        return Err(unusable(path, &why).into());
    }
    let contradicted = marks
        .iter()
        .any(|mark| mark.contradicts(stored.id, stored.writes));
    if !moved && !contradicted && stored.path == name {
        return Ok(false);
    }
    // The marks know of leases that a clock ahead of ours has granted.
    let known_end_ms = marks.iter().map(|mark| mark.until_ms).max().unwrap_or(0);
    connection.execute(
        "UPDATE store SET inode = ?1, born_ns = ?2, path = ?3, breaks = breaks + ?4,
            known_end_ms = max(known_end_ms, ?4 * ?5)",
        params![
            identity.inode.map(u64::cast_signed),
            identity.born_ns,
            name,
            moved || contradicted,
            i64::try_from(known_end_ms).unwrap_or(i64::MAX),
        ],
    )?;
    Ok(true)
}

/// What namespaces and counters are told of the database.
pub(super) fn told(connection: &Connection) -> rusqlite::Result<Continuity> {
    connection.query_row("SELECT id, breaks, known_end_ms FROM store", [], |row| {
        let (id, breaks) = (row.get::<_, i64>(0)?.cast_unsigned(), number(row, 1)?);
        Ok(Continuity {
            fingerprint: format!("{id:016x}/{breaks}"),
            is_absence_certain: breaks == 0,
            known_end_unix_ms: number(row, 2)?,
            fault: None,
        })
    })
}

/// What the continuity is known by, for people.
pub(super) fn fingerprint(connection: &Connection) -> rusqlite::Result<String> {
    let Stored {
        id,
        writes,
        identity: Identity { inode, born_ns },
        ..
    } = Stored::read(connection)?;
    let inode = inode.map_or_else(|| "unknown".to_owned(), |inode| inode.to_string());
    let born = born_ns.map_or_else(|| "unknown".to_owned(), |ns| format!("{ns} ns"));
    Ok(format!(
        "store {id:016x}, inode {inode}, born {born}, {writes} writes"
    ))
}

struct Stored {
    id: u64,
    writes: u64,
    identity: Identity,
    path: String,
}

impl Stored {
    fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let sql = "SELECT id, writes, inode, born_ns, path FROM store";
        connection.query_row(sql, [], |row| {
            let inode: Option<i64> = row.get(2)?;
            let identity = Identity {
                inode: inode.map(i64::cast_unsigned),
                born_ns: row.get(3)?,
            };
            Ok(Self {
                id: row.get::<_, i64>(0)?.cast_unsigned(),
                writes: number(row, 1)?,
                identity,
                path: row.get(4)?,
            })
        })
    }

    /// Whether what is at a path is a copy: the file that was recorded is still there, and is another one.
    fn is_copied_to(&self, path: &Path) -> bool {
        let Ok(Some(original)) = private_file::look(Path::new(&self.path)) else {
            return false;
        };
        let is_here = path
            .symlink_metadata()
            .is_ok_and(|here| private_file::is_same(&here, &original.metadata));
        self.identity.inode.is_some() && original.identity == self.identity && !is_here
    }
}

/// Counts a transaction that changed something, and gives the mark to remember it by.
pub(super) fn count_write(connection: &Connection) -> rusqlite::Result<Mark> {
    connection.query_row(
        "UPDATE store SET writes = writes + 1 RETURNING id, writes",
        [],
        |row| {
            Ok(Mark {
                store: row.get::<_, i64>(0)?.cast_unsigned(),
                writes: number(row, 1)?,
                until_ms: 0,
            })
        },
    )
}

/// A number that is never negative, unless somebody has edited the table.
fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
}
