//! The directory lock of systems without locks of ranges that belong to an open directory.

use std::fs::File;
use std::io;

pub(crate) fn share(_: &File, _: i64, _: i64) -> io::Result<()> {
    Ok(())
}

pub(crate) fn unlock(_: &File, _: i64, _: i64) -> io::Result<()> {
    Ok(())
}

pub(crate) fn other(_: &File, _: i64, _: i64) -> io::Result<Option<i64>> {
    Ok(None)
}
