//! Targets without a vector backend: only the portable code.

use super::{Implementation, portable::PORTABLE};

pub(super) fn available() -> &'static [Implementation] {
    &[PORTABLE]
}
