//! The file: two slots, written in turns, so that one is whole whatever happens during a write.

use core::fmt::Display;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::slot::{LEN, Slot};
use crate::lease::StoreError;

/// The file's absolute path. Its directory must be there: one that is missing may be a volume that was
/// not mounted, with the file in it.
pub(super) fn resolve(path: &Path) -> Result<PathBuf, StoreError> {
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
    Ok(parent.join(name))
}

/// What the file says; `None` if it is not there, or nothing was written yet.
pub(super) fn read(path: &Path) -> Result<Option<Slot>, StoreError> {
    match File::open(path) {
        Ok(file) => read_from(&file, path),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unusable(path, &error)),
    }
}

fn read_from(mut file: &File, path: &Path) -> Result<Option<Slot>, StoreError> {
    let mut bytes = Vec::new();
    let one_too_many = 2 * LEN as u64 + 1;
    file.rewind()
        .and_then(|()| file.take(one_too_many).read_to_end(&mut bytes))
        .map_err(|error| unavailable(path, &error))?;
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
    pub(super) fn lock(path: &Path, new: Slot) -> Result<Self, StoreError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        os::private(&mut options);
        let file = options.open(path).map_err(|error| unusable(path, &error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let why = "another process holds this node id: give each its own node id and file";
                return Err(unusable(path, &why));
            }
            Err(TryLockError::Error(error)) => return Err(unusable(path, &error)),
        }
        let slot = read_from(&file, path)?.unwrap_or(new);
        let path = path.to_owned();
        let guard = Self { file, path, slot };
        guard.check_place()?;
        Ok(guard)
    }

    /// Whether the file is still the one that others will find.
    pub(super) fn check_place(&self) -> Result<(), StoreError> {
        let there = self.path.metadata();
        let ours = self.file.metadata();
        let same = there.is_ok_and(|there| ours.is_ok_and(|ours| os::is_same(&there, &ours)));
        if same {
            return Ok(());
        }
        let why = "the file was deleted or replaced while this process held it";
        Err(unusable(&self.path, &why))
    }

    /// Changes what is in the file, and on disk when it returns. If that fails, the file has what it
    /// had, or the new.
    pub(super) fn change(&mut self, change: impl FnOnce(&mut Slot)) -> Result<(), StoreError> {
        let mut slot = self.slot.clone();
        change(&mut slot);
        let is_first = self.slot.writes == 0;
        let place = self.slot.writes % 2 * LEN as u64;
        slot.writes = self.slot.writes + 1;
        let mut file = &self.file;
        file.seek(SeekFrom::Start(place))
            .and_then(|_| file.write_all(&slot.to_bytes()))
            .and_then(|()| file.sync_all())
            .and_then(|()| {
                if is_first {
                    os::sync_directory(&self.path)
                } else {
                    Ok(())
                }
            })
            .map_err(|error| unavailable(&self.path, &error))?;
        self.slot = slot;
        Ok(())
    }
}

/// The sentence that names the file.
pub(super) fn unusable(path: &Path, why: &dyn Display) -> StoreError {
    StoreError::Unusable(format!("{}: {why}", path.display()))
}

fn unavailable(path: &Path, error: &io::Error) -> StoreError {
    StoreError::unavailable(format!("{}: {error}", path.display()))
}

#[cfg(unix)]
mod os {
    use std::fs::{File, Metadata, OpenOptions};
    use std::io;
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
    use std::path::Path;

    pub(super) fn private(options: &mut OpenOptions) {
        options.mode(0o600);
    }

    pub(super) fn is_same(a: &Metadata, b: &Metadata) -> bool {
        (a.dev(), a.ino()) == (b.dev(), b.ino())
    }

    /// A new file is on disk only with its name.
    pub(super) fn sync_directory(path: &Path) -> io::Result<()> {
        path.parent()
            .map_or(Ok(()), |directory| File::open(directory)?.sync_all())
    }
}

#[cfg(not(unix))]
mod os {
    use std::fs::{Metadata, OpenOptions};
    use std::io;
    use std::path::Path;

    pub(super) fn private(_: &mut OpenOptions) {}

    /// A file that is open cannot be deleted here.
    pub(super) fn is_same(_: &Metadata, _: &Metadata) -> bool {
        true
    }

    #[expect(clippy::unnecessary_wraps, reason = "it can fail elsewhere")]
    pub(super) fn sync_directory(_: &Path) -> io::Result<()> {
        Ok(())
    }
}
