//! Error of an engine.

use core::error::Error;
use core::fmt::{self, Debug, Display, Formatter};
use std::io::ErrorKind;
use std::path::Path;

use crate::private_file::{FileRefusal, RefusalReason};

/// Error of an engine: a message for people, a [kind](EngineError::kind) for programs, and the original error as
/// the [source](Error::source).
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
