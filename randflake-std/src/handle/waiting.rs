//! How a build waits for a store that grants nothing yet.

use core::convert::Infallible;
use core::fmt::{self, Debug, Formatter};
use core::time::Duration;
use std::sync::mpsc::{Receiver, RecvTimeoutError};

use super::build_error::BuildError;
use super::store_client::StoreClient;
use crate::backoff::{Patience, Retry};
use crate::clock::Monotonic;
use crate::observability::events;
use crate::vocabulary::{Acquired, NodeIds, StoreError};

type Tell = Box<dyn FnMut(&StoreError, Duration) + Send>;

#[derive(Default)]
pub(super) struct Waiting {
    pub(super) limit: Duration,
    /// Is told why, and for how long at most.
    pub(super) tell: Option<Tell>,
}

/// Disconnected once nobody wants the handle any more.
pub(super) type Asked = Receiver<Infallible>;

impl Waiting {
    /// The first acquire.
    pub(super) fn acquire(
        mut self,
        client: &mut StoreClient,
        wanted: NodeIds<'_>,
        asked: &Asked,
    ) -> Result<(Acquired, Monotonic), BuildError> {
        let mut patience = Patience::new(self.limit);
        let mut told = None;
        loop {
            let error = match client.acquire(wanted) {
                Ok(acquired) => return Ok(acquired),
                Err(error) => error,
            };
            let retry = Retry::from(&error);
            let Some(pause) = patience.pause(retry) else {
                return Err(self.failed(retry, error, patience.spent()));
            };
            // Once for each reason: a store may come back, and be full.
            if !self.limit.is_zero() && told.replace(error.kind()) != Some(error.kind()) {
                self.tell(client.namespace(), &error, patience.left());
            }
            if asked.recv_timeout(pause) == Err(RecvTimeoutError::Disconnected) {
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
        if self.limit.is_zero() || retry == Retry::Never {
            BuildError::Store(error)
        } else {
            BuildError::Waited { waited, error }
        }
    }
}

impl Debug for Waiting {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting")
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}
