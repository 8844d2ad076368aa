//! Where the system does not say.

use std::path::Path;

use super::Kind;

pub(super) fn kind(_: &Path) -> Kind {
    Kind::Other
}
