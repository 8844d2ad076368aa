//! How a build waits for a store that grants nothing yet.

use core::convert::Infallible;
use core::fmt::{self, Debug, Formatter};
use core::time::Duration;
use std::sync::mpsc::{Receiver, RecvTimeoutError};

use randflake_lease::backoff::{Backoff, Retry};
use randflake_lease::unstable::clock::MonotonicTime;
use randflake_lease::{Acquired, NodeIds, StoreError};

use super::build_error::BuildError;
use super::store_client::StoreClient;
use crate::observability::events;

type Tell = Box<dyn FnMut(&StoreError, Duration) + Send>;

#[derive(Default)]
pub(super) struct BuildWait {
    pub(super) limit: Duration,
    /// Called with the reason and the longest wait left.
    pub(super) tell: Option<Tell>,
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
    ) -> Result<(Acquired, MonotonicTime), BuildError> {
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
            // Reported once per reason: a store may come back and be full. What is due soon is worth no word.
            let is_due = matches!(retry, Retry::Due(_));
            if !is_due
                && !self.limit.is_zero()
                && last_message.replace(error.kind()) != Some(error.kind())
            {
                self.tell(client.namespace(), &error, backoff.left());
            }
            // A pause that ends early when the caller goes away. Nobody ever sends.
            if cancellation.recv_timeout(pause) == Err(RecvTimeoutError::Disconnected) {
                return Err(error.into());
            }
        }
    }

    fn tell(&mut self, namespace: &str, error: &StoreError, left: Duration) {
        events::waiting(namespace, left, error);
        if let Some(tell) = &mut self.tell {
            tell(error, left);
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
