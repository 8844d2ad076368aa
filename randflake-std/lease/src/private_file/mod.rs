//! Files and directories that hold keys, leases and counters: the one rule of whom they may belong
//! to.
//!
//! A user who can create or change such a file decides which ids are issued. So on Unix:
//!
//! - Files, directories and links belong to the user that this process runs as (its effective uid),
//!   or to root.
//! - Others may not write to them. To a directory a group may, if this process is in it; with the
//!   sticky bit, as `/tmp` has it, anybody may. To a file a group may only in a directory of root's
//!   with the setgid bit and the same group, and if this process is in it: so Kubernetes gives a
//!   volume to a pod that has an `fsGroup`.
//! - What this process makes is for its owner alone, whatever the umask.
//! - What this process creates or locks is a file with one name: no link, and not mounted by
//!   itself. A file mounted alone has its lock and journal on one side of the mount only, and its
//!   replacement on the other; so has one with two names.
//! - Settings that give rights, such as tokens, may be read by all.
//! - A key is read by its owner alone. Root's may be read by a group too, and one in a read-only
//!   mount by all, with a caution: so Kubernetes, Docker and systemd hand out secrets, and there
//!   nobody can take the right away.
//! - A key, settings, a database and the state directory may be reached through links, as
//!   Kubernetes mounts a key, if each link and its directory fulfil the rule.
//!
//! Only the directory itself is looked at, not those above it. Elsewhere than on Unix nothing is
//! checked.

mod refusal;
#[cfg(unix)]
mod unix;
#[cfg(unix)]
use unix as os;
#[cfg(not(unix))]
mod other;
#[cfg(not(unix))]
use other as os;

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

pub use refusal::{FileRefusal, RefusalReason};

/// More links than Linux follows.
const MOST_LINKS: usize = 40;

/// What tells a file from another, as far as the system says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileIdentity {
    /// Unique in its file system while the file is there; given again afterwards.
    pub inode: Option<u64>,
    /// When it was made, in nanoseconds of Unix time. No copy has it, unless it is a copy of the
    /// whole file system.
    pub born_ns: Option<i64>,
}

/// A file that fulfils the rule, as it was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Owner, mode and length, from the operating system.
    pub metadata: Metadata,
    /// Identity by which the file is recognised later.
    pub identity: FileIdentity,
}

/// Opens a file to read and write and to lock; creates it, for its owner alone, if it is not there.
/// What is in it stays.
///
/// # Errors
///
/// [`FileRefusal`] when it does not fulfil the rule or cannot be opened.
pub fn open(path: &Path) -> Result<File, FileRefusal> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    os::private_file(&mut options);
    let file = options
        .open(path)
        .map_err(|error| not_opened(path, path.symlink_metadata(), error))?;
    let found = os::found(&file).map_err(FileRefusal::at(path))?;
    checked(found, path)?;
    Ok(file)
}

/// Says what stands at a path in the place of a file, if that is why it was not opened.
fn not_opened(path: &Path, found: io::Result<Metadata>, error: io::Error) -> FileRefusal {
    // By what is there: systems differ in the error that `O_NOFOLLOW` makes of a link, and that of
    // a socket is the one of a device that is missing.
    FileRefusal::at(path)(match found {
        Ok(found) if found.is_symlink() => RefusalReason::Link,
        Ok(found) if !found.is_file() => RefusalReason::NotAFile,
        _ => error.into(),
    })
}

/// Writes a new file, for its owner alone, and waits until it is on the disk. A write that fails,
/// as on a full disk, leaves no file.
///
/// # Errors
///
/// What the system says; [`ErrorKind::AlreadyExists`] if there is such a file, which is as it was.
pub fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    // It fails on a link as well, so nobody chooses by one where a key is written.
    options.write(true).create_new(true);
    os::private_file(&mut options);
    let mut file = options.open(path)?;
    // A key that ids were issued under and a crash took away could not decrypt them any more.
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    if written.is_err() {
        // It is this call's own; what is left of it would refuse the next try as a file that is
        // there.
        _ = fs::remove_file(path);
    }
    written
}

/// Looks at a file that [`open`] would open; `None` if it is not there.
///
/// # Errors
///
/// As for [`open`].
pub fn look(path: &Path) -> Result<Option<Found>, FileRefusal> {
    // Not `metadata`, which would look at what a link leads to.
    match path.symlink_metadata() {
        Ok(metadata) => checked(os::found_at(metadata, path), path).map(Some),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FileRefusal::io(path, error)),
    }
}

fn checked((found, mount): (Found, os::Mount), path: &Path) -> Result<Found, FileRefusal> {
    let metadata = &found.metadata;
    let count = os::links(metadata);
    let checked = if metadata.is_symlink() {
        Err(RefusalReason::Link)
    } else if !metadata.is_file() {
        Err(RefusalReason::NotAFile)
    } else {
        let directory = directory_of(path);
        os::check_owner(metadata).and_then(|()| os::check_writers(metadata, directory))
    };
    let checked = checked.and_then(|()| match count {
        2.. => Err(RefusalReason::Names { count }),
        _ if os::is_mounted_alone(mount, directory_of(path)) => Err(RefusalReason::Mounted),
        _ => Ok(()),
    });
    checked.map_err(FileRefusal::at(path))?;
    Ok(found)
}

