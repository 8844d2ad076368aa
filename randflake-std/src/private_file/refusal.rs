//! Error of a file or directory that breaks the rule.

use core::error::Error;
use core::fmt::{self, Display, Formatter};
use std::io;
use std::path::{Path, PathBuf};

/// Error of a file or directory that is not used.
pub struct FileRefusal {
    /// Which one: the file, a link to it, or their directory.
    pub path: PathBuf,
    /// Reason of the refusal.
    pub reason: RefusalReason,
}

randflake_core::readable_debug!(FileRefusal);

/// Reason why a file or directory is not used.
#[derive(Debug)]
#[non_exhaustive]
pub enum RefusalReason {
    /// It belongs to neither this process's user nor root.
    Owner {
        /// User that owns it.
        uid: u32,
        /// As whom this process runs.
        process: u32,
    },
    /// Others may write to it.
    Writable {
        /// Permission bits of the file or directory.
        mode: u32,
    },
    /// Others may read the key.
    Readable {
        /// Permission bits of the key.
        mode: u32,
    },
    /// It is a symbolic link.
    Link,
    /// It is a directory, a device or such.
    NotAFile,
    /// It has several names (hard links).
    Names {
        /// Number of its names.
        count: u64,
    },
    /// The path does not end in a file's name.
    Nameless,
    /// It is mounted alone, without its directory.
    Mounted,
    /// The system says so.
    Io(io::Error),
}

impl FileRefusal {
    pub(super) fn new(path: &Path, reason: RefusalReason) -> Self {
        let path = path.to_owned();
        Self { path, reason }
    }

    pub(crate) fn io(path: &Path, error: io::Error) -> Self {
        Self::new(path, RefusalReason::Io(error))
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
            Self::NotAFile => f.write_str("is not a file"),
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
        write!(f, "{}{colon} {reason}", path.display())
    }
}

impl Error for FileRefusal {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.reason {
            RefusalReason::Io(error) => Some(error),
            _ => None,
        }
    }
}
