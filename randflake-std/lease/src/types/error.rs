//! Errors of lease stores and of their engines, and the kinds of both.

use core::error::Error;
use core::fmt::{self, Debug, Display, Formatter};
use core::time::Duration;
use std::io::ErrorKind;
use std::path::Path;

use randflake_core::KeyNumber;

use super::{MAX_SKEW, Quarantine, QuarantineCause};
use crate::backoff::Retry;
use crate::date::{span, utc};
use crate::private_file::{FileRefusal, RefusalReason};

/// Makes the enum of an error's kinds, and its `kind` function, from one list of variants.
macro_rules! error_kinds {
    ($(#[$doc:meta])* $error:ident => $kind:ident { $($variant:ident,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $kind {
            $(
                #[doc = concat!("Kind of [`", stringify!($error), "::", stringify!($variant), "`].")]
                $variant,
            )+
        }

        impl $error {
            /// Returns the kind of the error.
            #[must_use]
            pub const fn kind(&self) -> $kind {
                match self {
                    // Braces with dots match every form of a variant: unit, tuple and struct.
                    $(Self::$variant { .. } => $kind::$variant,)+
                }
            }
        }
    };
}

/// Error of an operation on a lease store.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// Fewer node ids are free than were requested.
    Exhausted {
        /// How long until enough leases end, unless they are renewed.
        retry_in: Duration,
    },
    /// The last lease of an assigned node id ends more than a day ahead: it was granted by a clock
    /// that was that far ahead. Nothing is granted before its end.
    LeaseAhead {
        /// End of that lease, as time since the Unix epoch.
        ends: Duration,
        /// Time until its end.
        ends_in: Duration,
    },
    /// The store is in quarantine: it may have forgotten leases, and grants nothing until all of
    /// them have expired.
    Quarantined {
        /// Time until it ends.
        retry_in: Duration,
        /// Start, end and cause of the quarantine.
        quarantine: Quarantine,
    },
    /// The clocks of the store and of this machine differ too much.
    ClockSkew {
        /// Clock of the store, as time since the Unix epoch.
        store: Duration,
        /// Clock of this machine, as time since the Unix epoch.
        here: Duration,
    },
    /// The namespace is stored with another layout, secret or longest TTL.
    Terms {
        /// The terms that differ, as stored.
        stored: String,
        /// The same terms, as requested.
        asked: String,
    },
    /// The namespace issues tagged UUIDs under the key of another number. Nothing was granted or
    /// renewed; leases that there are go on until they end, and may be released.
    KeyNumber {
        /// Number of the key, as stored.
        stored: KeyNumber,
        /// Number of the key, as requested.
        asked: KeyNumber,
    },
    /// The namespace was dropped. Only a person opens it again:
    /// [`Administration::reopen_namespace`](crate::Administration::reopen_namespace).
    Dropped {
        /// When every lease from before has expired by the store's clock, as time since the Unix
        /// epoch.
        until: Duration,
    },
    /// The namespace was declared new, and is not; the message says how that shows. The quarantine
    /// goes on.
    NotNew(String),
    /// The secret is that of another namespace of the store or its server, and ids of both would be
    /// equal: see [`Namespace::with_shared_secret`](crate::Namespace::with_shared_secret).
    SecretTaken {
        /// The namespace that took it first; it may have been dropped since.
        namespace: String,
        /// The number of the server's database that has that namespace, if it is another one than
        /// this store's.
        database: Option<u32>,
        /// The namespace that it was requested for.
        asked: String,
    },
    /// The request is out of range; the message says what is allowed.
    Invalid(String),
    /// The engine cannot be used until something is changed; the message says what. Nothing was
    /// done.
    FailedPrecondition(EngineError),
    /// The engine failed or did not answer. Whether the operation was done is unknown.
    Unavailable(EngineError),
}

error_kinds! {
    /// Kind of a [`StoreError`].
    StoreError => StoreErrorKind {
        Exhausted,
        LeaseAhead,
        Quarantined,
        ClockSkew,
        Terms,
        KeyNumber,
        Dropped,
        NotNew,
        SecretTaken,
        Invalid,
        FailedPrecondition,
        Unavailable,
    }
}

impl StoreError {
    /// A failure of the engine that may pass.
    pub fn unavailable(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Unavailable(EngineError::unavailable(source))
    }

    /// A failure of the engine that lasts: the sentence says what to change.
    pub fn failed_precondition(sentence: impl Into<String>) -> Self {
        Self::FailedPrecondition(EngineError::failed_precondition(sentence))
    }
}

