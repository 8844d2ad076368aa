//! The database file and those beside it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::private_file::{self, FileIdentity, FileRefusal};
use crate::store::locked::resolve;
use crate::vocabulary::EngineError;

const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// What SQLite reads into a database when it opens it.
const LOGS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Where the database and its lock file are, by names that all processes share.
#[derive(Clone, Debug)]
pub(super) struct SqlitePath {
    pub(super) database: PathBuf,
    pub(super) lock: PathBuf,
}

impl SqlitePath {
    /// Resolves links and relative paths.
    pub(super) fn resolve(path: &Path) -> Result<Self, EngineError> {
        let place = private_file::follow(path)?;
        // As with a missing directory: the volume behind the link may not be mounted.
        if place.symlink_metadata().is_err() && place != path {
            return Err(EngineError::of_file(path, "this link leads nowhere"));
        }
        let database = resolve(&place)?;
        // Before the lock file is made: beside a file that is refused there is to be none.
        private_file::look(&database)?;
        let lock = beside(&database, ".lock");
        // With a lock file beside it, it was a store: SQLite says later what is wrong with it.
        if !lock.exists() && is_another_program_s(&database) {
            return Err(EngineError::of_file(
                &database,
                "this is not an SQLite database",
            ));
        }
        Ok(Self { database, lock })
    }

    /// Sees to it that there is a file for SQLite to open, and says which.
    pub(super) fn prepare(&self) -> Result<FileIdentity, EngineError> {
        // A link in the place of a journal would let SQLite write elsewhere.
        for suffix in LOGS {
            private_file::look(&beside(&self.database, suffix))?;
        }
        if let Some(found) = private_file::look(&self.database)? {
            return Ok(found.identity);
        }
        // It is empty, so SQLite does not read into it what is left of a deleted one.
        private_file::open(&self.database)?;
        self.identity()
    }

    /// What the file that is there now is known by.
    pub(super) fn identity(&self) -> Result<FileIdentity, EngineError> {
        let path = &self.database;
        let found = private_file::look(path)?;
        let found = found.ok_or_else(|| FileRefusal::io(path, ErrorKind::NotFound.into()))?;
        Ok(found.identity)
    }
}

/// Whether a file is another program's, which gets no lock file beside it.
fn is_another_program_s(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).map(|file| file.take(MAGIC.len() as u64).read_to_end(&mut head));
    matches!(read, Ok(Ok(_))) && !head.is_empty() && head != MAGIC
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}
