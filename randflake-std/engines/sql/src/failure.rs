//! Failure of an operation, and whether its connection goes on.

use core::error::Error;

use tokio::time::error::Elapsed;

use randflake_lease::unstable::tls;
use randflake_lease::{EngineError, EngineErrorKind};

/// Why an operation failed; where it was is not said yet.
#[derive(Debug)]
pub struct DatabaseFailure {
    error: EngineError,
    origin: Origin,
    is_overtaken: bool,
    is_silence: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Origin {
    /// Another connection might do better, at once.
    Connection,
    /// The server. A late answer would be taken for the next one's.
    Server,
    /// What was found there, over a connection that works.
    Store,
}

/// What an error of a server or its client means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// Another try may succeed.
    Passing,
    /// Trying again cannot help.
    Lasting,
    /// Nothing was written, because others were faster or the tables are gone.
    Overtaken,
}

impl DatabaseFailure {
    /// What the server or its client says, and its message without the client's words around it.
    pub fn of_client(
        error: impl Error + Send + Sync + 'static,
        sort: Sort,
        message: String,
    ) -> Self {
        // Wherever the client has put it, a certificate that is not trusted cannot pass by itself.
        let refusal = tls::refusal(&error).map(EngineError::failed_precondition);
        let failure = refusal.unwrap_or_else(|| match sort {
            Sort::Lasting => EngineError::failed_precondition(message),
            Sort::Passing | Sort::Overtaken => EngineError::unavailable(message),
        });
        Self {
            is_overtaken: sort == Sort::Overtaken,
            ..Self::of_the_connection(failure.because(error))
        }
    }

    /// What concerns this session.
    #[must_use]
    pub fn of_the_connection(error: EngineError) -> Self {
        // What no retry mends is not tried again on another connection. This one is dropped all the
        // same: only a new one is checked from the beginning.
        let origin = match error.kind() {
            EngineErrorKind::FailedPrecondition => Origin::Server,
            _ => Origin::Connection,
        };
        Self {
            error,
            origin,
            is_overtaken: false,
            is_silence: false,
        }
    }

    /// Failures of all addresses that were asked. If one of them lasts, so does this: another
    /// address that is down must not make a wrong password look like an outage.
    #[must_use]
    pub fn of_all(mut failures: Vec<(String, Self)>) -> Self {
        let sentences: Vec<_> = failures
            .iter()
            .map(|(address, failure)| format!("{address}: {}", failure.error))
            .collect();
        let chosen = failures.iter().position(|(_, failure): &(_, Self)| {
            failure.error.kind() == EngineErrorKind::FailedPrecondition
        });
        let Some(chosen) = chosen.or(failures.len().checked_sub(1)) else {
            return EngineError::unavailable("the URL has no host").into();
        };
        let (_, failure) = failures.swap_remove(chosen);
        if failures.is_empty() {
            return failure;
        }
        let error = match failure.error.kind() {
            EngineErrorKind::FailedPrecondition => {
                EngineError::failed_precondition(sentences.join("; "))
            }
            _ => EngineError::unavailable(sentences.join("; ")),
        };
        Self {
            error: error.because(failure.error),
            ..failure
        }
    }

    /// Whether there was no answer in the time of the operation.
    #[must_use]
    pub fn is_silence(&self) -> bool {
        self.is_silence
    }

    /// Whether another connection may do better at once.
    #[must_use]
    pub fn is_of_the_connection(&self) -> bool {
        self.origin == Origin::Connection
    }

    /// Whether it is about what the store has, so that the connection still works.
    #[must_use]
    pub fn is_of_the_store(&self) -> bool {
        self.origin == Origin::Store
    }

    /// Whether nothing was written because others were faster or the tables are gone.
    #[must_use]
    pub fn is_overtaken(&self) -> bool {
        self.is_overtaken
    }

    /// The same as a mistake that lasts, if it may pass otherwise and the mistake explains it.
    #[must_use]
    pub fn or_mistake(self, mistake: impl FnOnce() -> Option<String>) -> Self {
        if self.error.kind() == EngineErrorKind::FailedPrecondition {
            return self;
        }
        match mistake() {
            Some(why) => {
                Self::of_the_connection(EngineError::failed_precondition(why).because(self.error))
            }
            None => self,
        }
    }

    /// The error, with the place of the server in front.
    #[must_use]
    pub fn at(self, place: &str) -> EngineError {
        self.error.at(place)
    }
}

/// Other sessions of the server answer than the one that was set up.
#[must_use]
pub fn pooled() -> EngineError {
    EngineError::failed_precondition(
        "a connection pooler in transaction mode gives each statement another session, but the store needs one of \
         its own: let it pool sessions (PgBouncer: pool_mode=session), or connect to the server itself",
    )
}

/// What the store itself refuses leaves the connection as it was.
impl From<EngineError> for DatabaseFailure {
    fn from(error: EngineError) -> Self {
        Self {
            error,
            origin: Origin::Store,
            is_overtaken: false,
            is_silence: false,
        }
    }
}

impl From<Elapsed> for DatabaseFailure {
    fn from(_: Elapsed) -> Self {
        Self {
            // Not tried again at once: the time limit of the operation is used up.
            error: EngineError::unavailable("no answer in time"),
            origin: Origin::Server,
            is_overtaken: false,
            is_silence: true,
        }
    }
}
