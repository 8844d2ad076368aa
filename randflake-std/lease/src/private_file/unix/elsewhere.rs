//! Unix systems without `statx`.

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
