//! Error of a file or directory that breaks the rule.

use core::error::Error;
use core::fmt::{self, Display, Formatter};
use std::io;
use std::path::{Path, PathBuf};

/// Error of a file or directory that is not used.
#[derive(Debug)]
pub struct FileRefusal {
    /// Which one: the file, a link to it, or their directory.
    pub path: PathBuf,
    /// Which part of the rule it breaks, or the error of the system.
    pub reason: RefusalReason,
}

/// Reason why a file or directory is not used.
#[derive(Debug)]
#[non_exhaustive]
pub enum RefusalReason {
    /// It belongs to neither this process's user nor root.
    Owner {
        /// The uid of its owner.
        uid: u32,
        /// The effective uid of this process.
        process: u32,
    },
    /// Other users may write to the file or directory.
    Writable {
        /// Permission bits of the file or directory.
        mode: u32,
    },
    /// Other users may read the key.
    Readable {
        /// Permission bits of the key.
        mode: u32,
    },
    /// The file is a symbolic link, where none may be.
    Link,
    /// It is a directory, a named pipe, a socket or a device.
    NotAFile,
    /// The file has several names (hard links).
    Names {
        /// Number of names of the file.
        count: u64,
    },
    /// The path does not end in a file's name.
    Nameless,
    /// The file is mounted alone, without its directory.
    Mounted,
    /// The operating system failed to open or read it.
    Io(io::Error),
}

impl FileRefusal {
    /// Adds its path to a reason.
    pub(super) fn at<R: Into<RefusalReason>>(path: &Path) -> impl FnOnce(R) -> Self {
        move |reason| Self {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }

    /// A file that fails in itself.
    #[must_use]
    pub fn io(path: &Path, error: io::Error) -> Self {
        Self::at(path)(error)
    }

    /// Returns the kind of the system's error, if that is the reason.
    #[must_use]
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        match &self.reason {
            RefusalReason::Io(error) => Some(error.kind()),
            _ => None,
        }
    }
}

impl From<io::Error> for RefusalReason {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Display for RefusalReason {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner { uid, process } => write!(
                f,
                "belongs to uid {uid}, and this process runs as uid {process}: only its own uid and \
                 root are trusted; run as that user, or change the owner"
            ),
            Self::Writable { mode } => write!(
                f,
                "has mode {mode:04o}, so that others may write there: remove that right (chmod go-w)"
            ),
            Self::Readable { mode } => write!(
                f,
                "has mode {mode:04o}, so that others may use it: 0600 and 0400 are allowed, of root's files 0640 and \
                 0440 too, and in a read-only mount 0444"
            ),
            Self::Link => f.write_str(
                "is a symbolic link, and what is written or locked here must not be elsewhere: \
                 remove the link",
            ),
            Self::NotAFile => f.write_str(
                "is not a regular file, but a directory, a named pipe, a socket or a device: give the path of a file",
            ),
            Self::Names { count } => write!(
                f,
                "has {count} names (hard links), and what is written under one is lost under another: \
                 remove the others"
            ),
            Self::Nameless => f.write_str("is not the name of a file"),
            Self::Mounted => f.write_str(
                "is mounted alone, and what belongs beside it is on another file system: mount its \
                 directory",
            ),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl Display for FileRefusal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { path, reason } = self;
        let colon = if matches!(reason, RefusalReason::Io(_)) {
            ":"
        } else {
            ""
        };
        write!(f, "{}{colon} {reason}", path.display())?;
        if self.io_kind() == Some(io::ErrorKind::PermissionDenied) {
            write_who(path, f)?;
        }
        Ok(())
    }
}

/// Who was denied a path, and whose it is: orchestrators such as `OpenShift` start containers as a
/// random user.
#[cfg(unix)]
fn write_who(path: &Path, f: &mut Formatter<'_>) -> fmt::Result {
    use std::os::unix::fs::MetadataExt;

    let uid = rustix::process::geteuid().as_raw();
    write!(f, "; this process runs as uid {uid}")?;
    // What is not there, or cannot be seen, is in the nearest directory that can.
    let found = path
        .ancestors()
        .find_map(|path| Some((path, path.metadata().ok()?)));
    if let Some((found, metadata)) = found {
        let (owner, mode) = (metadata.uid(), metadata.mode() & 0o7777);
        write!(
            f,
            ", and {} belongs to uid {owner} and has mode {mode:04o}: let uid {uid} write there (chown, chmod), or name \
             another path",
            found.display()
        )?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn write_who(_: &Path, _: &mut Formatter<'_>) -> fmt::Result {
    Ok(())
}

impl Error for FileRefusal {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.reason {
            RefusalReason::Io(error) => Some(error),
            _ => None,
        }
    }
}
