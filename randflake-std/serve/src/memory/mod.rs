//! The memory that clients can make the server hold: one budget of bytes, in which every connection has its part.
//!
//! Connections of clients that have not sent a token yet are *guests*. They have a part of the budget of their own, with a
//! fixed number of bytes for each, and the oldest of them makes room for a new one. So there is always room for a health
//! check and for a token, however many others connect. Clients with a token share the rest. None waits for memory to send
//! or to receive little: that is paid for when its token is accepted. What long requests and answers take beside is at most
//! half of the rest, so that they leave room for new connections.

mod account;
mod guests;
mod limits;
mod share;
mod usage;

use core::hash::Hash;
use core::net::IpAddr;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

pub(crate) use self::account::{Account, ConnectionCost};
use self::guests::Guests;
pub use self::limits::MemoryLimits;
pub(crate) use self::share::Share;
use self::share::{Purse, PurseOwner};
pub(crate) use self::usage::watch;
use super::access::Principal;
use super::listen::client_of;
use super::lock::lock;
use super::service::counters::Count;

/// What guests may hold of the budget: a part of so many.
const GUEST_PART: usize = 8;

/// Memory budget of the process.
pub(crate) struct MemoryBudget {
    limits: MemoryLimits,
    all: Arc<Purse>,
    guests: Arc<Guests>,
    /// Requests that were refused because there was none left.
    refused: Arc<Count>,
    tokens: Mutex<Purses<String>>,
    addresses: Mutex<Purses<IpAddr>>,
}

impl MemoryBudget {
    pub(crate) fn new(limits: MemoryLimits) -> Self {
        let of_guests = limits.all / GUEST_PART;
        let refused = Arc::<Count>::default();
        Self {
            all: Arc::new(Purse::new(
                &PurseOwner::Server,
                limits.all - of_guests,
                &refused,
            )),
            guests: Arc::new(Guests::new(of_guests)),
            refused,
            tokens: Mutex::default(),
            addresses: Mutex::default(),
            limits,
        }
    }

    /// Where the bytes of a client's connections come from, the narrowest first; `None` for a guest.
    fn purses(&self, client: IpAddr, principal: Option<&Principal>) -> Vec<Arc<Purse>> {
        let mut purses = Vec::with_capacity(3);
        if let Some(limit) = self.limits.of_address(client) {
            let new = || Purse::new(&PurseOwner::Address, limit, &self.refused);
            purses.push(get(&self.addresses, client_of(client), new));
        }
        // Where nobody needs a token, all clients are this machine's.
        if let Some(principal) = principal.filter(|principal| principal.has_token()) {
            let name = principal.name().to_owned();
            let owner = PurseOwner::Token(name.clone());
            let new = || Purse::new(&owner, self.limits.of_token(), &self.refused);
            purses.push(get(&self.tokens, name, new));
        }
        purses.push(Arc::clone(&self.all));
        purses
    }
}

/// Purses that are in use. A token keeps its own when the file of tokens is read again.
struct Purses<K> {
    /// Connections hold them: one that is used by none has nothing in it, and may be made anew.
    by_owner: HashMap<K, Weak<Purse>>,
    /// How many there may be before those that nobody uses are removed.
    most: usize,
}

/// So many purses are never searched for some that nobody uses: a search of fewer costs more than it frees.
const FEW: usize = 64;

impl<K> Default for Purses<K> {
    fn default() -> Self {
        Self {
            by_owner: HashMap::new(),
            most: FEW,
        }
    }
}

fn get<K: Eq + Hash>(
    purses: &Mutex<Purses<K>>,
    owner: K,
    new: impl FnOnce() -> Purse,
) -> Arc<Purse> {
    let mut purses = lock(purses);
    if let Some(purse) = purses.by_owner.get(&owner).and_then(Weak::upgrade) {
        return purse;
    }
    // Addresses come and go for ever. Twice what is in use is searched next time, so a search costs each purse a little.
    if purses.by_owner.len() >= purses.most {
        purses.by_owner.retain(|_, purse| purse.strong_count() > 0);
        purses.most = (2 * purses.by_owner.len()).max(FEW);
    }
    let purse = Arc::new(new());
    purses.by_owner.insert(owner, Arc::downgrade(&purse));
    purse
}
