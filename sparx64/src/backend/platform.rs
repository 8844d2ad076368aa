//! Targets without a vector backend: only the portable code.

use super::lanes::{Implementation, PORTABLE};

pub(super) fn available() -> &'static [Implementation] {
    &[PORTABLE]
}
