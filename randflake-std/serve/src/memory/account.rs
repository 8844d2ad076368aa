//! What one connection holds: as a guest's, or as that of a token.

use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use std::sync::{Arc, Mutex, OnceLock};

use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::guests::Guest;
use super::share::Purse;
use super::{MemoryBudget, Share};
use crate::access::{Hash, Principal};
use crate::listen::{ConnectionPlace, Places};
use crate::lock::lock;
use crate::service::refusal::{Refusal, RefusalKind};

/// How long a request waits for memory: less than a client's usual time limit, so that it learns why it got nothing.
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
    /// Where a guest's long answers come from, once there was one. Kept, since a purse that nobody keeps is made anew.
    of_guest: OnceLock<Vec<Arc<Purse>>>,
}

enum AccountState {
    Guest(Guest),
    KnownClient(KnownClient),
}

/// State of a connection whose client has sent a token.
struct KnownClient {
    name: String,
    /// Hash of the token that it has sent last; `None` where none is needed.
    token: Option<Hash>,
    purses: Vec<Arc<Purse>>,
    // What it needs to send and receive little, for as long as the connection is open.
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
            of_guest: OnceLock::new(),
        }
    }
}

impl Account {
    pub(crate) fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// The memory that all clients share.
    pub(crate) fn memory(&self) -> &MemoryBudget {
        &self.memory
    }

    fn client(&self) -> IpAddr {
        self.peer.ip()
    }

    /// Says which task is to be ended when a guest must go.
    pub(crate) fn runs_in(&self, task: AbortHandle) {
        if let AccountState::Guest(guest) = &*lock(&self.state) {
            guest.runs_in(task);
        }
    }

    /// The connection is that of a token from here on, and takes a place and bytes as one.
    ///
    /// # Errors
    ///
    /// [`Refusal`] if there are none: it stays what it was.
    pub(crate) fn identify(&self, principal: &Principal) -> Result<(), Refusal> {
        let mut state = lock(&self.state);
        // The place, then the bytes, and the guest's part is given back last: whatever is refused, it is a guest still.
        let place = match &mut *state {
            AccountState::KnownClient(known) if known.name == principal.name() => {
                // It may be another one of the name, after a rotation.
                known.token = principal.hash().copied();
                return Ok(());
            }
            // A proxy sends requests of several tokens on one connection.
            AccountState::KnownClient(known) => Arc::clone(&known.place),
            AccountState::Guest(_) => Arc::new(self.places.take(self.client())?),
        };
        let purses = self.memory.purses(self.client(), Some(principal));
        let mut base = Share::new(Purse::for_connections(&purses));
        let grown = base.try_grow(self.cost.known);
        grown.inspect_err(|_| self.memory.refused.add(1))?;
        if let AccountState::Guest(guest) = &*state
            && !guest.leave()
        {
            // It was chosen to go before it could show its token, and its task is being ended.
            let message = "too many clients connect at once";
            return Err(Refusal::new(RefusalKind::Busy, message).retry_in(Duration::from_secs(1)));
        }
        *state = AccountState::KnownClient(KnownClient {
            name: principal.name().to_owned(),
            token: principal.hash().copied(),
            purses,
            _base: base,
            place,
        });
        Ok(())
    }

    /// Whether the client has sent a token, or needed none for what it asked.
    pub(crate) fn is_known(&self) -> bool {
        matches!(&*lock(&self.state), AccountState::KnownClient(_))
    }

    /// Hash of the token that the client has sent last, if it needed one.
    pub(crate) fn token(&self) -> Option<Hash> {
        match &*lock(&self.state) {
            AccountState::Guest(_) => None,
            AccountState::KnownClient(known) => known.token,
        }
    }

    /// A share that has nothing yet; `None` for a guest, which holds no more than it has.
    pub(crate) fn share(&self) -> Option<Share> {
        match &*lock(&self.state) {
            AccountState::Guest(_) => None,
            AccountState::KnownClient(known) => Some(Share::new(Purse::for_long(&known.purses))),
        }
    }

    /// A share of so many bytes, for which a request waits a moment. A guest's long answer counts for its address, as those
    /// of clients with a token do.
    pub(crate) async fn hold(&self, bytes: usize) -> Result<Share, Refusal> {
        let of_guest = || {
            let purses = self
                .of_guest
                .get_or_init(|| self.memory.purses(self.client(), None));
            Share::new(Purse::for_long(purses))
        };
        let mut share = self.share().unwrap_or_else(of_guest);
        share.grow(bytes, Instant::now() + PATIENCE).await?;
        Ok(share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listen::ConnectionLimits;
    use crate::memory::MemoryLimits;

    /// A guest's longest answer is a constant, which it may ask for on every connection and not receive.
    #[tokio::test]
    async fn a_guest_s_long_answer_counts_for_its_address() {
        const LEN: usize = 44 << 10;
        let memory = Arc::new(MemoryBudget::new(MemoryLimits::default()));
        let places = Arc::new(Places::new(ConnectionLimits::default()));
        let cost = ConnectionCost { guest: 1, known: 1 };
        let peer = |text: &str| text.parse().unwrap();
        let guest = memory.open(&places, peer("192.0.2.1:1"), cost);
        let most = MemoryLimits::default().of_address(guest.client()).unwrap() / 2;
        let mut held = Vec::new();
        while (held.len() + 1) * LEN <= most {
            held.push(guest.hold(LEN).await.unwrap());
        }
        assert_eq!(memory.all.used(), held.len() * LEN);
        // On another connection of the same address.
        let purses = memory.purses(guest.client(), None);
        let mut share = Share::new(Purse::for_long(&purses));
        assert_eq!(share.try_grow(LEN).unwrap_err().kind, RefusalKind::Quota);
        let other = memory.open(&places, peer("192.0.2.2:1"), cost);
        drop(other.hold(LEN).await.unwrap());
        held.pop();
        share.try_grow(LEN).unwrap();
        drop((held, share));
        assert_eq!(memory.all.used(), 0);
    }
}
