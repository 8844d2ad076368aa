//! What `statx` adds: when a file was made, and the mount that it is seen through (Linux 5.8).

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
    let born_ns = born.tv_sec.checked_mul(1_000_000_000);
    let born_ns = born_ns.and_then(|ns| ns.checked_add(born.tv_nsec.into()));
    let born_ns = born_ns.filter(|_| has(StatxFlags::BTIME));
    (
        born_ns,
        Some(told.stx_mnt_id).filter(|_| has(StatxFlags::MNT_ID)),
    )
}
