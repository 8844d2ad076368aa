//! Owners, modes and links of Unix.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{OFlags, StatVfsMountFlags, fstatvfs};
use rustix::process::{getegid, geteuid, getgroups};

use super::refusal::RefusalReason;
use super::{FileIdentity, Found, Readers};

const ROOT: u32 = 0;
const STICKY: u32 = 0o1000;
const SETGID: u32 = 0o2000;
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;

/// The mount that a file is seen through, where the system says.
pub(super) type Mount = Option<u64>;

pub(super) fn private_file(options: &mut OpenOptions) {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    options.mode(0o600).custom_flags(flags.bits().cast_signed());
}

/// Opening a named pipe would wait for its other end for ever.
pub(super) fn without_wait(options: &mut OpenOptions) {
    options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
}

pub(super) fn private_directory(builder: &mut DirBuilder) {
    builder.mode(0o700);
}

pub(super) fn found(file: &File) -> io::Result<(Found, Mount)> {
    let metadata = file.metadata()?;
    let (born_ns, mount) = more::of_file(file, &metadata);
    Ok((with(metadata, born_ns), mount))
}

pub(super) fn found_at(metadata: Metadata, path: &Path) -> (Found, Mount) {
    let (born_ns, mount) = more::of_path(path, &metadata);
    (with(metadata, born_ns), mount)
}

fn with(metadata: Metadata, born_ns: Option<i64>) -> Found {
    let identity = FileIdentity {
        inode: Some(metadata.ino()),
        born_ns,
    };
    Found { metadata, identity }
}

pub(super) fn check_owner(metadata: &Metadata) -> Result<(), RefusalReason> {
    let (uid, process) = (metadata.uid(), geteuid().as_raw());
    // Root can change any file anyway.
    if uid == process || uid == ROOT {
        return Ok(());
    }
    Err(RefusalReason::Owner { uid, process })
}

/// Refuses a file that others than its owner may write to. A group may in a directory that root has
/// set aside for that group: Kubernetes gives all files of a volume with an `fsGroup` to it, and a
/// pod cannot take the right away for good.
pub(super) fn check_writers(metadata: &Metadata, directory: &Path) -> Result<(), RefusalReason> {
    check_mode(metadata, || is_volume_of(metadata.gid(), directory))
}

/// In a sticky directory nobody removes or renames another's file.
pub(super) fn check_directory_writers(metadata: &Metadata) -> Result<(), RefusalReason> {
    // So it may be anybody's to write: the files in it have an owner, which is checked for each.
    if metadata.mode() & STICKY != 0 {
        return Ok(());
    }
    check_mode(metadata, || true)
}

/// Refuses what others may write to, or a group that this process is not in or that may not by
/// `is_group_trusted`.
fn check_mode(
    metadata: &Metadata,
    is_group_trusted: impl FnOnce() -> bool,
) -> Result<(), RefusalReason> {
    let mode = metadata.mode();
    let is_group_allowed = || is_in_group(metadata.gid()) && is_group_trusted();
    if mode & OTHERS_WRITE != 0 || mode & GROUP_WRITES != 0 && !is_group_allowed() {
        let mode = mode & 0o7777;
        return Err(RefusalReason::Writable { mode });
    }
    Ok(())
}

/// Whether a directory is one that root gave to a group, with all that is made in it, as the
/// kubelet does.
fn is_volume_of(gid: u32, directory: &Path) -> bool {
    directory
        .metadata()
        .is_ok_and(|found| found.uid() == ROOT && found.gid() == gid && found.mode() & SETGID != 0)
}

