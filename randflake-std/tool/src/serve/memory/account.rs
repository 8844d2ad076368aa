//! What one connection holds: as a guest's, or as that of a token.

use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::guests::Guest;
use super::share::Purse;
use super::{MemoryBudget, Share};
use crate::serve::access::Identity;
use crate::serve::listen::{ConnectionPlace, Places};
use crate::serve::service::refusal::{Refusal, RefusalKind};

/// How long a request waits for memory.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a connection holds at most before it asks for more, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionCost {
    pub(crate) guest: usize,
    pub(crate) known: usize,
}

/// The account of a connection with the server's memory and places.
pub(crate) struct Account {
    memory: Arc<MemoryBudget>,
    places: Arc<Places>,
    peer: SocketAddr,
    cost: ConnectionCost,
    state: Mutex<AccountState>,
}

enum AccountState {
    Guest(Guest),
    IdentifiedClient(IdentifiedClient),
}

/// State of a connection whose client has sent a token.
struct IdentifiedClient {
    name: String,
    purses: Vec<Arc<Purse>>,
    _base: Share,
    place: Arc<ConnectionPlace>,
}

impl MemoryBudget {
    /// Opens the account of a new connection, as a guest. Another guest may have to go.
    pub(crate) fn open(
        self: &Arc<Self>,
        places: &Arc<Places>,
        peer: SocketAddr,
        cost: ConnectionCost,
    ) -> Account {
        let guest = self.guests.enter(super::client_of(peer.ip()), cost.guest);
        Account {
            memory: Arc::clone(self),
            places: Arc::clone(places),
            peer,
            cost,
            state: Mutex::new(AccountState::Guest(guest)),
        }
    }
}

impl Account {
    pub(crate) fn peer(&self) -> SocketAddr {
        self.peer
    }

    fn client(&self) -> IpAddr {
        self.peer.ip()
    }

    /// Says which task is to be ended when a guest must go.
    pub(crate) fn runs_in(&self, task: AbortHandle) {
        if let AccountState::Guest(guest) = &*self.state() {
            guest.runs_in(task);
        }
    }

    /// The connection is that of a token from here on, and takes a place and bytes as one.
    ///
    /// # Errors
    ///
    /// [`Refusal`] if there are none: it stays what it was.
    pub(crate) fn identify(&self, identity: &Identity) -> Result<(), Refusal> {
        let mut state = self.state();
        let place = match &*state {
            AccountState::IdentifiedClient(known) if known.name == identity.name() => return Ok(()),
            // A proxy sends requests of several tokens on one connection.
            AccountState::IdentifiedClient(known) => Arc::clone(&known.place),
            AccountState::Guest(_) => Arc::new(self.places.take(self.client())?),
        };
        let purses = self.memory.purses(self.client(), identity);
        let mut base = Share::new(Purse::for_connections(&purses));
        let grown = base.try_grow(self.cost.known);
        grown.inspect_err(|_| self.memory.refused.add(1))?;
        if let AccountState::Guest(guest) = &*state
            && !guest.leave()
        {
            let told = "too many clients connect at once";
            return Err(Refusal::new(RefusalKind::Busy, told).retry_in(Duration::from_secs(1)));
        }
        *state = AccountState::IdentifiedClient(IdentifiedClient {
            name: identity.name().to_owned(),
            purses,
            _base: base,
            place,
        });
        Ok(())
    }

    /// A share that has nothing yet; `None` for a guest, which holds no more than it has.
    pub(crate) fn share(&self) -> Option<Share> {
        match &*self.state() {
            AccountState::Guest(_) => None,
            AccountState::IdentifiedClient(known) => {
                Some(Share::new(Purse::for_long(&known.purses)))
            }
        }
    }

    /// A share of so many bytes, for which a request waits a moment.
    pub(crate) async fn hold(&self, bytes: usize) -> Result<Option<Share>, Refusal> {
        let Some(mut share) = self.share() else {
            return Ok(None);
        };
        share.grow(bytes, Instant::now() + PATIENCE).await?;
        Ok(Some(share))
    }

    fn state(&self) -> MutexGuard<'_, AccountState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
