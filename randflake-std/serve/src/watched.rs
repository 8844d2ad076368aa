//! A file that is read again when it has changed.

use std::fs::{self, Metadata};
use std::path::PathBuf;
use std::sync::Mutex;

use randflake_common::settings;

use super::lock::lock;
use randflake_common::failure::{Failure, say};

/// What tells that a file is another one than before, also one that was renamed to its place with
/// the time and the length of the former: device and number of the file, and when it changed.
#[cfg(unix)]
type FileStamp = Option<(u64, u64, i64, i64)>;
#[cfg(not(unix))]
type FileStamp = Option<(std::time::SystemTime, u64)>;

/// A file of settings that is read again when it has changed.
#[derive(Debug)]
pub(super) struct Watched {
    path: PathBuf,
    seen: Mutex<FileStamp>,
}

impl Watched {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            seen: Mutex::default(),
        }
    }

    /// Whether it differs from what was last found, also in that it is gone or there again.
    pub(super) fn has_changed(&self) -> bool {
        let now = fs::metadata(&self.path).ok().and_then(|found| seen(&found));
        now != *lock(&self.seen)
    }

    pub(super) fn read(&self, what: &str) -> Result<String, String> {
        // Noted before it is opened, and again from the open file: one that cannot be opened is
        // tried again when it changes, not every two seconds, and one that is replaced meanwhile is
        // read once more.
        *lock(&self.seen) = fs::metadata(&self.path).ok().and_then(|found| seen(&found));
        let (text, found) = settings::read(&self.path, what)?;
        *lock(&self.seen) = seen(&found);
        Ok(text)
    }

    /// Says that everybody on this machine may read a key. It is used all the same: so are keys
    /// mounted in a container.
    pub(super) fn warn_if_readable(&self, what: &str) {
        if fs::metadata(&self.path).is_ok_and(|found| others_read(&found)) {
            say(&format!(
                "warning: {what}, {}: everybody on this machine may read it (chmod o-r)",
                self.path.display()
            ));
        }
    }

    pub(super) fn wrong(&self, problem: &str) -> Failure {
        Failure::failed(format!("{}: {problem}", self.path.display()))
    }
}

#[cfg(unix)]
fn others_read(found: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    found.mode() & 0o004 != 0
}

/// Not checked: rights are not mode bits here.
#[cfg(not(unix))]
fn others_read(_: &Metadata) -> bool {
    false
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "its twin may fail")]
fn seen(found: &Metadata) -> FileStamp {
    use std::os::unix::fs::MetadataExt;

    // Not the time of modification, which the writer of a file may set to that of the one before.
    Some((found.dev(), found.ino(), found.ctime(), found.ctime_nsec()))
}

#[cfg(not(unix))]
fn seen(found: &Metadata) -> FileStamp {
    Some((found.modified().ok()?, found.len()))
}
