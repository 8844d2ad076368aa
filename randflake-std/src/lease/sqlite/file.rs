//! The database file and those beside it.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::failure::{io, unusable};
use crate::lease::StoreError;

const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Where the database and its lock file are, by names that all processes share.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) database: PathBuf,
    pub(super) lock: PathBuf,
}

impl Place {
    /// Resolves links and relative paths, and creates the directory.
    pub(super) fn resolve(path: &Path) -> Result<Self, StoreError> {
        let database = match path.canonicalize() {
            Ok(database) => database,
            Err(error) if error.kind() == ErrorKind::NotFound => resolve_new(path)?,
            Err(error) => return Err(io(path, error)),
        };
        let lock = beside(&database, ".lock");
        if !lock.exists() {
            refuse_other_files(&database)?;
        }
        Ok(Self { database, lock })
    }

    /// Sees to it that there is a file for SQLite to open, and says which.
    pub(super) fn prepare(&self) -> Result<Option<u64>, StoreError> {
        let path = &self.database;
        let failed = |error| io(path, error);
        let metadata = match path.metadata() {
            Ok(metadata) if metadata.len() > 0 => metadata,
            Ok(metadata) if !metadata.is_file() => metadata,
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
            Ok(_) | Err(_) => {
                // SQLite would read into the new database what was not yet moved into a deleted one.
                for suffix in ["-wal", "-shm", "-journal"] {
                    remove_if_there(&beside(path, suffix))?;
                }
                open_private(path)
                    .and_then(|file| file.metadata())
                    .map_err(failed)?
            }
        };
        if !metadata.is_file() {
            return Err(not_a_file(path));
        }
        let links = links(&metadata);
        if links > 1 {
            let why = format!(
                "the file has {links} names (hard links), and under two names SQLite loses what is \
                 written; remove the others"
            );
            return Err(unusable(path, &why));
        }
        Ok(inode(&metadata))
    }

    /// The inode of the file that is there now.
    pub(super) fn inode(&self) -> Result<Option<u64>, StoreError> {
        let metadata = self.database.metadata();
        metadata
            .map(|metadata| inode(&metadata))
            .map_err(|error| io(&self.database, error))
    }
}

/// A name whose file does not exist yet.
fn resolve_new(path: &Path) -> Result<PathBuf, StoreError> {
    if path.is_symlink() {
        return Err(unusable(path, &"this link leads nowhere"));
    }
    let Some(name) = path.file_name() else {
        return Err(unusable(path, &"this is not the name of a file"));
    };
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    create_private_dir(parent)
        .and_then(|()| parent.canonicalize())
        .map(|parent| parent.join(name))
        .map_err(|error| io(parent, error))
}

/// Leaves no lock file beside what is no database.
fn refuse_other_files(path: &Path) -> Result<(), StoreError> {
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return Err(not_a_file(path));
    }
    let Ok(file) = File::open(path) else {
        return Ok(());
    };
    let mut head = Vec::new();
    let read = file.take(MAGIC.len() as u64).read_to_end(&mut head);
    if read.is_ok() && !head.is_empty() && head != MAGIC {
        return Err(unusable(path, &"this is not an SQLite database"));
    }
    Ok(())
}

fn not_a_file(path: &Path) -> StoreError {
    unusable(path, &"this is not a file")
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

fn remove_if_there(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(io(path, error)),
        _ => Ok(()),
    }
}

/// Opens a file to read and write, created for its owner alone if it is not there.
pub(super) fn open_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    os::private_file(&mut options);
    options.open(path)
}

fn create_private_dir(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    os::private_dir(&mut builder);
    builder.create(path)
}

/// What tells a file from its copy; `None` where the system does not say.
pub(super) fn inode(metadata: &Metadata) -> Option<u64> {
    os::inode(metadata)
}

fn links(metadata: &Metadata) -> u64 {
    os::links(metadata)
}

#[cfg(unix)]
mod os {
    use std::fs::{DirBuilder, Metadata, OpenOptions};
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};

    pub(super) fn private_file(options: &mut OpenOptions) {
        options.mode(0o600);
    }

    pub(super) fn private_dir(builder: &mut DirBuilder) {
        builder.mode(0o700);
    }

    /// Without the device number: that may be another after each start of the machine.
    #[expect(clippy::unnecessary_wraps, reason = "other systems do not know it")]
    pub(super) fn inode(metadata: &Metadata) -> Option<u64> {
        Some(metadata.ino())
    }

    pub(super) fn links(metadata: &Metadata) -> u64 {
        metadata.nlink()
    }
}

#[cfg(not(unix))]
mod os {
    use std::fs::{DirBuilder, Metadata, OpenOptions};

    pub(super) fn private_file(_: &mut OpenOptions) {}

    pub(super) fn private_dir(_: &mut DirBuilder) {}

    pub(super) fn inode(_: &Metadata) -> Option<u64> {
        None
    }

    pub(super) fn links(_: &Metadata) -> u64 {
        1
    }
}
