//! Locks of open file descriptions: they belong to the open directory, not to the process, so that
//! another descriptor of the directory, which SQLite opens and closes, does not end them.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use libc::{
    EINVAL, F_OFD_GETLK, F_OFD_SETLK, F_RDLCK, F_UNLCK, F_WRLCK, SEEK_SET, c_int, c_short, flock,
};

/// Locks some bytes for reading, which a directory allows. Nobody can lock them for writing, so
/// this waits for nobody.
pub(crate) fn share(file: &File, start: i64, len: i64) -> io::Result<()> {
    set(file, F_RDLCK, start, len)
}

pub(crate) fn unlock(file: &File, start: i64, len: i64) -> io::Result<()> {
    set(file, F_UNLCK, start, len)
}

fn set(file: &File, kind: c_int, start: i64, len: i64) -> io::Result<()> {
    call(file, F_OFD_SETLK, &mut range(kind, start, len)).map(drop)
}

/// The end of a range that another descriptor has locked, if it and this one have a byte in common.
pub(crate) fn other(file: &File, start: i64, len: i64) -> io::Result<Option<i64>> {
    let mut found = range(F_WRLCK, start, len);
    if !call(file, F_OFD_GETLK, &mut found)? || c_int::from(found.l_type) == F_UNLCK {
        return Ok(None);
    }
    // A length of 0 is one without an end.
    Ok(Some(match found.l_len {
        0 => i64::MAX,
        len => found.l_start.saturating_add(len),
    }))
}

#[expect(clippy::cast_possible_truncation, reason = "both constants are small")]
fn range(kind: c_int, start: i64, len: i64) -> flock {
    flock {
        l_type: kind as c_short,
        l_whence: SEEK_SET as c_short,
        l_start: start,
        l_len: len,
        l_pid: 0,
    }
}

/// Whether the system has such locks: Linux before 3.15 and some sandboxes have none.
#[expect(
    unsafe_code,
    reason = "only the kernel's own interface has these locks"
)]
fn call(file: &File, command: c_int, range: &mut flock) -> io::Result<bool> {
    // SAFETY: the descriptor is open, and the commands read and write one `flock` through the pointer.
    if unsafe { libc::fcntl(file.as_raw_fd(), command, core::ptr::from_mut(range)) } >= 0 {
        return Ok(true);
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(EINVAL) => Ok(false),
        error => Err(error),
    }
}
