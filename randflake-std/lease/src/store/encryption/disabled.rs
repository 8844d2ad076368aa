//! A build without encryption.

use core::error::Error;

/// None: without encryption no error is of it.
#[must_use]
pub fn refusal(_: &(dyn Error + 'static)) -> Option<String> {
    None
}
