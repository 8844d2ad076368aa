//! The file: two slots, written in turns, so that one is whole whatever happens during a write.

use core::fmt::Display;
use core::time::Duration;
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use super::slot::{LEN, Slot};
use crate::lease::EngineError;
use crate::private_file::{self, Refusal};

/// How long a lock is tried for that another process seems to hold: one that a thread of a former holder is starting has
/// it until it runs its program.
const GRACE: Duration = Duration::from_millis(200);
const PAUSE: Duration = Duration::from_millis(5);

/// The file's absolute path. Its directory must be there: one that is missing may be a volume that was
/// not mounted, with the file in it.
pub(super) fn resolve(path: &Path) -> Result<PathBuf, EngineError> {
    let Some(name) = path.file_name() else {
        return Err(unusable(path, &"this is not the name of a file"));
    };
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let parent = parent.canonicalize().map_err(|error| {
        if error.kind() == ErrorKind::NotFound {
            let why = "the directory is missing: is its volume mounted? Create it if it is new";
            return unusable(parent, &why);
        }
        unusable(parent, &error)
    })?;
    private_file::check_directory(&parent).map_err(refused)?;
    Ok(parent.join(name))
}

/// What the file says; `None` if it is not there, or nothing was written yet.
pub(super) fn read(path: &Path) -> Result<Option<Slot>, EngineError> {
    if private_file::look(path).map_err(refused)?.is_none() {
        return Ok(None);
    }
    match File::open(path) {
        Ok(file) => read_from(&file, path),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unusable(path, &error)),
    }
}

fn read_from(mut file: &File, path: &Path) -> Result<Option<Slot>, EngineError> {
    let mut bytes = Vec::new();
    let one_too_many = 2 * LEN as u64 + 1;
    file.rewind()
        .and_then(|()| file.take(one_too_many).read_to_end(&mut bytes))
        .map_err(|error| unavailable(path, error))?;
    let slots = bytes.chunks(LEN).filter_map(Slot::from_bytes);
    match slots.max_by_key(|slot| slot.writes) {
        Some(slot) if bytes.len() <= 2 * LEN => Ok(Some(slot)),
        // A process that was killed in its first write leaves less than a slot.
        None if bytes.len() < LEN && Slot::may_begin(&bytes) => Ok(None),
        _ => Err(unusable(
            path,
            &"this is not the file of an assigned node id, or it is damaged, or of a newer version",
        )),
    }
}

/// The file, locked until this is dropped or the process ends.
#[derive(Debug)]
pub(super) struct Guard {
    file: File,
    path: PathBuf,
    /// What is in the file.
    pub(super) slot: Slot,
}

impl Guard {
    pub(super) fn lock(path: &Path, new: Slot) -> Result<Self, EngineError> {
        let file = private_file::open(path).map_err(refused)?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if begun.elapsed() < GRACE => thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => {
                    let why =
                        "another process holds this node id: give each its own node id and file";
                    return Err(unusable(path, &why));
                }
                Err(TryLockError::Error(error)) => return Err(unusable(path, &error)),
            }
        }
        let slot = read_from(&file, path)?.unwrap_or(new);
        let path = path.to_owned();
        let guard = Self { file, path, slot };
        guard.check_place()?;
        Ok(guard)
    }

    /// Whether the file is still the one that others will find.
    pub(super) fn check_place(&self) -> Result<(), EngineError> {
        let there = self.path.symlink_metadata();
        let ours = self.file.metadata();
        let same =
            there.is_ok_and(|there| ours.is_ok_and(|ours| private_file::is_same(&there, &ours)));
        if same {
            return Ok(());
        }
        let why = "the file was deleted or replaced while this process held it";
        Err(unusable(&self.path, &why))
    }

    /// Writes another slot, which is on disk when it returns. If that fails, the file has what it had, or the new.
    pub(super) fn write(&mut self, mut slot: Slot) -> Result<(), EngineError> {
        let is_first = self.slot.writes == 0;
        let place = self.slot.writes % 2 * LEN as u64;
        slot.writes = self.slot.writes + 1;
        let bytes = slot.to_bytes();
        let bytes = bytes.ok_or_else(|| unusable(&self.path, &"a record does not fit in it"))?;
        let mut file = &self.file;
        file.seek(SeekFrom::Start(place))
            .and_then(|_| file.write_all(&bytes))
            .and_then(|()| file.sync_all())
            .and_then(|()| {
                if is_first {
                    private_file::sync_name(&self.path)
                } else {
                    Ok(())
                }
            })
            .map_err(|error| unavailable(&self.path, error))?;
        self.slot = slot;
        Ok(())
    }
}

/// A file or directory that is not to be trusted, or cannot be opened.
#[expect(clippy::needless_pass_by_value, reason = "it maps an error")]
fn refused(refusal: Refusal) -> EngineError {
    EngineError::unusable(refusal.to_string())
}

/// The sentence that names the file.
pub(super) fn unusable(path: &Path, why: &dyn Display) -> EngineError {
    EngineError::unusable(format!("{}: {why}", path.display()))
}

fn unavailable(path: &Path, error: io::Error) -> EngineError {
    EngineError::unavailable(format!("{}: {error}", path.display())).because(error)
}
