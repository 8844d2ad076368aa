//! Errors of SQLite, sorted by whether another try can succeed.

use randflake_lease::EngineError;
use randflake_lease::private_file::FileRefusal;
use rusqlite::ErrorCode;

/// An [`EngineError`] that `?` makes of an error of SQLite too.
#[derive(Debug)]
pub(crate) struct Failure(EngineError);

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self(if is_lasting(&error) {
            EngineError::failed_precondition(error.to_string()).because(error)
        } else {
            EngineError::unavailable(error)
        })
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Self(error)
    }
}

impl From<FileRefusal> for Failure {
    fn from(refusal: FileRefusal) -> Self {
        Self(refusal.into())
    }
}

impl From<Failure> for EngineError {
    fn from(failure: Failure) -> Self {
        failure.0
    }
}

/// Whether trying again cannot help.
fn is_lasting(error: &rusqlite::Error) -> bool {
    match error.sqlite_error_code() {
        // These may pass. Any other code is lasting, also a new one of a later SQLite.
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
