//! What can go wrong with a database, sorted into what its callers can do about it.

use core::error::Error;
use core::fmt::Display;
use std::io;
use std::path::Path;

use rusqlite::ErrorCode;

use crate::lease::EngineError;
use crate::private_file::{Reason, Refusal};

/// An error inside a transaction, before it has its path.
#[derive(Debug)]
pub(super) enum Failure {
    Sql(rusqlite::Error),
    Engine(EngineError),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl Failure {
    /// The error as a caller of the engine sees it.
    pub(super) fn at(self, path: &Path) -> EngineError {
        match self {
            Self::Engine(error) => error,
            Self::Sql(error) if is_lasting(&error) => unusable(path, &error).because(error),
            Self::Sql(error) => unavailable(path, error),
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
pub(super) fn io(path: &Path, error: io::Error) -> EngineError {
    use io::ErrorKind as Kind;
    match error.kind() {
        Kind::PermissionDenied
        | Kind::ReadOnlyFilesystem
        | Kind::NotADirectory
        | Kind::IsADirectory
        | Kind::InvalidFilename
        | Kind::InvalidInput
        | Kind::Unsupported => unusable(path, &error).because(error),
        _ => unavailable(path, error),
    }
}

/// A file or directory that is not to be trusted, or fails.
pub(super) fn refused(refusal: Refusal) -> EngineError {
    match refusal.reason {
        Reason::Io(error) => io(&refusal.path, error),
        _ => EngineError::unusable(refusal.to_string()),
    }
}

/// The sentence that names the file.
pub(super) fn unusable(path: &Path, why: &dyn Display) -> EngineError {
    EngineError::unusable(format!("{}: {why}", path.display()))
}

fn unavailable(path: &Path, error: impl Error + Send + Sync + 'static) -> EngineError {
    EngineError::unavailable(format!("{}: {error}", path.display())).because(error)
}
