//! The account of one connection: as a guest, or as that of a token, with its place and its bytes.

use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::MemoryBudget;
use super::permit::{Permit, Pools};
use crate::access::{Hash, Principal};
use crate::lock::lock;
use crate::places::{ConnectionPlace, Places, RETRY, client_of};
use crate::refusal::{Refusal, RefusalKind};

/// How long a request waits for memory: less than a client's usual time limit, so that it learns
/// why it got nothing.
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
    known_cost: usize,
    state: Mutex<AccountState>,
}

enum AccountState {
    /// Its number among the guests.
    Guest(u64),
    KnownClient(KnownClient),
}

/// State of a connection whose client has sent a token.
struct KnownClient {
    name: String,
    /// Hash of the token that it has sent last; `None` where none is needed.
    token: Option<Hash>,
    long_pools: Pools,
    // What it needs to send and receive little, for as long as the connection is open.
    _base: Permit,
    place: Arc<ConnectionPlace>,
}

impl Account {
    /// Opens the account of a new connection, as a guest. Another guest may have to go; this one
    /// has to when the receiver gets a message.
    pub(crate) fn open(
        memory: &Arc<MemoryBudget>,
        places: &Arc<Places>,
        peer: SocketAddr,
        cost: ConnectionCost,
    ) -> (Self, oneshot::Receiver<()>) {
        let client = client_of(peer.ip());
        let (number, closed) = lock(&memory.guests).enter(client, cost.guest);
        let account = Self {
            memory: Arc::clone(memory),
            places: Arc::clone(places),
            peer,
            known_cost: cost.known,
            state: Mutex::new(AccountState::Guest(number)),
        };
        (account, closed)
    }

    pub(crate) fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// The memory that all clients share.
    pub(crate) fn memory(&self) -> &MemoryBudget {
        &self.memory
    }

    fn client(&self) -> IpAddr {
        client_of(self.peer.ip())
    }

    /// The connection is that of a token from here on, and takes a place and bytes as one.
    ///
    /// # Errors
    ///
    /// [`Refusal`] if there are none: it stays what it was.
    pub(crate) fn identify(&self, principal: &Principal) -> Result<(), Refusal> {
        let mut state = lock(&self.state);
        // The place, then the bytes, and the guest's part is given back last: whatever is refused,
        // it is a guest still.
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
        let owners = self.memory.limits.owners(self.client(), principal);
        let [pools, long_pools] = self.memory.pools(&owners);
        let mut base = Permit::new(&pools);
        let grown = base.try_grow(self.known_cost);
        grown.inspect_err(|_| self.memory.refused.add(1))?;
        if let AccountState::Guest(number) = *state
            && lock(&self.memory.guests)
                .leave(self.client(), number)
                .is_none()
        {
            // It was chosen to go before it could show its token, and is being closed.
            let message = "too many clients connect at once";
            return Err(Refusal::new(RefusalKind::Busy, message).retry_in(RETRY));
        }
        *state = AccountState::KnownClient(KnownClient {
            name: principal.name().to_owned(),
            token: principal.hash().copied(),
            long_pools,
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

    /// A permit for what is long, of no bytes yet; `None` for a guest, which holds no more than it
    /// has.
    pub(crate) fn long_permit(&self) -> Option<Permit> {
        match &*lock(&self.state) {
            AccountState::Guest(_) => None,
            AccountState::KnownClient(known) => Some(Permit::new(&known.long_pools)),
        }
    }

    /// A permit for so many bytes, for which a request waits a moment.
    pub(crate) async fn hold(&self, bytes: usize) -> Result<Permit, Refusal> {
        // Guests get nothing long but what is in the program: see `http/files.rs`.
        let mut permit = self.long_permit().ok_or_else(|| {
            let message = "what is that long needs a token";
            Refusal::new(RefusalKind::Unauthenticated, message)
        })?;
        permit.grow(bytes, Instant::now() + PATIENCE).await?;
        Ok(permit)
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        if let AccountState::Guest(number) = *lock(&self.state) {
            lock(&self.memory.guests).leave(self.client(), number);
        }
    }
}
