//! The memory that clients can make the server hold: one budget of bytes, of which every connection has a permit.
//!
//! Connections of clients that have not sent a token yet are *guests*. They have a part of the budget of their own, with a
//! fixed number of bytes for each, and the oldest of them makes room for a new one. So there is always room for a health
//! check and for a token, however many others connect. Clients with a token share the rest. None waits for memory to send
//! or to receive little: that is paid for when its token is accepted. What long requests and answers take beside is at most
//! half of the rest, so that they leave room for new connections.

mod account;
mod permit;

use core::net::IpAddr;
use core::time::Duration;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use randflake_common::failure::say;
use tokio::time::{Instant, MissedTickBehavior, interval};

use self::account::{Guests, client_of};
use self::permit::{Budget, Budgets, Owner};
use super::access::Principal;
use super::lock::lock;
use crate::counters::Count;

pub use self::account::ConnectionLimits;
pub(crate) use self::account::Places;
pub(crate) use self::account::{Account, ConnectionCost};
pub(crate) use self::permit::Permit;

/// What guests may hold of the budget: a part of so many.
const GUEST_PART: usize = 8;

/// Limits of memory in bytes.
#[derive(Clone, Copy, Debug)]
pub struct MemoryLimits {
    /// Of all clients: requests, answers and TLS handshakes. An eighth of it is for clients that have not sent a token.
    pub all: usize,
    /// Of the connections of one token; a quarter of all unless given.
    pub per_token: Option<usize>,
    /// Of the connections of one address; a quarter of all unless given, and no limit for this machine's own.
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
    pub(super) fn of_token(self) -> usize {
        self.per_token.unwrap_or(self.all / 4)
    }

    /// `None`: no limit but that of all.
    pub(super) fn of_address(self, client: IpAddr) -> Option<usize> {
        match self.per_address {
            Some(limit) => Some(limit),
            None if client.to_canonical().is_loopback() => None,
            None => Some(self.all / 4),
        }
    }
}

/// Memory budget of the process.
pub(crate) struct MemoryBudget {
    limits: MemoryLimits,
    all: Arc<Budget>,
    guests: Arc<Guests>,
    /// Requests that were refused because there was none left.
    refused: Arc<Count>,
    /// Budgets of tokens and addresses. A token keeps its own when the file of tokens is read again.
    owned: Mutex<OwnedBudgets>,
}

/// Connections hold their budgets: one that is used by none has nothing in it, and may be made anew.
struct OwnedBudgets {
    by_owner: HashMap<Owner, Weak<Budget>>,
    /// How many there may be before those that no connection uses are removed.
    most: usize,
}

/// So many are never searched for unused ones: a search of fewer costs more than it frees.
const FEW: usize = 64;

impl MemoryBudget {
    pub(crate) fn new(limits: MemoryLimits) -> Self {
        let of_guests = limits.all / GUEST_PART;
        let refused = Arc::<Count>::default();
        let of_tokens = limits.all - of_guests;
        Self {
            all: Arc::new(Budget::new(Owner::Server, of_tokens, &refused)),
            guests: Arc::new(Guests::new(of_guests)),
            refused,
            owned: Mutex::new(OwnedBudgets {
                by_owner: HashMap::new(),
                most: FEW,
            }),
            limits,
        }
    }

    /// Budgets of a client's connections, the narrowest first.
    fn budgets(&self, client: IpAddr, principal: &Principal) -> Budgets {
        let of_address = self.limits.of_address(client);
        let of_address = of_address.map(|size| (Owner::Address(client_of(client)), size));
        // Where nobody needs a token, all clients are this machine's.
        let of_token = principal.has_token().then(|| {
            let owner = Owner::Token(principal.name().to_owned());
            (owner, self.limits.of_token())
        });
        let owned = [of_address, of_token].into_iter().flatten();
        let owned = owned.map(|(owner, size)| self.owned(owner, size));
        owned.chain([Arc::clone(&self.all)]).collect()
    }

    fn owned(&self, owner: Owner, size: usize) -> Arc<Budget> {
        let mut budgets = lock(&self.owned);
        if let Some(budget) = budgets.by_owner.get(&owner).and_then(Weak::upgrade) {
            return budget;
        }
        // Addresses come and go for ever. Twice what is in use is searched next time, so a search costs each a little.
        if budgets.by_owner.len() >= budgets.most {
            budgets
                .by_owner
                .retain(|_, budget| budget.strong_count() > 0);
            budgets.most = (2 * budgets.by_owner.len()).max(FEW);
        }
        let budget = Arc::new(Budget::new(owner.clone(), size, &self.refused));
        budgets.by_owner.insert(owner, Arc::downgrade(&budget));
        budget
    }

    pub(crate) fn parts(&self) -> [MemoryPart; 2] {
        let guests = self.guests.limit;
        [
            MemoryPart {
                name: "tokens",
                used: self.all.used(),
                limit: self.limits.all - guests,
            },
            MemoryPart {
                name: "guests",
                used: self.guests.used(),
                limit: guests,
            },
        ]
    }

    pub(crate) fn refused(&self) -> Refused {
        Refused {
            requests: self.refused.get(),
            connections: self.guests.closed(),
        }
    }
}

/// How often refusals are looked at.
const LOOK: Duration = Duration::from_secs(1);
/// Refusals are a new incident after so long without any: a flood that comes in waves is told once.
const QUIET: Duration = Duration::from_secs(60);

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

/// Says when clients begin to be refused for memory, until the server ends.
pub(crate) async fn watch(memory: Arc<MemoryBudget>) {
    let (mut looks, mut shortage) = (interval(LOOK), Shortage::default());
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let now = looks.tick().await;
        if let Some(line) = shortage.look(memory.refused(), now) {
            say(&line);
        }
    }
}

/// A time in which clients are refused again and again.
#[derive(Debug, Default)]
struct Shortage {
    seen: Refused,
    /// When something was refused last.
    last: Option<Instant>,
}

impl Shortage {
    /// Returns what to say if refusals have just begun.
    fn look(&mut self, refused: Refused, now: Instant) -> Option<String> {
        if refused == self.seen {
            return None;
        }
        let begins = self
            .last
            .is_none_or(|last| now.duration_since(last) > QUIET);
        self.last = Some(now);
        let before = core::mem::replace(&mut self.seen, refused);
        begins.then(|| {
            format!(
                "clients want more memory than --memory, --memory-per-token or --memory-per-address allows: within a second \
                 {} requests were refused, and {} connections without a token closed; see randflake_serve_memory_bytes in \
                 the metrics and \"Memory\" in docs/serve.md",
                refused.requests - before.requests,
                refused.connections - before.connections
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortage_is_said_once_until_it_was_quiet() {
        let (mut shortage, begin) = (Shortage::default(), Instant::now());
        let after = |seconds| begin + Duration::from_secs(seconds);
        let refused = |requests, connections| Refused {
            requests,
            connections,
        };
        assert_eq!(shortage.look(refused(0, 0), after(0)), None);
        let said = shortage.look(refused(3, 5), after(1)).unwrap();
        assert!(
            said.contains("3 requests were refused, and 5 connections"),
            "{said}"
        );
        assert_eq!(shortage.look(refused(4, 5), after(2)), None);
        assert_eq!(shortage.look(refused(4, 5), after(50)), None);
        assert_eq!(shortage.look(refused(5, 5), after(61)), None);
        let said = shortage.look(refused(5, 6), after(200)).unwrap();
        assert!(
            said.contains("0 requests were refused, and 1 connections"),
            "{said}"
        );
    }
}
