//! Where the system does not say.

use std::path::Path;

use super::VolumeKind;

pub(super) fn kind(_: &Path) -> VolumeKind {
    VolumeKind::Other
}
