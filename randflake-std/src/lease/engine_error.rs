//! Why an engine did not read or write.

use core::error::Error;
use core::fmt::{self, Display, Formatter};

/// Why an engine did not read or write: a sentence for people, a [kind](EngineError::kind) for programs, and what the
/// engine itself said as the [source](Error::source).
#[derive(Debug)]
pub struct EngineError {
    kind: EngineErrorKind,
    sentence: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// What kind of failure an [`EngineError`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EngineErrorKind {
    /// It failed or did not answer; what was asked may have been done. Another try may succeed.
    Unavailable,
    /// It does not fit what it is used for, and will not without a change; nothing was done.
    Unusable,
}

impl EngineError {
    /// A failure that may pass.
    pub fn unavailable(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let source = source.into();
        Self {
            kind: EngineErrorKind::Unavailable,
            sentence: source.to_string(),
            source: Some(source),
        }
    }

    /// A failure that lasts: the sentence says what to change.
    pub fn unusable(sentence: impl Into<String>) -> Self {
        Self {
            kind: EngineErrorKind::Unusable,
            sentence: sentence.into(),
            source: None,
        }
    }

    /// With what the engine said.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// With where it was, in front of its sentence.
    #[must_use]
    pub fn at(mut self, place: &str) -> Self {
        self.sentence = format!("{place}: {}", self.sentence);
        self
    }

    /// Whether it may pass.
    #[must_use]
    pub const fn kind(&self) -> EngineErrorKind {
        self.kind
    }
}

impl Display for EngineError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl Error for EngineError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn Error + 'static))
    }
}
