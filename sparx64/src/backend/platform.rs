//! Targets without vectors of ours.

use super::{Implementation, portable::PORTABLE};

pub(super) fn available() -> &'static [Implementation] {
    &[PORTABLE]
}