/// Users who may read the file of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Its owner, and a group that root gave it to.
    Few,
    /// All users to whom its read-only mount is shown.
    All,
}

/// Opens a key, which may be reached through links, to read it.
///
/// # Errors
///
/// [`FileRefusal`] when the file, a link to it or their directories do not fulfil the rule, when
/// more than its owner may read it, or when it cannot be opened. Root's file may be readable by a
/// group; and a file in a read-only mount by all.
pub fn open_key(path: &Path) -> Result<(File, Readers), FileRefusal> {
    let (file, metadata, _) = open_owned(path)?;
    let readers = os::check_readers(&file, &metadata).map_err(FileRefusal::at(path))?;
    Ok((file, readers))
}

/// Opens a file of settings, which all may read and which may be reached through links.
///
/// # Errors
///
/// [`FileRefusal`] when the file, a link to it or their directories do not fulfil the rule, or when
/// it cannot be opened.
pub fn open_settings(path: &Path) -> Result<(File, Metadata), FileRefusal> {
    let (file, metadata, place) = open_owned(path)?;
    os::check_writers(&metadata, directory_of(&place)).map_err(FileRefusal::at(path))?;
    Ok((file, metadata))
}

/// Opens a file to read it, and returns its path without links too.
fn open_owned(path: &Path) -> Result<(File, Metadata, PathBuf), FileRefusal> {
    let mut options = OpenOptions::new();
    os::without_wait(options.read(true));
    let file = options
        .open(path)
        .map_err(|error| not_opened(path, path.metadata(), error))?;
    let place = follow(path)?;
    check_directory(directory_of(&place))?;
    // The open file is asked, not the path: it cannot be another one by then.
    let metadata = file.metadata().map_err(FileRefusal::at(path))?;
    if !metadata.is_file() {
        return Err(FileRefusal::at(path)(RefusalReason::NotAFile));
    }
    os::check_owner(&metadata).map_err(FileRefusal::at(path))?;
    Ok((file, metadata, place))
}

/// Checks a directory, which may be reached through links.
///
/// # Errors
///
/// [`FileRefusal`] when it is not there, or does not fulfil the rule.
pub fn check_directory(path: &Path) -> Result<(), FileRefusal> {
    check_linked_directory(&follow(path)?).map_err(FileRefusal::at(path))
}

fn check_linked_directory(path: &Path) -> Result<(), RefusalReason> {
    let metadata = path.metadata()?;
    os::check_owner(&metadata)?;
    os::check_directory_writers(&metadata)
}

/// A file's path without links, in a directory that is there and fulfils the rule. The file need
/// not be there.
///
/// # Errors
///
/// [`FileRefusal`] when the path ends in no name, or the directory is not there or does not fulfil
/// the rule.
pub fn resolve(path: &Path) -> Result<PathBuf, FileRefusal> {
    let name = path
        .file_name()
        .ok_or(RefusalReason::Nameless)
        .map_err(FileRefusal::at(path))?;
    // Of the directory alone: the file need not be there, and may not be a link.
    let directory = directory_of(path);
    let directory = directory
        .canonicalize()
        .map_err(FileRefusal::at(directory))?;
    check_directory(&directory)?;
    Ok(directory.join(name))
}

/// Follows the links that a path names, checking each and its directory. Nothing need be there.
///
/// # Errors
///
/// [`FileRefusal`] when a link or its directory does not fulfil the rule.
pub fn follow(path: &Path) -> Result<PathBuf, FileRefusal> {
    let mut place = path.to_owned();
    for _ in 0..MOST_LINKS {
        // A file that is missing or hidden is reported when it is opened.
        let Ok(metadata) = place.symlink_metadata() else {
            return Ok(place);
        };
        if !metadata.is_symlink() {
            return Ok(place);
        }
        os::check_owner(&metadata).map_err(FileRefusal::at(&place))?;
        let directory = directory_of(&place);
        check_linked_directory(directory).map_err(FileRefusal::at(directory))?;
        let target = place.read_link().map_err(FileRefusal::at(&place))?;
        place = directory.join(target);
    }
    let too_many = io::Error::other("more than 40 links");
    Err(FileRefusal::io(path, too_many))
}

/// Creates a directory for its owner alone, with those above it, unless it is there; and checks it.
///
/// # Errors
///
/// [`FileRefusal`] when it cannot be created, or is there and does not fulfil the rule.
pub fn create_directory(path: &Path) -> Result<(), FileRefusal> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    os::private_directory(&mut builder);
    // A directory that is there is no error, and keeps its mode: so it is checked after.
    builder.create(path).map_err(FileRefusal::at(path))?;
    check_directory(path)
}

/// Waits until a file's name is on the disk: that of a new or renamed file is there only with its
/// directory.
///
/// # Errors
///
/// What the system says.
pub fn sync_name(path: &Path) -> io::Result<()> {
    os::sync_directory(directory_of(path))
}

/// Whether two metadata are of the same file; always true outside of Unix, where an open file
/// cannot be deleted.
#[must_use]
pub fn is_same(a: &Metadata, b: &Metadata) -> bool {
    os::is_same(a, b)
}

/// The directory of a file; `.` if its path names none.
#[must_use]
pub fn directory_of(path: &Path) -> &Path {
    // The parent of a bare name is the empty path, which the system does not open.
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
