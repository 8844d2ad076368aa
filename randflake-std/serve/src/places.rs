//! Places of a listener's connections: of all clients, and of one address.

use core::net::{IpAddr, Ipv6Addr};
use core::time::Duration;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex};

use crate::lock::lock;
use crate::refusal::{Refusal, RefusalKind};

/// How long a refused client is told to wait.
pub(crate) const RETRY: Duration = Duration::from_secs(1);

/// How many connections of a protocol may be open: with a token, or of anybody where none is
/// needed.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Of all clients.
    pub all: u32,
    /// Of one client's address; a quarter of all unless given, and no limit for this machine's own.
    pub per_address: Option<u32>,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            all: 10_000,
            per_address: None,
        }
    }
}

/// The places of a listener's connections.
pub(crate) struct Places {
    limits: ConnectionLimits,
    taken: Mutex<OccupiedPlaces>,
}

#[derive(Default)]
struct OccupiedPlaces {
    all: u32,
    /// Addresses that have at least one place.
    by_address: HashMap<IpAddr, u32>,
}

/// Place of an open connection, freed when it is dropped.
pub(crate) struct ConnectionPlace {
    places: Arc<Places>,
    client: IpAddr,
}

impl ConnectionLimits {
    fn of(self, client: IpAddr) -> u32 {
        match self.per_address {
            Some(limit) => limit,
            // A proxy may be before the server.
            None if client.is_loopback() => u32::MAX,
            // A quarter, so that one client alone does not take all places; rounded up, so that
            // each has one where there are fewer than four.
            None => self.all.div_ceil(4),
        }
    }
}

impl Places {
    pub(crate) fn new(limits: ConnectionLimits) -> Self {
        Self {
            limits,
            taken: Mutex::default(),
        }
    }

    /// A place, or the refusal of its client.
    pub(crate) fn take(self: &Arc<Self>, address: IpAddr) -> Result<ConnectionPlace, Refusal> {
        let client = client_of(address);
        // Both limits under one lock: of two connections that come at once, one gets the last
        // place.
        let mut taken = lock(&self.taken);
        if taken.all >= self.limits.all {
            let message = "max number of clients reached";
            return Err(Refusal::new(RefusalKind::Busy, message).retry_in(RETRY));
        }
        let count = taken.by_address.entry(client).or_default();
        // None of its own is left behind: who has no place is at a limit of at least one.
        if *count >= self.limits.of(client) {
            let message = "max number of clients of one address reached";
            return Err(Refusal::new(RefusalKind::Quota, message).retry_in(RETRY));
        }
        *count += 1;
        taken.all += 1;
        drop(taken);
        Ok(ConnectionPlace {
            places: Arc::clone(self),
            client,
        })
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        let mut taken = lock(&self.places.taken);
        taken.all -= 1;
        if let Entry::Occupied(mut count) = taken.by_address.entry(self.client) {
            *count.get_mut() -= 1;
            // Addresses come and go for as long as the server runs, and each would leave an entry.
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

/// The address by which a client is limited: of IPv6 its network, because a client has the last 64
/// bits to itself and would have a limit for each of them.
pub(crate) fn client_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            let network = u128::from(address) >> 64 << 64;
            Ipv6Addr::from(network).into()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn places(all: u32, per_address: Option<u32>) -> Arc<Places> {
        Arc::new(Places::new(ConnectionLimits { all, per_address }))
    }

    fn kind(taken: Result<ConnectionPlace, Refusal>) -> Option<RefusalKind> {
        taken.err().map(|refusal| refusal.kind)
    }

    #[test]
    fn an_address_has_its_part_and_gets_it_again() {
        let places = places(8, None);
        let far = ["192.0.2.1", "::ffff:192.0.2.1"].map(|text| places.take(address(text)).ok());
        assert!(far.iter().all(Option::is_some));
        let more = places.take(address("192.0.2.1"));
        assert_eq!(kind(more), Some(RefusalKind::Quota));
        let here: Vec<_> = (0..6).map(|_| places.take(address("127.0.0.1"))).collect();
        assert!(here.iter().all(Result::is_ok));
        let more = places.take(address("192.0.2.2"));
        assert_eq!(kind(more), Some(RefusalKind::Busy));
        drop((far, here));
        assert!(lock(&places.taken).by_address.is_empty());
        assert!(places.take(address("192.0.2.1")).is_ok());
    }

    #[test]
    fn one_network_of_ipv6_is_one_client() {
        let places = places(8, Some(1));
        let _first = places.take(address("2001:db8::1")).unwrap();
        let second = places.take(address("2001:db8::ffff:1"));
        assert_eq!(kind(second), Some(RefusalKind::Quota));
        assert!(places.take(address("2001:db8:0:1::1")).is_ok());
    }

    #[test]
    fn a_given_limit_holds_for_this_machine_too() {
        let places = places(8, Some(1));
        let _first = places.take(address("::1")).unwrap();
        assert_eq!(kind(places.take(address("::1"))), Some(RefusalKind::Quota));
        assert!(places.take(address("127.0.0.1")).is_ok());
    }
}
