//! A build without encryption.

use core::error::Error;

pub(in crate::store) fn refusal(_: &(dyn Error + 'static)) -> Option<String> {
    None
}
