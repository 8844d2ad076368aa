//! What can go wrong with a database, sorted into what its callers can do about it.

use core::error::Error;
use core::fmt::{self, Display, Formatter};
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use crate::lease::StoreError;
use crate::private_file::{Reason, Refusal};

/// An error inside a transaction, before it has its path.
#[derive(Debug)]
pub(super) enum Failure {
    Sql(rusqlite::Error),
    Store(StoreError),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Failure {
    /// The error as a caller of the store sees it.
    pub(super) fn at(self, path: &Path) -> StoreError {
        match self {
            Self::Store(error) => error,
            Self::Sql(error) if is_lasting(&error) => unusable(path, &error),
            Self::Sql(error) => StoreError::unavailable(AtPath {
                path: path.to_owned(),
                source: error,
            }),
        }
    }
}

/// Whether trying again cannot help.
fn is_lasting(error: &rusqlite::Error) -> bool {
    match error.sqlite_error_code() {
        Some(code) => !matches!(
            code,
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::DiskFull
                | ErrorCode::FileLockingProtocolFailed
                | ErrorCode::OperationInterrupted
                | ErrorCode::OutOfMemory
                | ErrorCode::SystemIoFailure
        ),
        // A value of the wrong type or range: the file is damaged, or was edited.
        None => true,
    }
}

/// A failure of the file system.
pub(super) fn io(path: &Path, error: io::Error) -> StoreError {
    use io::ErrorKind as Kind;
    match error.kind() {
        Kind::PermissionDenied
        | Kind::ReadOnlyFilesystem
        | Kind::NotADirectory
        | Kind::IsADirectory
        | Kind::InvalidFilename
        | Kind::InvalidInput
        | Kind::Unsupported => unusable(path, &error),
        _ => StoreError::unavailable(AtPath {
            path: path.to_owned(),
            source: error,
        }),
    }
}

/// A file or directory that is not to be trusted, or fails.
pub(super) fn refused(refusal: Refusal) -> StoreError {
    match refusal.reason {
        Reason::Io(error) => io(&refusal.path, error),
        _ => StoreError::Unusable(refusal.to_string()),
    }
}

/// The sentence that names the file.
pub(super) fn unusable(path: &Path, why: &dyn Display) -> StoreError {
    StoreError::Unusable(format!("{}: {why}", path.display()))
}

#[derive(Debug)]
struct AtPath<E> {
    path: PathBuf,
    source: E,
}

impl<E: Display> Display for AtPath<E> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.source)
    }
}

impl<E: Error + 'static> Error for AtPath<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}
