//! Status and errors of counters.

use core::error::Error;
use core::fmt::{self, Display, Formatter};

use randflake_core::segment::Segment;

use super::{EngineError, EngineErrorKind, StoreError};
use crate::backoff::Retry;
#[cfg(doc)]
use crate::store::LeaseStore;

/// Error of an operation on a counter.
#[non_exhaustive]
pub enum CounterError {
    /// The store lost its continuity, so its counter may have gone back or be forgotten: see
    /// [`LeaseStore::resume_counter`].
    Lost {
        /// The highest known position of the counter; 1 if the store knows nothing about it.
        reached: u64,
    },
    /// The counter began again below numbers that this process has seen reserved, because it was declared new or resumed too
    /// low, or its store went back unnoticed: numbers may have been issued twice. Refused until an operator
    /// [resumes](LeaseStore::resume_counter) it.
    Rewound {
        /// The highest known position of the counter.
        reached: u64,
    },
    /// The request is out of range; the message says what is allowed.
    Invalid(String),
    /// The engine cannot be used until something is changed. Nothing was reserved.
    Unusable(EngineError),
    /// The engine failed or did not answer. Whether numbers were reserved is unknown.
    Unavailable(EngineError),
}

error_kinds! {
    /// Kind of a [`CounterError`].
    CounterError => CounterErrorKind {
        Lost,
        Rewound,
        Invalid,
        Unusable,
        Unavailable,
    }
}

impl CounterError {
    /// The next numbers of a counter that stands at `next`.
    pub(crate) fn segment(next: u64, count: u64) -> Result<Segment, Self> {
        Segment::new(next, count).map_err(|error| Self::Invalid(error.to_string()))
    }
}

impl From<EngineError> for CounterError {
    fn from(error: EngineError) -> Self {
        match error.kind() {
            EngineErrorKind::Unusable => Self::Unusable(error),
            EngineErrorKind::Unavailable => Self::Unavailable(error),
        }
    }
}

/// What a store refuses that is only now opened.
impl From<StoreError> for CounterError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unusable(error) => Self::Unusable(error),
            StoreError::Unavailable(error) => Self::Unavailable(error),
            // Opening a deferred store can also fail by what concerns leases, such as other terms.
            refusal => Self::Invalid(refusal.to_string()),
        }
    }
}

impl Display for CounterError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            // At 1 the store knows of no number, and cannot tell a new counter from a lost one.
            Self::Lost { reached: 1 } => f.write_str(
                "the store has no such counter, or has forgotten it: if it is new, declare it so (`randflake segment init`); \
                 else resume it with a number above every number ever reserved",
            ),
            Self::Lost { reached } => write!(
                f,
                "the store was restarted, restored or replaced, so its counter may have gone back: resume it with a \
                 number above every number ever reserved, at least {reached}"
            ),
            Self::Rewound { reached } => write!(
                f,
                "the counter began again below numbers that were reserved before, so numbers may have been issued twice: \
                 resume it with a number above every number ever reserved, at least {reached}"
            ),
            Self::Invalid(sentence) => f.write_str(sentence),
            Self::Unusable(error) => Display::fmt(error, f),
            Self::Unavailable(error) => write!(f, "the store is unavailable: {error}"),
        }
    }
}

impl Error for CounterError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            // Its sentence is this error's own.
            Self::Unusable(error) | Self::Unavailable(error) => error.source(),
            Self::Lost { .. } | Self::Rewound { .. } | Self::Invalid(_) => None,
        }
    }
}

impl From<&CounterError> for Retry {
    fn from(error: &CounterError) -> Self {
        match error {
            CounterError::Unavailable(_) => Self::Soon,
            // Until an operator says where the counter goes on.
            CounterError::Lost { .. }
            | CounterError::Rewound { .. }
            | CounterError::Invalid(_)
            | CounterError::Unusable(_) => Self::Never,
        }
    }
}

/// A counter as its store knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterStatus {
    /// The first number not reserved yet, as far as the store knows.
    pub next: u64,
    /// The store may have forgotten reservations, and refuses until an operator [resumes](LeaseStore::resume_counter) it.
    pub lost: bool,
}
