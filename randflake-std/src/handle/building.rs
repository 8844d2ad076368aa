//! First acquire of a handle, which may wait for its store, and the error of a build.

use core::convert::Infallible;
use core::error::Error;
use core::fmt::{self, Debug, Display, Formatter};
use core::time::Duration;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError};

use randflake_core::LeaseError;
use randflake_lease::backoff::{Backoff, Retry};
use randflake_lease::date::span;
use randflake_lease::unstable::clock::MonotonicTime;
use randflake_lease::unstable::holder::MAX_NAME_LEN;
use randflake_lease::{Acquisition, NodeIds, StoreError};

use super::store_client::StoreClient;
use crate::observability::events;

type Notice = Box<dyn FnMut(&StoreError, Duration) + Send>;

#[derive(Default)]
pub(super) struct BuildWait {
    pub(super) limit: Duration,
    /// Called with the reason and the longest wait left.
    pub(super) notice: Option<Notice>,
}

/// Channel that is disconnected when the caller drops the build.
pub(super) type Cancellation = Receiver<Infallible>;

impl BuildWait {
    /// Makes the first acquire, retrying within the limit.
    pub(super) fn acquire(
        mut self,
        client: &mut StoreClient,
        wanted: NodeIds<'_>,
        cancellation: &Cancellation,
    ) -> Result<(Acquisition, MonotonicTime), BuildError> {
        // From the first try on: what the store takes to answer counts as well.
        let mut backoff = Backoff::new(self.limit);
        let mut last_message = None;
        loop {
            let error = match client.acquire(wanted) {
                Ok(acquired) => return Ok(acquired),
                Err(error) => error,
            };
            let retry = Retry::from(&error);
            let Some(pause) = backoff.pause(retry) else {
                return Err(self.failed(retry, error, backoff.spent()));
            };
            // Reported once per reason: a store may come back and be full. What is due soon is
            // worth no word.
            let is_due = matches!(retry, Retry::Due(_));
            if !is_due
                && !self.limit.is_zero()
                && last_message.replace(error.kind()) != Some(error.kind())
            {
                self.notify(client.namespace(), &error, backoff.left());
            }
            // A pause that ends early when the caller goes away. Nobody ever sends.
            if cancellation.recv_timeout(pause) == Err(RecvTimeoutError::Disconnected) {
                return Err(error.into());
            }
        }
    }

    fn notify(&mut self, namespace: &str, error: &StoreError, left: Duration) {
        events::waiting(namespace, left, error);
        if let Some(notice) = &mut self.notice {
            notice(error, left);
        }
    }

    fn failed(&self, retry: Retry, error: StoreError, waited: Duration) -> BuildError {
        // Without a limit nobody asked to wait: three tries of an unknown outcome are no wait.
        if self.limit.is_zero() || retry == Retry::Never {
            BuildError::Store(error)
        } else {
            BuildError::Waited { waited, error }
        }
    }
}

impl Debug for BuildWait {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("BuildWait")
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

/// Error of [`Builder::build`](super::Builder::build). No lease is held.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// The store was opened for a namespace with another layout.
    Layout {
        /// Name of the namespace.
        namespace: String,
    },
    /// The layout uses more bits than its ids may have: the highest would show.
    TooWide {
        /// Number of bits that the layout uses, from the lowest.
        bits: u32,
        /// Number of bits that the permutation permutes.
        max: u32,
    },
    /// The range of node ids is empty or too large.
    NodeIds {
        /// Smallest number that was given.
        least: u32,
        /// Largest number that was given.
        most: u32,
        /// Number of node ids of the namespace, the largest allowed.
        max: u64,
    },
    /// The TTL is too short.
    Ttl {
        /// TTL that was given.
        ttl: Duration,
        /// Shortest TTL that is allowed.
        min: Duration,
    },
    /// The holder's name is not allowed.
    Holder {
        /// Name that was given.
        name: String,
    },
    /// The tolerance is too large.
    Tolerance {
        /// Tolerance that was given, in ticks.
        ticks: u32,
        /// Largest tolerance allowed, in ticks.
        max_ticks: u64,
    },
    /// The store refused or failed.
    Store(StoreError),
    /// The store still refused or failed when the [time to wait](super::Builder::wait) was up.
    Waited {
        /// Time that the build waited.
        waited: Duration,
        /// Error of the last try.
        error: StoreError,
    },
    /// The store granted a lease that is invalid for the layout.
    Lease(LeaseError),
    /// The thread of the keeper could not be started.
    Thread(io::Error),
}

impl From<StoreError> for BuildError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<LeaseError> for BuildError {
    fn from(error: LeaseError) -> Self {
        Self::Lease(error)
    }
}

impl Display for BuildError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layout { namespace } => write!(
                f,
                "the store was opened for namespace {namespace:?} of another layout than the handle's: give both the same one, \
                 as in Namespace::new({namespace:?}, Milliflake) and Builder::encrypted(Milliflake, &secret, store), or \
                 Builder::new(Snowflake, Plain, store) for plain ids; Handle::builder(&secret, store) is for Randflake"
            ),
            Self::TooWide { bits, max } => write!(
                f,
                "the layout has {bits} bits, and ids of {max} bits are asked for: a layout of at most {max} is allowed, such \
                 as Randflake53 for 53"
            ),
            Self::NodeIds { least, most, max } => write!(
                f,
                "{least} to {most} node ids asked for: a range within 1 to {max} is allowed, the smaller number first"
            ),
            Self::Ttl { ttl, min } => {
                write!(
                    f,
                    "a TTL of {} is too short: at least {} is allowed",
                    span(*ttl),
                    span(*min)
                )
            }
            Self::Holder { name } => write!(
                f,
                "holder {:?}: 1 to {MAX_NAME_LEN} bytes without control characters are allowed, and no \
                 \"device\" or \"device/...\"",
                name.chars().take(MAX_NAME_LEN).collect::<String>()
            ),
            Self::Tolerance { ticks, max_ticks } => {
                write!(
                    f,
                    "a tolerance of {ticks} ticks is too large: at most {max_ticks} is allowed"
                )
            }
            Self::Store(source) => Display::fmt(source, f),
            Self::Waited { waited, error } => {
                write!(f, "gave up after {}", span(*waited))?;
                // By then a longer wait would have succeeded; of other errors nobody knows.
                if let StoreError::Quarantined { retry_in, .. } = error {
                    let enough = span(waited.saturating_add(*retry_in));
                    write!(f, ", where {enough} were needed")?;
                }
                write!(f, ": {error}")
            }
            Self::Lease(source) => write!(f, "the store's grant cannot be used: {source}"),
            Self::Thread(source) => write!(f, "the keeper's thread cannot be started: {source}"),
        }
    }
}

impl Error for BuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Store(source) | Self::Waited { error: source, .. } => Some(source),
            Self::Lease(source) => Some(source),
            Self::Thread(source) => Some(source),
            Self::Layout { .. }
            | Self::TooWide { .. }
            | Self::NodeIds { .. }
            | Self::Ttl { .. }
            | Self::Holder { .. }
            | Self::Tolerance { .. } => None,
        }
    }
}

impl From<&BuildError> for Retry {
    fn from(error: &BuildError) -> Self {
        match error {
            BuildError::Store(error) => error.into(),
            _ => Self::Never,
        }
    }
}
