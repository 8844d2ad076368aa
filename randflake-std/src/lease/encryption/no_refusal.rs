//! A build without encryption.

use core::error::Error;

pub(in crate::lease) fn refusal(_: &(dyn Error + 'static)) -> Option<String> {
    None
}
