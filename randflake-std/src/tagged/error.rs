//! Errors of tagged UUIDs and of the directory of their secrets.

use core::error::Error;
use core::fmt::{self, Display, Formatter};
use std::io;
use std::path::PathBuf;

use randflake_core::KeyNumber;
use randflake_lease::SecretError;
use randflake_lease::backoff::Retry;
use randflake_lease::{NamespaceError, StoreError};

use crate::handle::BuildError;

/// Error of reading a directory of secrets.
#[derive(Debug)]
#[non_exhaustive]
pub enum TagSecretsError {
    /// The name is none of a namespace.
    Name(NamespaceError),
    /// The directory cannot be read.
    Directory {
        /// The directory.
        directory: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// There is no key in the directory.
    Empty {
        /// The directory.
        directory: PathBuf,
    },
    /// The name of a file is none of a key.
    FileName {
        /// The file.
        file: PathBuf,
    },
    /// A file cannot be used as a secret.
    Secret {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        source: SecretError,
    },
    /// A file has another secret than when it was read first.
    Changed {
        /// The file.
        file: PathBuf,
    },
    /// Two numbers have one secret.
    Equal {
        /// The lower number.
        first: KeyNumber,
        /// The higher number.
        second: KeyNumber,
    },
}

impl Display for TagSecretsError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(source) => Display::fmt(source, f),
            Self::Directory { directory, source } => {
                write!(
                    f,
                    "the directory of keys {} cannot be read: {source}",
                    directory.display()
                )
            }
            Self::Empty { directory } => write!(
                f,
                "there is no key in {}: one file from 1.key to 63.key at least is needed, from `randflake keygen`",
                directory.display()
            ),
            Self::FileName { file } => write!(
                f,
                "{} is no name of a key: 1.key to 63.key are allowed, without leading zeros",
                file.display()
            ),
            // It names the file.
            Self::Secret {
                source: source @ SecretError::File(_),
                ..
            } => Display::fmt(source, f),
            Self::Secret { file, source } => write!(f, "{}: {source}", file.display()),
            Self::Changed { file } => write!(
                f,
                "{} has another secret than before: a key number keeps its secret, and a next key gets the next number",
                file.display()
            ),
            Self::Equal { first, second } => write!(
                f,
                "key numbers {first} and {second} have the same secret: each needs its own, from `randflake keygen`"
            ),
        }
    }
}

impl Error for TagSecretsError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Directory { source, .. } => Some(source),
            Self::Secret { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// Why a UUID was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TagCheckError {
    /// No key of the UUID's number was ever in the directory.
    Unknown {
        /// Key number in the UUID.
        number: KeyNumber,
    },
    /// The key of the UUID's number was retired: its file was removed.
    Retired {
        /// Key number in the UUID.
        number: KeyNumber,
    },
    /// The tag is not the one that the key makes for the id.
    Tag {
        /// Key number in the UUID.
        number: KeyNumber,
    },
}

impl Display for TagCheckError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { number } => write!(
                f,
                "the UUID has key number {number}, whose key is not known here"
            ),
            Self::Retired { number } => {
                write!(f, "the UUID has key number {number}, whose key was retired")
            }
            Self::Tag { number } => write!(
                f,
                "the UUID's tag is wrong: it was not made by a holder of key {number} of this namespace"
            ),
        }
    }
}

impl Error for TagCheckError {}

/// Error of [`TaggedBuilder::build`](super::TaggedBuilder::build). No lease is held.
#[derive(Debug)]
#[non_exhaustive]
pub enum TaggedBuildError {
    /// The store was opened for another namespace than the secrets are of.
    Namespace {
        /// Name of the store's namespace.
        store: String,
        /// Name of the secrets' namespace.
        secrets: String,
    },
    /// The namespace issues under a key whose file is not in the directory.
    KeyFile {
        /// Number of the key.
        number: KeyNumber,
        /// The file that is missing.
        file: PathBuf,
    },
    /// The store could not be opened.
    Open(StoreError),
    /// There is no handle under the key.
    Handle(BuildError),
    /// The thread that follows rotations could not be started.
    Thread(io::Error),
}

impl Display for TaggedBuildError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Namespace { store, secrets } => write!(
                f,
                "the store was opened for namespace {store:?}, and the keys are of {secrets:?}: both must be the same"
            ),
            Self::KeyFile { number, file } => write!(
                f,
                "the namespace issues under key number {number}, and {} is not there: put the secret of that number there",
                file.display()
            ),
            Self::Open(source) => Display::fmt(source, f),
            Self::Handle(source) => Display::fmt(source, f),
            Self::Thread(source) => {
                write!(
                    f,
                    "the thread that follows rotations cannot be started: {source}"
                )
            }
        }
    }
}

impl Error for TaggedBuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Open(source) => source.source(),
            Self::Handle(source) => source.source(),
            Self::Thread(source) => Some(source),
            Self::Namespace { .. } | Self::KeyFile { .. } => None,
        }
    }
}

impl From<&TaggedBuildError> for Retry {
    fn from(error: &TaggedBuildError) -> Self {
        match error {
            TaggedBuildError::Open(error) => error.into(),
            TaggedBuildError::Handle(error) => error.into(),
            _ => Self::Never,
        }
    }
}