/// Whether only those read a key who may; a read-only mount shows it to all who see the mount, with
/// a caution.
pub(super) fn check_readers(file: &File, metadata: &Metadata) -> Result<Readers, RefusalReason> {
    const GROUP_AND_OTHERS: u32 = 0o077;
    const GROUP_READS: u32 = 0o040;
    const OTHERS_READ: u32 = 0o004;
    let mode = metadata.mode();
    let granted = mode & GROUP_AND_OTHERS;
    // Root hands a key to a group or by an access list, as Kubernetes and systemd do.
    let handed = if metadata.uid() == ROOT {
        GROUP_READS
    } else {
        0
    };
    if granted & !handed == 0 {
        return Ok(Readers::Few);
    }
    // Nobody can take the right away there, as Kubernetes and Docker mount secrets by default.
    if granted & !(GROUP_READS | OTHERS_READ) == 0 && is_mounted_read_only(file) {
        return Ok(Readers::All);
    }
    let mode = mode & 0o777;
    Err(RefusalReason::Readable { mode })
}

fn is_mounted_read_only(file: &File) -> bool {
    fstatvfs(file).is_ok_and(|mount| mount.f_flag.contains(StatVfsMountFlags::RDONLY))
}

fn is_in_group(gid: u32) -> bool {
    // Supplementary groups, too: `fsGroup` gives a pod one of these.
    let is_it = |group: &rustix::process::Gid| group.as_raw() == gid;
    is_it(&getegid()) || getgroups().is_ok_and(|groups| groups.iter().any(is_it))
}

pub(super) fn is_mounted_alone(mount: Mount, directory: &Path) -> bool {
    // Where the system does not say, it is not: only a difference that is seen is refused.
    let around = more::mount_of(directory);
    mount.is_some() && around.is_some() && mount != around
}

pub(super) fn is_same(a: &Metadata, b: &Metadata) -> bool {
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

pub(super) fn links(metadata: &Metadata) -> u64 {
    metadata.nlink()
}

pub(super) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// What `statx` adds: when a file was made, and the mount that it is seen through (Linux 5.8).
#[cfg(target_os = "linux")]
mod more {
    use std::fs::{File, Metadata};
    use std::path::Path;

    use rustix::fs::{AtFlags, CWD, Statx, StatxFlags, statx};

    use super::Mount;

    const ASKED: StatxFlags = StatxFlags::BTIME.union(StatxFlags::MNT_ID);

    pub(super) fn of_file(file: &File, _: &Metadata) -> (Option<i64>, Mount) {
        split(&statx(file, "", AtFlags::EMPTY_PATH, ASKED))
    }

    pub(super) fn of_path(path: &Path, _: &Metadata) -> (Option<i64>, Mount) {
        split(&statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, ASKED))
    }

    pub(super) fn mount_of(directory: &Path) -> Mount {
        split(&statx(CWD, directory, AtFlags::empty(), ASKED)).1
    }

    fn split(told: &rustix::io::Result<Statx>) -> (Option<i64>, Mount) {
        let Ok(told) = told else {
            return (None, None);
        };
        // File systems and older kernels leave out what they do not know, and say so.
        let has = |field: StatxFlags| told.stx_mask & field.bits() != 0;
        let born = told.stx_btime;
        let born_ns = born
            .tv_sec
            .checked_mul(1_000_000_000)
            .and_then(|ns| ns.checked_add(born.tv_nsec.into()))
            .filter(|_| has(StatxFlags::BTIME));
        (
            born_ns,
            Some(told.stx_mnt_id).filter(|_| has(StatxFlags::MNT_ID)),
        )
    }
}

/// Unix systems without `statx`.
#[cfg(not(target_os = "linux"))]
mod more {
    use std::fs::{File, Metadata};
    use std::path::Path;
    use std::time::UNIX_EPOCH;

    use super::Mount;

    pub(super) fn of_file(_: &File, metadata: &Metadata) -> (Option<i64>, Mount) {
        (born_ns(metadata), None)
    }

    pub(super) fn of_path(_: &Path, metadata: &Metadata) -> (Option<i64>, Mount) {
        (born_ns(metadata), None)
    }

    pub(super) fn mount_of(_: &Path) -> Mount {
        // Unknown, by which no file counts as mounted alone.
        None
    }

    fn born_ns(metadata: &Metadata) -> Option<i64> {
        let born = metadata.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
        i64::try_from(born.as_nanos()).ok()
    }
}
