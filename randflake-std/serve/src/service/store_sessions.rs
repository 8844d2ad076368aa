//! Sessions of a namespace's store, for one kind of requests.

use std::sync::{Arc, Mutex};

use randflake_std::lease::LeaseStore;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What a request does with the store.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    /// Acquires, renews or releases leases.
    Change,
    /// Reads the history or lists leases. It has sessions of its own, so that no number of reads holds up a lease.
    Read,
}

impl Work {
    /// Requests that the store works on at the same time, each in a session of its own. Few: a database server has a hundred
    /// connections by default, and a fleet of servers shares them.
    const fn sessions(self) -> usize {
        match self {
            Self::Change => 5,
            Self::Read => 3,
        }
    }

    /// Sessions that one token may use: there is always a session for others, however many requests it sends.
    const fn of_one_token(self) -> usize {
        self.sessions() - 1
    }
}

/// Idle sessions, and how many may be in use.
pub(super) struct StoreSessions {
    pub(super) idle: Mutex<Vec<LeaseStore>>,
    pub(super) at_once: Arc<Semaphore>,
}

impl StoreSessions {
    pub(super) fn new(work: Work) -> Self {
        Self {
            idle: Mutex::default(),
            at_once: Arc::new(Semaphore::new(work.sessions())),
        }
    }
}

/// How many requests of one token may work with stores.
#[derive(Debug)]
pub(crate) struct Turns {
    changes: Arc<Semaphore>,
    reads: Arc<Semaphore>,
}

impl Default for Turns {
    fn default() -> Self {
        let new = |work: Work| Arc::new(Semaphore::new(work.of_one_token()));
        Self {
            changes: new(Work::Change),
            reads: new(Work::Read),
        }
    }
}

impl Turns {
    /// Waits until the token may have another request at work.
    pub(super) async fn take(&self, work: Work) -> Option<OwnedSemaphorePermit> {
        let turns = match work {
            Work::Change => &self.changes,
            Work::Read => &self.reads,
        };
        // They are never closed.
        Arc::clone(turns).acquire_owned().await.ok()
    }
}
