//! Status and errors of counters.

use core::error::Error;
use core::fmt::{self, Display, Formatter};
use core::time::Duration;

use super::{CounterTerms, EngineError, EngineErrorKind, StoreError};
use crate::backoff::Retry;
#[cfg(doc)]
use crate::store::LeaseStore;

/// Error of an operation on a counter.
#[derive(Debug)]
#[non_exhaustive]
pub enum CounterError {
    /// The store has no such counter, or one that may have gone back since the store lost its
    /// continuity. Refused until an operator says where it begins:
    /// [`Counter::create`](crate::Counter::create) at 1,
    /// [`Counter::resume`](crate::Counter::resume) elsewhere.
    Lost {
        /// The highest known position of the counter; 0 if the store has no such counter.
        reached: u64,
        /// The counter.
        counter: CounterPlace,
    },
    /// The counter began again below numbers that this process has seen reserved, because it was
    /// declared new or resumed too low, or its store went back unnoticed: numbers may have been
    /// issued twice. Refused until an operator [resumes](crate::Counter::resume) it.
    Rewound {
        /// The highest known position of the counter.
        reached: u64,
        /// The counter.
        counter: CounterPlace,
    },
    /// The counter counts otherwise than this client says: it has other [terms](CounterTerms).
    /// Nothing was changed.
    OtherTerms {
        /// The counter's terms.
        kept: CounterTerms,
        /// Those that the client named.
        named: CounterTerms,
        /// The counter.
        counter: CounterPlace,
    },
    /// The period has fewer numbers left than were asked for, as they have only so many digits.
    /// Nothing was reserved.
    Full {
        /// Numbers that the period has left.
        left: u64,
        /// When the next period begins.
        passes_in: Duration,
        /// What is full, and what can be done.
        message: String,
        /// The counter.
        counter: Box<CounterPlace>,
    },
    /// Numbers of a period that has not begun by the store's clock were reserved while it was
    /// ahead. Periods never go back, so nothing is issued until that one begins.
    Ahead {
        /// When it begins.
        passes_in: Duration,
        /// What was found, and what follows.
        message: String,
        /// The counter.
        counter: Box<CounterPlace>,
    },
    /// The request is out of range; the message says what is allowed.
    Invalid(String),
    /// The engine cannot be used until something is changed. Nothing was reserved.
    FailedPrecondition(EngineError),
    /// The engine failed or did not answer. Whether numbers were reserved is unknown.
    Unavailable(EngineError),
}

error_kinds! {
    /// Kind of a [`CounterError`].
    CounterError => CounterErrorKind {
        Lost,
        Rewound,
        OtherTerms,
        Full,
        Ahead,
        Invalid,
        FailedPrecondition,
        Unavailable,
    }
}

impl From<EngineError> for CounterError {
    fn from(error: EngineError) -> Self {
        match error.kind() {
            EngineErrorKind::FailedPrecondition => Self::FailedPrecondition(error),
            EngineErrorKind::Unavailable => Self::Unavailable(error),
        }
    }
}

/// What a store refuses that is only now opened.
impl From<StoreError> for CounterError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::FailedPrecondition(error) => Self::FailedPrecondition(error),
            StoreError::Unavailable(error) => Self::Unavailable(error),
            // Opening a deferred store can also fail by what concerns leases, such as other terms.
            refusal => Self::Invalid(refusal.to_string()),
        }
    }
}

impl Display for CounterError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost {
                reached: 0,
                counter,
            } => write!(
                f,
                "{counter} is not there, so no number is issued: it is new, or this is not the store that it was in. If no \
                 number of it was ever issued, begin it at 1: {}. Else use the store that it was in, or, if that is lost, \
                 resume it with a NUMBER above every number ever issued: {}",
                counter.remedy("segment init", "store.counter().create()"),
                counter.resume(),
            ),
            Self::Lost { reached, counter } => write!(
                f,
                "{counter} may have gone back, because its store was restarted, restored or replaced: resume it with a NUMBER \
                 above every number ever issued, at least {reached}: {}",
                counter.resume()
            ),
            Self::Rewound { reached, counter } => write!(
                f,
                "{counter} began again below numbers that were reserved before, so numbers may have been issued twice: \
                 resume it with a NUMBER above every number ever issued, at least {reached}: {}",
                counter.resume()
            ),
            Self::OtherTerms {
                kept,
                named,
                counter,
            } => write!(
                f,
                "{counter} counts {kept}, and this client says {named}: terms are fixed when a counter is begun, so say the \
                 same, or nothing, or take another counter, of another namespace"
            ),
            Self::Full {
                message, counter, ..
            }
            | Self::Ahead {
                message, counter, ..
            } => write!(f, "{counter}: {message}"),
            Self::Invalid(sentence) => f.write_str(sentence),
            Self::FailedPrecondition(error) => Display::fmt(error, f),
            Self::Unavailable(error) => write!(f, "the store is unavailable: {error}"),
        }
    }
}

impl Error for CounterError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            // Its sentence is this error's own.
            Self::FailedPrecondition(error) | Self::Unavailable(error) => error.source(),
            Self::Lost { .. }
            | Self::Rewound { .. }
            | Self::OtherTerms { .. }
            | Self::Full { .. }
            | Self::Ahead { .. }
            | Self::Invalid(_) => None,
        }
    }
}

impl From<&CounterError> for Retry {
    fn from(error: &CounterError) -> Self {
        match error {
            CounterError::Unavailable(_) => Self::Soon,
            CounterError::Full { passes_in, .. } | CounterError::Ahead { passes_in, .. } => {
                Self::Later(Some(*passes_in))
            }
            // Until an operator says where the counter goes on.
            CounterError::Lost { .. }
            | CounterError::Rewound { .. }
            | CounterError::OtherTerms { .. }
            | CounterError::Invalid(_)
            | CounterError::FailedPrecondition(_) => Self::Never,
        }
    }
}

/// Where a counter is, as errors name it: its store, its namespace, and the commands that repair
/// it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterPlace {
    /// The URL of the store without user, password and options, or what it is.
    pub store: String,
    /// Name of the namespace.
    pub namespace: String,
    /// Arguments that name both to a command, quoted for a shell; `None` if no command reaches the
    /// store, as in memory.
    pub arguments: Option<String>,
}

impl CounterPlace {
    /// The command that does something about the counter, or the call where no command reaches it.
    fn remedy(&self, command: &str, call: &str) -> String {
        match &self.arguments {
            Some(arguments) => format!("`randflake {command} {arguments}`"),
            None => format!("`{call}`"),
        }
    }

    fn resume(&self) -> String {
        self.remedy("segment resume NUMBER", "store.counter().resume(NUMBER)")
    }
}

impl Display for CounterPlace {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            store, namespace, ..
        } = self;
        write!(f, "the counter {namespace:?} in {store}")
    }
}

/// A counter as its store knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterStatus {
    /// The first number not reserved yet, as far as the store knows; `None` if it has no such
    /// counter. If numbers have dates, that of the period that the store's clock shows.
    pub next: Option<u64>,
    /// How it counts; `None` if the store has no such counter.
    pub terms: Option<CounterTerms>,
    /// No number was reserved yet, so [`Counter::create`](crate::Counter::create) may still change
    /// its terms.
    pub is_unused: bool,
    /// How long nothing is issued because the store's clock was ahead: see [`CounterError::Ahead`].
    pub ahead_for: Option<Duration>,
    /// The counter is not there, or reservations may have been forgotten: refused until an operator
    /// [begins](crate::Counter::create) or [resumes](crate::Counter::resume) it.
    pub lost: bool,
}