impl From<EngineError> for StoreError {
    fn from(error: EngineError) -> Self {
        match error.kind() {
            EngineErrorKind::Unavailable => Self::Unavailable(error),
            EngineErrorKind::FailedPrecondition => Self::FailedPrecondition(error),
        }
    }
}

impl Display for StoreError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exhausted { retry_in } => {
                write!(
                    f,
                    "too few node ids are free: try again in {}",
                    span(*retry_in)
                )
            }
            Self::LeaseAhead { ends, ends_in } => write!(
                f,
                "the last lease of this node id ends at {}, {} ahead, because a clock was that far ahead when it was \
                 granted, and nothing is granted before. Set the clock, and assign another node id with a file of its own; \
                 or, if `randflake lease list` shows that this lease ends when it starts, so that no id was issued under \
                 it, remove the file: the next start waits as for a new one",
                utc(*ends),
                span(*ends_in)
            ),
            Self::Quarantined {
                retry_in,
                quarantine,
            } => {
                let wait = span(*retry_in);
                write!(f, "{quarantine}: wait {wait}{}", quarantine.otherwise())
            }
            Self::ClockSkew { store, here } => write!(
                f,
                "the store's clock shows {}, {} {} what this machine expects: at most {} are allowed, and less \
                 between two answers; set the clock that is wrong (NTP)",
                utc(*store),
                span(store.abs_diff(*here)),
                if store > here { "ahead of" } else { "behind" },
                span(MAX_SKEW)
            ),
            Self::Terms { stored, asked } => write!(
                f,
                "the namespace has other terms: it is stored with {stored}, and opened with {asked}. Ids could repeat, so \
                 nothing is granted. Terms are fixed when a namespace is created: use what is stored, or another namespace"
            ),
            Self::KeyNumber { stored, asked } if asked < stored => write!(
                f,
                "the namespace has gone on to key number {stored}, and {asked} was asked for: nothing is granted or renewed \
                 under it any more. Give this process the secret of key number {stored}"
            ),
            Self::KeyNumber { stored, asked } => {
                write!(
                    f,
                    "the namespace issues under key number {stored}, and {asked} was asked for. "
                )?;
                match stored.next() {
                    Some(next) if next == *asked => f.write_str(
                        "It goes on to the next key by a command alone, when every process has the secret \
                         (`Administration::next_key`)",
                    ),
                    Some(next) => write!(f, "No number is skipped: {next} comes next"),
                    None => f.write_str("It is the last: another namespace begins with 1 again"),
                }
            }
            Self::Dropped { until } => write!(
                f,
                "the namespace was dropped, and leases of it may be in use until {}. Nothing is granted until somebody \
                 opens it again: `randflake lease init --reopen`, or use another namespace",
                utc(*until)
            ),
            Self::NotNew(why) => write!(
                f,
                "the namespace is not new: {why}. Wait for the end of the quarantine; if it was set wrongly, and no process \
                 has a lease of this namespace, end it by `randflake lease quarantine --end`"
            ),
            Self::SecretTaken {
                namespace,
                database,
                asked,
            } => {
                write!(
                    f,
                    "the secret of namespace {asked:?} is already that of namespace {namespace:?} in "
                )?;
                match database {
                    None => f.write_str("this store")?,
                    Some(number) => write!(f, "database {number} of this server")?,
                }
                f.write_str(", and ids of both would be equal. Nothing is granted: ")?;
                if let Some(number) = database {
                    write!(f, "use database {number} for all that have this secret, ")?;
                }
                write!(
                    f,
                    "derive a secret for {asked:?}, `randflake keygen --derive {asked} --out {asked}.key` (in Rust, \
                     `Secret::derive`), or use --shared-secret (`Namespace::with_shared_secret`) if equal ids are meant"
                )
            }
            Self::Invalid(sentence) => f.write_str(sentence),
            Self::FailedPrecondition(error) => Display::fmt(error, f),
            Self::Unavailable(error) => write!(f, "the lease store is unavailable: {error}"),
        }
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            // Its sentence is this error's own.
            Self::FailedPrecondition(error) | Self::Unavailable(error) => error.source(),
            _ => None,
        }
    }
}

