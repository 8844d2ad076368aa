//! The database file and those beside it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::glance;
use randflake_lease::EngineError;
use randflake_lease::private_file;
use randflake_lease::private_file::Found;
use randflake_lease::unstable::file::resolve;

/// What SQLite reads into a database when it opens it.
const LOGS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Where the database and its lock file are, by names that all processes share.
#[derive(Clone, Debug)]
pub(crate) struct SqlitePath {
    pub(crate) database: PathBuf,
    pub(crate) lock: PathBuf,
}

impl SqlitePath {
    /// Resolves links and relative paths.
    pub(crate) fn resolve(path: &Path) -> Result<Self, EngineError> {
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
        if !lock.exists() && !glance::is_database(&database) {
            return Err(EngineError::of_file(
                &database,
                "this is not an SQLite database",
            ));
        }
        Ok(Self { database, lock })
    }

    /// Whether there is no database, but what SQLite keeps beside one: it was there.
    pub(crate) fn has_remains(&self) -> bool {
        let is_there = |path: &Path| path.symlink_metadata().is_ok();
        !is_there(&self.database)
            && LOGS
                .iter()
                .any(|log| is_there(&beside(&self.database, log)))
    }

    /// Sees to it that there is a file for SQLite to open, and says which. Only who opens a store
    /// makes it.
    pub(crate) fn prepare(&self, is_opening: bool) -> Result<Found, EngineError> {
        // A link in the place of a journal would let SQLite write elsewhere.
        for suffix in LOGS {
            private_file::look(&beside(&self.database, suffix))?;
        }
        if is_opening && private_file::look(&self.database)?.is_none() {
            // It is empty, so SQLite does not read into it what is left of a deleted one.
            private_file::open(&self.database)?;
        }
        self.found()
    }

    /// The file that is there now.
    pub(crate) fn found(&self) -> Result<Found, EngineError> {
        private_file::look(&self.database)?.ok_or_else(|| self.gone())
    }

    /// Refusal of a process whose store is not there any more.
    pub(crate) fn gone(&self) -> EngineError {
        let why = "the lease store that this process uses is gone, and it makes no new one in its place: put it back (is its \
                   volume mounted?), or restart this process if a new store is meant";
        EngineError::of_file(&self.database, why)
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}
