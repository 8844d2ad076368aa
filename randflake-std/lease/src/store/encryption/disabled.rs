//! A build without encryption.

use core::error::Error;

use crate::vocabulary::EngineError;

/// None: without encryption no error is of it.
#[must_use]
pub fn refusal(_: &(dyn Error + 'static)) -> Option<String> {
    None
}

/// Error where the URL asks for an encrypted connection.
#[must_use]
pub fn without_tls() -> EngineError {
    EngineError::unusable(
        "this build cannot encrypt connections: build it with the cargo feature `tls`",
    )
}
