//! A file that is read again when it has changed.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::failure::{Failure, say};

/// What tells that a file is another one than before, also one that was renamed to its place with the time and the length
/// of the former: device and number of the file, and when it changed.
#[cfg(unix)]
type Seen = Option<(u64, u64, i64, i64)>;
#[cfg(not(unix))]
type Seen = Option<(std::time::SystemTime, u64)>;

/// No file of settings is as large.
const MOST: u64 = 16 << 20;

#[derive(Debug)]
pub(super) struct Watched {
    path: PathBuf,
    seen: Mutex<Seen>,
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
        now != *self.seen()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn read(&self, what: &str) -> Result<String, String> {
        let told = |error: io::Error| format!("{what}, {}: {error}", self.path.display());
        // What is wrong with it is said once.
        *self.seen() = fs::metadata(&self.path).ok().and_then(|found| seen(&found));
        let file = File::open(&self.path).map_err(told)?;
        let found = file.metadata().map_err(told)?;
        if others_may(0o002, &found) {
            return Err(format!(
                "{what}, {}: everybody may write it (chmod o-w), and so take any right here",
                self.path.display()
            ));
        }
        let mut text = String::new();
        file.take(MOST).read_to_string(&mut text).map_err(told)?;
        *self.seen() = seen(&found);
        Ok(text)
    }

    /// Says that everybody on this machine may read a key. It is used all the same: so are keys mounted in a container.
    pub(super) fn warn_if_readable(&self, what: &str) {
        if fs::metadata(&self.path).is_ok_and(|found| others_may(0o004, &found)) {
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
fn others_may(right: u32, found: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    found.mode() & right != 0
}

/// Rights are kept elsewhere.
#[cfg(not(unix))]
fn others_may(_: u32, _: &Metadata) -> bool {
    false
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "its twin may fail")]
fn seen(found: &Metadata) -> Seen {
    use std::os::unix::fs::MetadataExt;

    Some((found.dev(), found.ino(), found.ctime(), found.ctime_nsec()))
}

#[cfg(not(unix))]
fn seen(found: &Metadata) -> Seen {
    Some((found.modified().ok()?, found.len()))
}
