//! Reasons for which a request is refused: one kind for each thing that a client does about it.

use core::error::Error;
use core::fmt::{self, Display, Formatter};
use core::time::Duration;

use randflake_std::GenerateError;
use randflake_std::date::utc;
use randflake_std::lease::{DeviceError, StoreError};

use randflake_common::failure::Failure;

/// Kind of a refusal: what the client can do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefusalKind {
    /// The client must send a token.
    Unauthenticated,
    /// The client must send another token.
    WrongToken,
    /// The client needs a right from the operator.
    Forbidden,
    /// The client must name another namespace.
    UnknownNamespace,
    /// The client must send another request.
    Invalid,
    /// Sends less at once, or later.
    Quota,
    /// Tries again later: nothing can be granted now.
    Busy,
    /// Tries again later, perhaps elsewhere: the namespace is not ready, or the store does not
    /// answer.
    Unavailable,
    /// Takes other leases: these are not the namespace's.
    Conflict,
    /// Asks the operator: the store or its settings are wrong.
    Failed,
    /// Reports a defect of the server.
    Internal,
    /// Asks for another path.
    NotFound,
    /// Uses another method of HTTP.
    MethodNotAllowed,
    /// Accepts another media type.
    NotAcceptable,
    /// Sends the body faster.
    TooSlow,
    /// Sends a shorter body.
    TooLarge,
    /// Sends the body as JSON.
    UnsupportedMediaType,
}

/// A request that was refused. Nothing was done, unless the store did not answer.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) kind: RefusalKind,
    /// One line: what is wrong, what was found, what is allowed.
    pub(crate) message: String,
    /// Time after which a retry may succeed.
    pub(crate) retry_in: Option<Duration>,
    /// What the operator learns beside that, and no client: it may name the store's host.
    pub(crate) detail: Option<String>,
}

impl RefusalKind {
    /// In their order, each with its name, its status in HTTP, and its word in the Redis protocol.
    /// Clients know the words of Redis: they report missing rights as such, and some try again by
    /// themselves.
    pub(crate) const ALL: [(Self, &'static str, u16, &'static str); 17] = [
        (Self::Unauthenticated, "unauthenticated", 401, "NOAUTH"),
        (Self::WrongToken, "wrong_token", 401, "WRONGPASS"),
        (Self::Forbidden, "forbidden", 403, "NOPERM"),
        (Self::UnknownNamespace, "unknown_namespace", 404, "ERR"),
        (Self::Invalid, "invalid", 400, "ERR"),
        (Self::Quota, "quota", 429, "TRYAGAIN"),
        (Self::Busy, "busy", 503, "TRYAGAIN"),
        (Self::Unavailable, "unavailable", 503, "LOADING"),
        (Self::Conflict, "conflict", 409, "ERR"),
        // Not 500: a known trouble of the store is no defect of the server.
        (Self::Failed, "failed", 503, "ERR"),
        (Self::Internal, "internal", 500, "ERR"),
        (Self::NotFound, "not_found", 404, "ERR"),
        (Self::MethodNotAllowed, "method_not_allowed", 405, "ERR"),
        (Self::NotAcceptable, "not_acceptable", 406, "ERR"),
        (Self::TooSlow, "too_slow", 408, "ERR"),
        (Self::TooLarge, "too_large", 413, "ERR"),
        (
            Self::UnsupportedMediaType,
            "unsupported_media_type",
            415,
            "ERR",
        ),
    ];

    /// For programs, and the label of a counter.
    pub(crate) const fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// The status of an HTTP answer.
    pub(crate) const fn http(self) -> u16 {
        Self::ALL[self as usize].2
    }

    /// The first word of an error in the Redis protocol.
    pub(crate) const fn resp(self) -> &'static str {
        Self::ALL[self as usize].3
    }
}

impl Refusal {
    pub(crate) fn new(kind: RefusalKind, message: impl Display) -> Self {
        Self {
            kind,
            message: message.to_string(),
            retry_in: None,
            detail: None,
        }
    }

    pub(crate) fn invalid(message: impl Display) -> Self {
        Self::new(RefusalKind::Invalid, message)
    }

    #[must_use]
    pub(crate) fn retry_in(self, time: Duration) -> Self {
        Self {
            retry_in: Some(time),
            ..self
        }
    }
}

impl Display for Refusal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Refusal {}

impl From<&GenerateError> for Refusal {
    fn from(error: &GenerateError) -> Self {
        let kind = match error {
            // The next tick brings more, here as elsewhere.
            GenerateError::SequenceExhausted { .. } => RefusalKind::Busy,
            _ => RefusalKind::Unavailable,
        };
        let refusal = Self::new(kind, error);
        match error.retry_in_ms() {
            Some(ms) => refusal.retry_in(Duration::from_millis(ms)),
            None => refusal,
        }
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        let (kind, retry_in) = match &error {
            StoreError::Exhausted { retry_in } | StoreError::Quarantined { retry_in, .. } => {
                // Not `Unavailable`: it is so in the whole namespace, and another server would say
                // the same.
                (RefusalKind::Busy, Some(*retry_in))
            }
            StoreError::Invalid(_) => (RefusalKind::Invalid, None),
            StoreError::Unavailable(_) | StoreError::ClockSkew { .. } => {
                (RefusalKind::Unavailable, None)
            }
            _ => (RefusalKind::Failed, None),
        };
        // Messages of a store may name its host, its user or a path: for the log, not for clients.
        let (message, detail) = match &error {
            StoreError::Invalid(_)
            | StoreError::Exhausted { .. }
            | StoreError::Quarantined { .. } => (error.to_string(), None),
            _ => (cause(&error), Some(error.to_string())),
        };
        Self {
            kind,
            message,
            retry_in,
            detail,
        }
    }
}

impl From<DeviceError> for Refusal {
    fn from(error: DeviceError) -> Self {
        let kind = match error {
            DeviceError::Store(error) => return error.into(),
            DeviceError::NotOwned { .. } => RefusalKind::Forbidden,
            DeviceError::Counter { .. } => RefusalKind::Invalid,
            // The device is to be registered, or needs another key.
            _ => RefusalKind::Conflict,
        };
        Self::new(kind, error)
    }
}

/// Failures of what the subcommands and the service share.
impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        let kind = match failure {
            Failure::Usage(_) => RefusalKind::Invalid,
            Failure::Later(_) => RefusalKind::Busy,
            Failure::Lost(_) => RefusalKind::Conflict,
            _ => RefusalKind::Failed,
        };
        Self::new(kind, failure)
    }
}

/// Without what the store's message may name, such as its host.
pub(crate) fn cause(error: &StoreError) -> String {
    match error {
        StoreError::Quarantined { quarantine, .. } => format!(
            "the lease store grants nothing until {}: it is new, or may have forgotten leases",
            utc(quarantine.until)
        ),
        StoreError::Exhausted { .. } => "no node id is free".to_owned(),
        StoreError::ClockSkew { .. } => {
            "the clocks of the store and this machine differ".to_owned()
        }
        StoreError::Terms { .. } => {
            "the namespace is stored with other terms than this server's".to_owned()
        }
        StoreError::Unavailable(_) => "the lease store does not answer".to_owned(),
        _ => "the lease store cannot be used".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_own_row() {
        for (index, (kind, ..)) in RefusalKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, index);
        }
        assert_eq!(
            RefusalKind::UnsupportedMediaType as usize + 1,
            RefusalKind::ALL.len()
        );
    }
}
