//! The memory that clients can make the server hold: one budget of bytes, of which every connection
//! has a permit.
//!
//! Connections of clients that have not sent a token yet are *guests*. They have a part of the
//! budget of their own, with a fixed number of bytes for each, and the oldest of them makes room
//! for a new one. So there is always room for a health check and for a token, however many others
//! connect. Clients with a token share the rest. None waits for memory to send or to receive
//! little: that is paid for when its token is accepted. What long requests and answers take beside
//! is at most half of the rest, so that they leave room for new connections.

mod account;
mod guests;
mod permit;

use core::net::IpAddr;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use self::guests::Guests;
use self::permit::{Owner, Pool, Pools};
use crate::access::Principal;
use crate::counters::Count;
use crate::lock::lock;

pub(crate) use self::account::{Account, ConnectionCost};
pub(crate) use self::permit::Permit;

/// What guests may hold of the budget: a part of so many.
const GUEST_PART: usize = 8;

/// Limits of memory in bytes.
#[derive(Clone, Copy, Debug)]
pub struct MemoryLimits {
    /// Of all clients: requests, answers and TLS handshakes. An eighth of it is for clients that
    /// have not sent a token.
    pub all: usize,
    /// Of the connections of one token; a quarter of all unless given.
    pub per_token: Option<usize>,
    /// Of the connections of one address; a quarter of all unless given, and no limit for this
    /// machine's own.
    pub per_address: Option<usize>,
}

impl Default for MemoryLimits {
    fn default() -> Self {
        Self {
            all: 128 << 20,
            per_token: None,
            per_address: None,
        }
    }
}

impl MemoryLimits {
    fn of(self, owner: &Owner) -> usize {
        match owner {
            Owner::Server => self.all - self.all / GUEST_PART,
            Owner::Token(_) => self.per_token.unwrap_or(self.all / 4),
            Owner::Address(_) => self.per_address.unwrap_or(self.all / 4),
        }
    }

    /// Owners of the bytes of a client's connections, the narrowest first.
    fn owners(self, client: IpAddr, principal: &Principal) -> Vec<Owner> {
        let is_limited = self.per_address.is_some() || !client.is_loopback();
        let address = is_limited.then_some(Owner::Address(client));
        // Where nobody needs a token, all clients are this machine's.
        let token = principal.has_token().then(|| principal.name().to_owned());
        let owners = [address, token.map(Owner::Token), Some(Owner::Server)];
        owners.into_iter().flatten().collect()
    }
}

/// Memory budget of the process.
pub(crate) struct MemoryBudget {
    limits: MemoryLimits,
    /// Pools of owners: all of their bytes, and those for long requests. Connections hold them: one
    /// that is used by none has nothing in it, and may be made anew.
    pools: Mutex<HashMap<(Owner, bool), Weak<Pool>>>,
    guests: Mutex<Guests>,
    /// Requests that were refused because there was none left.
    refused: Arc<Count>,
}

impl MemoryBudget {
    pub(crate) fn new(limits: MemoryLimits) -> Self {
        Self {
            limits,
            pools: Mutex::default(),
            guests: Mutex::new(Guests::new(limits.all / GUEST_PART)),
            refused: Arc::default(),
        }
    }

    /// Pools of a connection: for what it needs as long as it is open, and for long requests and
    /// answers. These take at most half of the bytes of an owner, and wait for that half first: so
    /// connections, which need little, do not queue behind one that waits for much, and one that
    /// waits holds nothing that connections, or other tokens, need.
    fn pools(&self, owners: &[Owner]) -> [Pools; 2] {
        let [all, long] = [false, true].map(|is_long| {
            let pools = owners.iter().map(move |owner| self.pool(owner, is_long));
            pools.collect::<Vec<_>>()
        });
        [all.clone().into(), [long, all].concat().into()]
    }

    fn pool(&self, owner: &Owner, is_long: bool) -> Arc<Pool> {
        let mut pools = lock(&self.pools);
        let key = (owner.clone(), is_long);
        if let Some(pool) = pools.get(&key).and_then(Weak::upgrade) {
            return pool;
        }
        // Addresses come and go for ever. A search each time that the map would grow costs little.
        if pools.len() == pools.capacity() {
            pools.retain(|_, pool| pool.strong_count() > 0);
        }
        let size = self.limits.of(owner) / if is_long { 2 } else { 1 };
        let pool = Arc::new(Pool::new(owner.clone(), size, &self.refused));
        pools.insert(key, Arc::downgrade(&pool));
        pool
    }

    pub(crate) fn parts(&self) -> [MemoryPart; 2] {
        let guests = lock(&self.guests);
        let tokens = self.pool(&Owner::Server, false).used();
        [
            ("tokens", tokens, self.limits.of(&Owner::Server)),
            ("guests", guests.used, guests.limit),
        ]
        .map(|(name, used, limit)| MemoryPart { name, used, limit })
    }

    pub(crate) fn refused(&self) -> Refused {
        Refused {
            requests: self.refused.get(),
            connections: lock(&self.guests).closed,
        }
    }
}

/// The bytes of a part of the budget.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryPart {
    pub(crate) name: &'static str,
    pub(crate) used: usize,
    pub(crate) limit: usize,
}

/// What was refused since the server was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) requests: u64,
    /// Without a token, and closed to make room for others.
    pub(crate) connections: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    use core::net::Ipv4Addr;

    #[test]
    fn own_address_is_limited_only_if_asked_for() {
        let owners = |per_address, address: [u8; 4]| {
            let limits = MemoryLimits {
                per_address,
                ..MemoryLimits::default()
            };
            limits.owners(address.into(), &Principal::anybody())
        };
        let (here, there) = ([127, 0, 0, 1], [192, 0, 2, 1]);
        assert_eq!(owners(None, here), [Owner::Server]);
        for (limit, address) in [(None, there), (Some(1), here)] {
            let narrow = Owner::Address(address.into());
            assert_eq!(owners(limit, address), [narrow, Owner::Server]);
        }
    }

    #[test]
    fn owners_without_connections_are_forgotten() {
        let memory = MemoryBudget::new(MemoryLimits::default());
        let address = |number: u32| [Owner::Address(Ipv4Addr::from_bits(number).into())];
        let [kept, _] = memory.pools(&address(0));
        let mut permit = Permit::new(&kept);
        permit.try_grow(1 << 10).unwrap();
        for number in 1..10_000 {
            memory.pools(&address(number));
        }
        let [again, _] = memory.pools(&address(0));
        assert_eq!(again[0].used(), 1 << 10);
        assert!(lock(&memory.pools).len() < 100);
    }
}
