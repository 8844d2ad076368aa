//! Whether the file's volume outlives the machine, the pod or the container.

use std::path::Path;

use crate::types::Finding;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as os;
#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(not(target_os = "linux"))]
use other as os;

/// What is known of a volume.
enum VolumeKind {
    /// It is in memory.
    Memory,
    /// It is a container's own layer.
    Container,
    /// It is a network or cluster file system of this name.
    Shared(&'static str),
    /// It is of another kind, or not known.
    Other,
}

/// Tells of the volume, and in one sentence what it means for a store that the file vanishes with it.
#[must_use]
pub fn finding(path: &Path, vanishes: &str) -> Finding {
    let name = "volume";
    match os::kind(path) {
        VolumeKind::Memory => Finding::caution(name, "in memory", vanishes),
        VolumeKind::Container => Finding::caution(name, "a container's own layer", vanishes),
        VolumeKind::Shared(kind) => {
            let sentence = "its locks may not hold between machines, and then two grant the same ids: use a disk of this \
                            machine, or a lease store on a server";
            Finding::caution(
                name,
                format!("network or cluster file system: {kind}"),
                sentence,
            )
        }
        VolumeKind::Other => Finding::fine(name, "a disk, or not known"),
    }
}
