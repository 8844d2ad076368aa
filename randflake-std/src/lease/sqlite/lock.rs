//! The file beside the database: a lock around each operation, and a memory outside of the database.

use core::time::Duration;
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::failure::{io, refused, unusable};
use crate::lease::EngineError;
use crate::private_file;

/// Longer than a thousand operations one after the other, well below a renewal's pause.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is known of a database outside of it, so that its loss or return to an earlier state is
/// noticed. It is written after each commit, so it is never ahead of an unharmed database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    /// The random number that the database was created with.
    pub(super) store: u64,
    /// How many transactions have changed it; 0 if there is none yet.
    pub(super) writes: u64,
    /// When the last lease granted so far ends, in Unix time.
    pub(super) until_ms: u64,
}

impl Mark {
    const LEN: usize = 24;

    /// Whether a database is not the one that was marked, or has gone back.
    pub(super) fn contradicts(self, store: u64, writes: u64) -> bool {
        self.writes > 0 && (self.store != store || self.writes > writes)
    }

    fn to_bytes(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        let words = [self.store, self.writes, self.until_ms];
        for (place, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
            *place = word.to_le_bytes();
        }
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        match *bytes.as_chunks().0 {
            [] if bytes.is_empty() => Some(Self::default()),
            [store, writes, until_ms] if bytes.len() == Self::LEN => Some(Self {
                store: u64::from_le_bytes(store),
                writes: u64::from_le_bytes(writes),
                until_ms: u64::from_le_bytes(until_ms),
            }),
            _ => None,
        }
    }
}

/// The lock, held until dropped. Nobody else, thread or process, works on the database meanwhile.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Waits for the lock.
    ///
    /// SQLite's own way of waiting lets some of many processes starve. This one asks at random
    /// intervals that do not grow; a lock without time limit would hang behind a process that was
    /// paused while it had it.
    pub(super) fn wait(path: &Path) -> Result<Self, EngineError> {
        let begin = Instant::now();
        loop {
            let file = private_file::open(path).map_err(refused)?;
            match file.try_lock() {
                Ok(()) => {
                    let lock = Self {
                        file,
                        path: path.to_owned(),
                    };
                    if lock.is_in_place()? {
                        return Ok(lock);
                    }
                }
                Err(TryLockError::WouldBlock) if begin.elapsed() < PATIENCE => {
                    let jitter = getrandom::u32().map_err(EngineError::unavailable)? % 4_000;
                    std::thread::sleep(Duration::from_micros(1_000 + u64::from(jitter)));
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(EngineError::unavailable(format!(
                        "{}: another process has held the lock for {} s",
                        path.display(),
                        PATIENCE.as_secs()
                    )));
                }
                Err(TryLockError::Error(error)) => return Err(io(path, error)),
            }
        }
    }

    /// Whether the file locked is the one that others will find: it may have been deleted since it
    /// was opened.
    fn is_in_place(&self) -> Result<bool, EngineError> {
        let ours = self
            .file
            .metadata()
            .map_err(|error| io(&self.path, error))?;
        let theirs = self.path.symlink_metadata().ok();
        Ok(theirs.is_some_and(|theirs| private_file::is_same(&theirs, &ours)))
    }

    pub(super) fn read(&mut self) -> Result<Mark, EngineError> {
        let mut bytes = Vec::new();
        let one_too_many = Mark::LEN as u64 + 1;
        self.file
            .rewind()
            .and_then(|()| (&self.file).take(one_too_many).read_to_end(&mut bytes))
            .map_err(|error| io(&self.path, error))?;
        Mark::from_bytes(&bytes).ok_or_else(|| {
            unusable(
                &self.path,
                &"this is not the lock file of a lease store, but has its name",
            )
        })
    }

    pub(super) fn write(&mut self, mark: Mark) -> Result<(), EngineError> {
        // A first write that was cut short leaves a mark with zeros, not another program's file.
        self.file
            .set_len(Mark::LEN as u64)
            .and_then(|()| self.file.rewind())
            .and_then(|()| self.file.write_all(&mark.to_bytes()))
            .map_err(|error| io(&self.path, error))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing would not be enough: a child that was forked meanwhile has the file open as well.
        let _closing_unlocks_too = self.file.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::Mark;

    #[test]
    fn mark_round_trip() {
        let mark = Mark {
            store: 1,
            writes: u64::MAX,
            until_ms: 3,
        };
        assert_eq!(Mark::from_bytes(&mark.to_bytes()), Some(mark));
        assert_eq!(Mark::from_bytes(&[]), Some(Mark::default()));
        assert_eq!(Mark::from_bytes(&[0; 24]), Some(Mark::default()));
        assert_eq!(Mark::from_bytes(&[0; 23]), None);
        assert_eq!(Mark::from_bytes(&[0; 25]), None);
    }
}