impl From<&StoreError> for Retry {
    fn from(error: &StoreError) -> Self {
        match error {
            // Exhaustive, so that a new error cannot be retried for ever by mistake.
            StoreError::Unavailable(_) => Self::Soon,
            StoreError::Quarantined {
                retry_in,
                quarantine,
            } if quarantine.cause == QuarantineCause::Young => Self::Due(*retry_in),
            // At most so long: a release, or an operator, may end it earlier.
            StoreError::Exhausted { retry_in } | StoreError::Quarantined { retry_in, .. } => {
                Self::Later(Some(*retry_in))
            }
            // A machine that has just started has yet to set its clock.
            StoreError::ClockSkew { .. } => Self::Later(None),
            // `LeaseAhead` passes, but in more than a day: no start should wait so long.
            StoreError::LeaseAhead { .. }
            | StoreError::Terms { .. }
            | StoreError::KeyNumber { .. }
            | StoreError::Dropped { .. }
            | StoreError::NotNew(_)
            | StoreError::SecretTaken { .. }
            | StoreError::Invalid(_)
            | StoreError::FailedPrecondition(_) => Self::Never,
        }
    }
}

/// Error of an engine: a message for people, a [kind](EngineError::kind) for programs, and the
/// original error as the [source](Error::source).
pub struct EngineError {
    kind: EngineErrorKind,
    sentence: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// What kind of failure an [`EngineError`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EngineErrorKind {
    /// The engine failed or did not answer; the operation may have been done. A retry may succeed.
    Unavailable,
    /// The engine cannot be used until something is changed. Nothing was done.
    FailedPrecondition,
}

impl EngineError {
    /// Makes an error that may pass.
    pub fn unavailable(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let source = source.into();
        Self {
            kind: EngineErrorKind::Unavailable,
            sentence: source.to_string(),
            source: Some(source),
        }
    }

    /// Makes an error that lasts; the sentence says what to change.
    pub fn failed_precondition(sentence: impl Into<String>) -> Self {
        Self {
            kind: EngineErrorKind::FailedPrecondition,
            sentence: sentence.into(),
            source: None,
        }
    }

    /// Adds the original error as the source.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Puts the place of the engine in front of the sentence.
    #[must_use]
    pub fn at(mut self, place: &str) -> Self {
        self.sentence = format!("{place}: {}", self.sentence);
        self
    }

    /// Makes an error that lasts, about a file.
    pub fn of_file(path: &Path, why: impl Display) -> Self {
        Self::failed_precondition(format!("{}: {why}", path.display()))
    }

    /// Returns the kind of the error: whether it may pass.
    #[must_use]
    pub const fn kind(&self) -> EngineErrorKind {
        self.kind
    }
}

/// A file or directory that fails, or does not fulfil the rule of whom it may belong to.
impl From<FileRefusal> for EngineError {
    fn from(refusal: FileRefusal) -> Self {
        use ErrorKind as Kind;
        let sentence = refusal.to_string();
        // Other reasons, such as a wrong owner or mode, last until a person acts.
        let RefusalReason::Io(error) = refusal.reason else {
            return Self::failed_precondition(sentence);
        };
        // What a retry cannot change is for a person: rights, names, the kind of file.
        let made = match error.kind() {
            Kind::PermissionDenied
            | Kind::ReadOnlyFilesystem
            | Kind::AlreadyExists
            | Kind::NotADirectory
            | Kind::IsADirectory
            | Kind::InvalidFilename
            | Kind::InvalidInput
            | Kind::Unsupported => Self::failed_precondition(sentence),
            // Others may pass, as a full disk does.
            _ => Self::unavailable(sentence),
        };
        made.because(error)
    }
}

impl Display for EngineError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

/// The source is shown by its `Display`: `Debug` of a driver's error may hold what a log must not.
impl Debug for EngineError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let source = self.source.as_ref().map(ToString::to_string);
        f.debug_struct("EngineError")
            .field("kind", &self.kind)
            .field("sentence", &self.sentence)
            .field("source", &source)
            .finish()
    }
}

impl Error for EngineError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A driver's error, whose fields hold what its message does not say.
    #[derive(Debug)]
    struct Refused {
        #[expect(dead_code, reason = "only `Debug` would show it")]
        password: &'static str,
    }

    impl Display for Refused {
        fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
            f.write_str("wrong password")
        }
    }

    impl Error for Refused {}

    #[test]
    fn debug_shows_message_of_source_and_not_its_fields() {
        let password = "hunter2";
        let error =
            EngineError::failed_precondition("ids_app is refused").because(Refused { password });
        assert_eq!(
            format!("{error:?}"),
            r#"EngineError { kind: FailedPrecondition, sentence: "ids_app is refused", source: Some("wrong password") }"#
        );
    }
}
