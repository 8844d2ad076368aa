//! A file that is locked, and a short text in it: what the engines in files know outside of what
//! they keep.
//!
//! Two versions are written in turns, so that one is whole whatever happens during a write.

use core::time::Duration;
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use crate::fork_guard::ForkGuard;
use crate::private_file::{self, FileRefusal, RefusalReason};
use crate::types::{EngineError, EngineErrorKind};

/// Kind of a file under a lock.
#[derive(Debug)]
pub struct FileKind {
    /// First bytes of each such file.
    pub magic: [u8; 16],
    /// Name in messages.
    pub name: &'static str,
}

/// A file's path without links. Its directory must be there: one that is missing may be a volume
/// that was not mounted, with the file in it, or a mistyped path, where a second store would grant
/// what the first one has granted.
///
/// # Errors
///
/// A directory that does not exist or cannot be read.
pub fn resolve(path: &Path) -> Result<PathBuf, EngineError> {
    private_file::resolve(path).map_err(|refusal| match &refusal.reason {
        RefusalReason::Io(error) if error.kind() == ErrorKind::NotFound => {
            let why = "the directory is missing: is its volume mounted? Create it if it is new";
            EngineError::of_file(&refusal.path, why)
        }
        _ => refusal.into(),
    })
}

/// A file, locked until this is dropped or the process ends.
#[derive(Debug)]
pub struct LockedFile {
    file: File,
    path: PathBuf,
    kind: &'static FileKind,
    version: Version,
    fork_guard: ForkGuard,
}

impl LockedFile {
    /// Waits for the lock; creates the file if it is not there. `None` when others have held it for
    /// so long.
    ///
    /// A lock without time limit would hang behind a process that was paused while it had it, so
    /// this asks again and again: at random intervals that do not grow, or some of many processes
    /// would starve.
    ///
    /// # Errors
    ///
    /// A file that cannot be opened or read.
    pub fn wait(
        path: &Path,
        kind: &'static FileKind,
        patience: Duration,
    ) -> Result<Option<Self>, EngineError> {
        let begun = Instant::now();
        loop {
            let file = private_file::open(path)?;
            while let Err(error) = file.try_lock() {
                match error {
                    TryLockError::Error(error) => return Err(FileRefusal::io(path, error).into()),
                    // At the limit it gives up, so that the caller can say what holds it up.
                    TryLockError::WouldBlock if begun.elapsed() >= patience => return Ok(None),
                    TryLockError::WouldBlock => {}
                }
                let jitter = getrandom::u32().map_err(EngineError::unavailable)? % 4_000;
                thread::sleep(Duration::from_micros(1_000 + u64::from(jitter)));
            }
            let mut locked = Self {
                file,
                path: path.to_owned(),
                kind,
                version: Version::default(),
                fork_guard: ForkGuard::new(),
            };
            // Or it was deleted after it was opened, and others find another one.
            if locked.is_in_place() {
                locked.version = read(&locked.file, path, kind)?;
                return Ok(Some(locked));
            }
        }
    }

    /// Whether it is still the file that others will find.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        let (there, ours) = (self.path.symlink_metadata(), self.file.metadata());
        there.is_ok_and(|there| ours.is_ok_and(|ours| private_file::is_same(&there, &ours)))
    }

    /// Whether it has something else than this process has read and written there. Nobody else
    /// writes while it has the lock, unless they know nothing of that.
    ///
    /// # Errors
    ///
    /// A file that cannot be read.
    pub fn is_overwritten(&self) -> Result<bool, EngineError> {
        let mut file = &self.file;
        let begin = file.seek(SeekFrom::Start(0));
        begin.map_err(|error| FileRefusal::io(&self.path, error))?;
        match read(file, &self.path, self.kind) {
            Ok(there) => Ok(there.writes != self.version.writes || there.text != self.version.text),
            Err(error) if error.kind() == EngineErrorKind::Unavailable => Err(error),
            // It is no such file any more.
            Err(_) => Ok(true),
        }
    }

    /// How often it was written, and its text: empty in a new one.
    #[must_use]
    pub fn text(&self) -> (u64, &str) {
        (self.version.writes, &self.version.text)
    }

    /// Writes another text, which is on the disk when it returns if it `is_durable`. If that fails,
    /// the file has what it had, or the new.
    ///
    /// # Errors
    ///
    /// A file that cannot be written.
    pub fn write(&mut self, text: String, is_durable: bool) -> Result<(), EngineError> {
        let is_first = self.version.writes == 0;
        // In turns: the version before this one stays whole while this one is written.
        let place = self.version.writes % 2 * LEN as u64;
        let writes = self.version.writes.wrapping_add(1);
        let version = Version { writes, text };
        let Some(bytes) = version.to_bytes(self.kind.magic) else {
            return Err(EngineError::of_file(
                &self.path,
                "a text does not fit in it",
            ));
        };
        let mut file = &self.file;
        file.seek(SeekFrom::Start(place))
            .and_then(|_| file.write_all(&bytes))
            .and_then(|()| if is_durable { file.sync_all() } else { Ok(()) })
            .and_then(|()| {
                // A new name is on the disk only when its directory is.
                if is_durable && is_first {
                    private_file::sync_name(&self.path)
                } else {
                    Ok(())
                }
            })
            .map_err(|error| FileRefusal::io(&self.path, error))?;
        // Only now: after a failure the next write goes to the same place and spares the other.
        self.version = version;
        Ok(())
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        // Closing would not be enough: a child that was forked meanwhile has the file open as well.
        // In that child the lock is its parent's.
        if !self.fork_guard.is_in_child() {
            let _closing_unlocks_too = self.file.unlock();
        }
    }
}

