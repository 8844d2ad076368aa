//! The database file and those beside it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::failure::{io, refused, unusable};
use crate::lease::EngineError;
use crate::private_file::{self, Identity};

const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// What SQLite reads into a database when it opens it.
const LOGS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Where the database and its lock file are, by names that all processes share.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) database: PathBuf,
    pub(super) lock: PathBuf,
}

impl Place {
    /// Resolves links and relative paths, and creates the directory.
    pub(super) fn resolve(path: &Path) -> Result<Self, EngineError> {
        private_file::follow(path).map_err(refused)?;
        let database = match path.canonicalize() {
            Ok(database) => database,
            Err(error) if error.kind() == ErrorKind::NotFound => resolve_new(path)?,
            Err(error) => return Err(io(path, error)),
        };
        if let Some(directory) = database.parent() {
            private_file::check_directory(directory).map_err(refused)?;
        }
        let lock = beside(&database, ".lock");
        if !lock.exists() {
            refuse_other_files(&database)?;
        }
        Ok(Self { database, lock })
    }

    /// Sees to it that there is a file for SQLite to open, and says which.
    pub(super) fn prepare(&self) -> Result<Identity, EngineError> {
        let path = &self.database;
        let there = private_file::look(path).map_err(refused)?;
        for log in LOGS.map(|suffix| beside(path, suffix)) {
            private_file::look(&log).map_err(refused)?;
        }
        let Some(found) = there.filter(|found| found.metadata.len() > 0) else {
            // SQLite would read into the new database what was not yet moved into a deleted one.
            for log in LOGS.map(|suffix| beside(path, suffix)) {
                remove_if_there(&log)?;
            }
            private_file::open(path).map_err(refused)?;
            return self.identity();
        };
        let links = private_file::links(&found.metadata);
        if links > 1 {
            let why = format!(
                "the file has {links} names (hard links), and under two names SQLite loses what is \
                 written; remove the others"
            );
            return Err(unusable(path, &why));
        }
        Ok(found.identity)
    }

    /// What the file that is there now is known by.
    pub(super) fn identity(&self) -> Result<Identity, EngineError> {
        match private_file::look(&self.database).map_err(refused)? {
            Some(found) => Ok(found.identity),
            None => Err(io(&self.database, ErrorKind::NotFound.into())),
        }
    }
}

/// A name whose file does not exist yet.
fn resolve_new(path: &Path) -> Result<PathBuf, EngineError> {
    if path.is_symlink() {
        return Err(unusable(path, &"this link leads nowhere"));
    }
    let Some(name) = path.file_name() else {
        return Err(unusable(path, &"this is not the name of a file"));
    };
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    private_file::create_directory(parent).map_err(refused)?;
    let parent = parent.canonicalize().map_err(|error| io(parent, error))?;
    Ok(parent.join(name))
}

/// Leaves no lock file beside what is no database.
fn refuse_other_files(path: &Path) -> Result<(), EngineError> {
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return Err(not_a_file(path));
    }
    let Ok(file) = File::open(path) else {
        return Ok(());
    };
    let mut head = Vec::new();
    let read = file.take(MAGIC.len() as u64).read_to_end(&mut head);
    if read.is_ok() && !head.is_empty() && head != MAGIC {
        return Err(unusable(path, &"this is not an SQLite database"));
    }
    Ok(())
}

fn not_a_file(path: &Path) -> EngineError {
    unusable(path, &"this is not a file")
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

fn remove_if_there(path: &Path) -> Result<(), EngineError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(io(path, error)),
        _ => Ok(()),
    }
}
