//! What can go wrong with a database, sorted into what its callers can do about it.

use std::path::Path;

use rusqlite::ErrorCode;

use crate::lease::EngineError;

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
            Self::Sql(error) if is_lasting(&error) => {
                EngineError::of_file(path, &error).because(error)
            }
            Self::Sql(error) => EngineError::unavailable(error).at(&path.display().to_string()),
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