/// How often a file was written and its text, without the lock; nothing if it is not there.
///
/// # Errors
///
/// A file that cannot be read, or is of another kind.
pub fn look(path: &Path, kind: &FileKind) -> Result<(u64, String), EngineError> {
    // Without a lock, one version may be half written. Then the other one is whole.
    let version = match private_file::look(path)? {
        Some(_) => {
            let file = File::open(path).map_err(|error| FileRefusal::io(path, error))?;
            read(&file, path, kind)?
        }
        None => Version::default(),
    };
    Ok((version.writes, version.text))
}

fn read(file: &File, path: &Path, kind: &FileKind) -> Result<Version, EngineError> {
    let bytes = bytes_of(file).map_err(|error| FileRefusal::io(path, error))?;
    let versions = bytes
        .chunks(LEN)
        .filter_map(|bytes| Version::from_bytes(bytes, kind.magic));
    match versions.max_by_key(|version| version.writes) {
        Some(version) if bytes.len() <= 2 * LEN => Ok(version),
        // A process that was killed in its first write leaves less than a version; a cut of the
        // power, zeros.
        None if bytes.len() < LEN && is_begin(&bytes, &kind.magic) => Ok(Version::default()),
        None if bytes.len() <= 2 * LEN && bytes.iter().all(|byte| *byte == 0) => {
            Ok(Version::default())
        }
        _ => {
            let name = kind.name;
            let why = format!("this is not {name}, or it is damaged, or of a newer version");
            Err(EngineError::of_file(path, why))
        }
    }
}

/// Reads a file that was just opened, up to one byte more than it may have: a longer one is
/// refused.
fn bytes_of(file: &File) -> io::Result<Vec<u8>> {
    let most = 2 * LEN + 1;
    let mut bytes = Vec::with_capacity(most);
    file.take(most as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn is_begin(bytes: &[u8], magic: &[u8]) -> bool {
    bytes.iter().zip(magic).all(|(byte, magic)| byte == magic)
}

/// A sector of any disk that is made today has a multiple of this size.
pub(super) const LEN: usize = 512;
const SUM_LEN: usize = 8;
/// The longest text that fits.
pub(in crate::store) const MOST: usize = LEN - 16 - 8 - SUM_LEN;

#[derive(Clone, Debug, Default)]
pub(super) struct Version {
    /// How often the file was written.
    pub(super) writes: u64,
    pub(super) text: String,
}

impl Version {
    /// `None` when it is longer than that.
    pub(super) fn to_bytes(&self, magic: [u8; 16]) -> Option<[u8; LEN]> {
        if self.text.len() > MOST {
            return None;
        }
        let writes = self.writes.to_le_bytes();
        let mut bytes = [&magic[..], &writes, self.text.as_bytes()].concat();
        // Zeros fill the sector. No text ends in one, so reading can cut them off.
        bytes.resize(LEN - SUM_LEN, 0);
        bytes.extend(checksum(&bytes).to_le_bytes());
        bytes.try_into().ok()
    }

    /// `None` when it was not written whole, or by another program.
    pub(super) fn from_bytes(bytes: &[u8], magic: [u8; 16]) -> Option<Self> {
        let (body, sum) = bytes.split_at_checked(LEN - SUM_LEN)?;
        if sum != checksum(body).to_le_bytes() {
            return None;
        }
        let (writes, text) = body.strip_prefix(&magic)?.split_first_chunk()?;
        Some(Self {
            writes: u64::from_le_bytes(*writes),
            text: str::from_utf8(text).ok()?.trim_end_matches('\0').to_owned(),
        })
    }
}

/// FNV-1a over words, which tells a sector that was not written whole.
fn checksum(bytes: &[u8]) -> u64 {
    let (words, _) = bytes.as_chunks();
    words.iter().fold(0xcbf2_9ce4_8422_2325, |sum: u64, word| {
        let sum = (sum ^ u64::from_le_bytes(*word)).wrapping_mul(0x0000_0100_0000_01b3);
        // A product carries differences upwards only; the rotation brings them down again.
        sum.rotate_left(29)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAGIC: [u8; 16] = *b"of these tests\x1a\n";

    #[test]
    fn round_trip_and_no_damage_is_read() {
        for text in ["", "1 2 3", &"é".repeat(MOST / 2)] {
            let version = Version {
                writes: u64::MAX,
                text: text.to_owned(),
            };
            let bytes = version.to_bytes(MAGIC).unwrap();
            let read = Version::from_bytes(&bytes, MAGIC).unwrap();
            assert_eq!((read.writes, &*read.text), (u64::MAX, text));
            for at in 0..LEN {
                let mut damaged = bytes;
                damaged[at] ^= 0x10;
                assert!(Version::from_bytes(&damaged, MAGIC).is_none(), "{at}");
                assert!(Version::from_bytes(&bytes[..at], MAGIC).is_none(), "{at}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_not_cut() {
        let text = "a".repeat(MOST + 1);
        assert_eq!(Version { writes: 1, text }.to_bytes(MAGIC), None);
    }
}
