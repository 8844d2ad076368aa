//! A lock on a store's directory, by which each process shows how many writes of the store it has
//! seen.
//!
//! The files of a store can be deleted and overwritten under a running process, its lock file too.
//! This lock is on the directory itself, and ends with the process. A process that opens the store
//! sees by it that a running process has seen more writes than the database has, so that leases may
//! be missing.
//!
//! A process that has seen `n` writes shares `n + 1` bytes from an offset that follows from the
//! name of the database, so that several stores in a directory do not meet.

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod linux;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
use linux as os;
#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
mod other;
#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
use other as os;

use core::sync::atomic::{AtomicI64, Ordering};
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use randflake_lease::private_file;
use randflake_lease::private_file::{FileRefusal, directory_of};
use randflake_lease::unstable::ForkGuard;

/// Bytes of one store: more than the writes of a century, a thousand a second.
const SPAN: i64 = 1 << 42;
/// Stores in a directory that are told apart.
const NAMES: u64 = 1 << 20;

/// The locks of this process, by the path of the database: one for all handles of a store, which
/// may be thousands.
static LOCKS: Mutex<BTreeMap<PathBuf, Weak<DirectoryLock>>> = Mutex::new(BTreeMap::new());

/// A lock on a directory, until it is dropped or the process ends.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    directory: File,
    metadata: Metadata,
    /// The first byte of this store.
    start: i64,
    /// How many bytes are locked: none before this process has seen the store.
    len: AtomicI64,
    fork_guard: ForkGuard,
}

impl DirectoryLock {
    /// The lock of this process on the directory of a database.
    pub(crate) fn of(database: &Path) -> Result<Arc<Self>, FileRefusal> {
        // In a forked child another thread of the parent may have it for ever. A lock of its own
        // does as well.
        let Ok(mut locks) = LOCKS.try_lock() else {
            return Self::new(database).map(Arc::new);
        };
        let known = locks.get(database).and_then(Weak::upgrade);
        if let Some(known) = known.filter(|known| known.is_of(database)) {
            return Ok(known);
        }
        let made = Arc::new(Self::new(database)?);
        locks.retain(|_, lock| lock.strong_count() > 0);
        locks.insert(database.to_owned(), Arc::downgrade(&made));
        Ok(made)
    }

    fn new(database: &Path) -> Result<Self, FileRefusal> {
        let path = directory_of(database);
        let refused = |error| FileRefusal::io(path, error);
        let directory = File::open(path).map_err(refused)?;
        Ok(Self {
            metadata: directory.metadata().map_err(refused)?,
            directory,
            start: start_of(database),
            len: AtomicI64::new(0),
            fork_guard: ForkGuard::new(),
        })
    }

    /// Whether it is this process's, and on the directory that the database is in now.
    pub(crate) fn is_of(&self, database: &Path) -> bool {
        let is_same = |there: &Metadata| private_file::is_same(there, &self.metadata);
        !self.fork_guard.is_in_child()
            && directory_of(database)
                .metadata()
                .is_ok_and(|it| is_same(&it))
    }

    /// How many writes a running process has seen, if that is more than a database has; `None` has
    /// no database.
    pub(crate) fn ahead_of(
        &self,
        database: &Path,
        writes: Option<u64>,
    ) -> Result<Option<u64>, FileRefusal> {
        let has = writes.map_or(0, bytes_of);
        let mut seen = self.len.load(Ordering::Relaxed).max(has);
        // One lock of several is found; what is behind its end is looked at again.
        while seen < SPAN {
            let end = os::other(&self.directory, self.start + seen, SPAN - seen)
                .map_err(|error| FileRefusal::io(directory_of(database), error))?;
            match end {
                Some(end) => seen = (end - self.start).min(SPAN),
                None => break,
            }
        }
        let is_ahead = seen > has;
        Ok(is_ahead.then(|| u64::try_from(seen - 1).unwrap_or(0)))
    }

    /// Shows that this process has seen so many writes.
    pub(crate) fn note(&self, database: &Path, writes: u64) -> Result<(), FileRefusal> {
        let len = bytes_of(writes);
        if self.len.load(Ordering::Relaxed) < len {
            os::share(&self.directory, self.start, len)
                .map_err(|error| FileRefusal::io(directory_of(database), error))?;
            self.len.fetch_max(len, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl Drop for DirectoryLock {
    fn drop(&mut self) {
        // Closing would not be enough: a child that was forked meanwhile has the directory open as
        // well. In that child the lock is its parent's.
        if !self.fork_guard.is_in_child() {
            let _closing_unlocks_too = os::unlock(&self.directory, self.start, SPAN);
        }
    }
}

/// Bytes that a process locks which has seen so many writes.
fn bytes_of(writes: u64) -> i64 {
    i64::try_from(writes).map_or(SPAN, |writes| writes.saturating_add(1).min(SPAN))
}

/// The first byte of a database, by its name. That of two names may be the same by chance: then a
/// new store beside another one waits without need.
fn start_of(database: &Path) -> i64 {
    let name = database.file_name().unwrap_or_default();
    // FNV-1a: the same in each program, which that of the standard library need not be.
    let hash = name
        .as_encoded_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
    let place = (hash ^ hash >> 32) % NAMES;
    i64::try_from(place).unwrap_or(0) * SPAN
}
