//! Volumes of files: whether one outlives the machine, the pod or the container.

use std::path::Path;

use crate::types::Finding;

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

/// Tells of the volume, and in one sentence what it means for a store that the file vanishes with
/// it.
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

/// The magic numbers are those of Linux's `include/uapi/linux/magic.h`; of CIFS and SMB2
/// `fs/smb/client/cifsglob.h`.
#[cfg(target_os = "linux")]
mod os {
    use std::path::Path;

    use super::VolumeKind;

    const TMPFS: u64 = 0x0102_1994;
    const RAMFS: u64 = 0x8584_58f6;
    const OVERLAYFS: u64 = 0x794c_7630;
    /// Network and cluster file systems by name. Those that are not in Linux itself are numbered in
    /// GNU coreutils' `src/stat.c`.
    const SHARED: [(u64, &str); 18] = [
        (0x6969, "NFS"),
        (0xff53_4d42, "CIFS"),
        (0xfe53_4d42, "SMB"),
        (0x517b, "SMB"),
        (0x00c3_6400, "CephFS"),
        (0x0102_1997, "9p"),
        (0x0bd0_0bd0, "Lustre"),
        (0x4750_4653, "GPFS"),
        (0x1983_0326, "BeeGFS"),
        (0x0116_1970, "GFS2"),
        (0x7461_636f, "OCFS2"),
        (0x2003_0528, "OrangeFS"),
        (0x5346_414f, "AFS"),
        (0x6b41_4653, "AFS"),
        (0x7375_7245, "Coda"),
        (0x786f_4256, "a folder of VirtualBox's host"),
        (0xbacb_acbc, "a folder of VMware's host"),
        // Nothing tells them apart.
        (0x6573_5546, "FUSE, as GlusterFS, virtiofs and sshfs are"),
    ];

    pub(super) fn kind(path: &Path) -> VolumeKind {
        // The directory's: the file itself may not be there yet.
        let found = path
            .parent()
            .and_then(|directory| rustix::fs::statfs(directory).ok());
        // Its type differs between processors.
        #[expect(clippy::cast_sign_loss, reason = "a bit pattern")]
        let magic = found.map(|found| found.f_type as u64 & 0xffff_ffff);
        // No answer is no finding: `diagnose` must not fail for it.
        magic.map_or(VolumeKind::Other, kind_of)
    }

    fn kind_of(magic: u64) -> VolumeKind {
        let shared = SHARED.iter().find(|(shared, _)| *shared == magic);
        match (magic, shared) {
            (TMPFS | RAMFS, _) => VolumeKind::Memory,
            // Where containers keep what they write; it goes with the container.
            (OVERLAYFS, _) => VolumeKind::Container,
            (_, Some((_, name))) => VolumeKind::Shared(name),
            _ => VolumeKind::Other,
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn file_systems_that_machines_share_are_named() {
            let name = |magic| match kind_of(magic) {
                VolumeKind::Shared(name) => name,
                _ => "",
            };
            assert_eq!(name(0x00c3_6400), "CephFS");
            assert_eq!(name(0x0102_1997), "9p");
            assert!(name(0x6573_5546).contains("virtiofs"));
            // ext4
            assert!(matches!(kind_of(0xef53), VolumeKind::Other));
            assert!(matches!(
                kind(Path::new("/proc/self/nothing")),
                VolumeKind::Other
            ));
            // Each number once.
            let mut numbers = SHARED.map(|(magic, _)| magic);
            numbers.sort_unstable();
            assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }
}

/// Where the system does not say.
#[cfg(not(target_os = "linux"))]
mod os {
    use std::path::Path;

    use super::VolumeKind;

    pub(super) fn kind(_: &Path) -> VolumeKind {
        VolumeKind::Other
    }
}
