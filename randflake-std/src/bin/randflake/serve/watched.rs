//! A file that is read again when it has changed.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crate::failure::Failure;

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

    /// Whether it differs from what was read last. One that cannot be looked at now does not.
    pub(super) fn has_changed(&self) -> bool {
        let now = fs::metadata(&self.path).ok().and_then(|found| seen(&found));
        now.is_some() && now != *self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn read(&self, what: &str) -> Result<String, String> {
        let told = |error: io::Error| format!("{what}, {}: {error}", self.path.display());
        let file = File::open(&self.path).map_err(told)?;
        let found = file.metadata().map_err(told)?;
        let mut text = String::new();
        file.take(MOST).read_to_string(&mut text).map_err(told)?;
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = seen(&found);
        Ok(text)
    }

    pub(super) fn wrong(&self, problem: &str) -> Failure {
        Failure::failed(format!("{}: {problem}", self.path.display()))
    }
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "its twin may fail")]
fn seen(found: &Metadata) -> Seen {
    use std::os::unix::fs::MetadataExt as _;

    Some((found.dev(), found.ino(), found.ctime(), found.ctime_nsec()))
}

#[cfg(not(unix))]
fn seen(found: &Metadata) -> Seen {
    Some((found.modified().ok()?, found.len()))
}
