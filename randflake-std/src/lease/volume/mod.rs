//! Whether the file's volume outlives the machine, the pod or the container.

use std::path::Path;

use super::Finding;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as os;
#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(not(target_os = "linux"))]
use other as os;

/// What is known of a volume.
enum Kind {
    /// It is in memory.
    Memory,
    /// It is a container's own layer.
    Container,
    /// It is on a server.
    Network,
    /// It is of another kind, or not known.
    Other,
}

/// Tells of the volume, and in one sentence what it means for a store that the file vanishes with it.
pub(super) fn finding(path: &Path, vanishes: &str) -> Finding {
    let name = "volume";
    match os::kind(path) {
        Kind::Memory => Finding::caution(name, "in memory", vanishes),
        Kind::Container => Finding::caution(name, "a container's own layer", vanishes),
        Kind::Network => {
            let sentence = "two machines are kept apart only if its locks work across them";
            Finding::caution(name, "on the network", sentence)
        }
        Kind::Other => Finding::fine(name, "a disk, or not known"),
    }
}
