//! What SQLite says, sorted into what can be done about it.

use rusqlite::ErrorCode;

use crate::vocabulary::EngineError;

impl From<rusqlite::Error> for EngineError {
    fn from(error: rusqlite::Error) -> Self {
        if is_lasting(&error) {
            Self::unusable(error.to_string()).because(error)
        } else {
            Self::unavailable(error)
        }
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
