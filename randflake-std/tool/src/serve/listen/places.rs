//! How many connections with a token may be open, or of anybody where none is needed: of all clients, and of each client's
//! address.

use core::net::{IpAddr, Ipv6Addr};
use core::time::Duration;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::serve::service::refusal::{Refusal, RefusalKind};

/// What a client waits that is refused.
const RETRY: Duration = Duration::from_secs(1);

/// Limits on the connections of a listener.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionLimits {
    pub(crate) all: u32,
    /// `None`: a quarter of all, and no limit for this machine itself, where a proxy may be before the server.
    pub(crate) per_address: Option<u32>,
}

/// The limit that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Full {
    All,
    ListenAddress,
}

pub(crate) struct Places {
    limits: ConnectionLimits,
    taken: Mutex<OccupiedPlaces>,
}

#[derive(Default)]
struct OccupiedPlaces {
    all: u32,
    /// Only those that have one.
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
            None if client.is_loopback() => u32::MAX,
            None => self.all.div_ceil(4),
        }
    }
}

impl Places {
    pub(super) fn new(limits: ConnectionLimits) -> Self {
        Self {
            limits,
            taken: Mutex::default(),
        }
    }

    /// A place, or the refusal of its client.
    pub(crate) fn take(self: &Arc<Self>, address: IpAddr) -> Result<ConnectionPlace, Refusal> {
        self.try_take(address).map_err(|full| {
            let (kind, told) = match full {
                Full::All => (RefusalKind::Busy, "max number of clients reached"),
                Full::ListenAddress => (
                    RefusalKind::Quota,
                    "max number of clients of one address reached",
                ),
            };
            Refusal::new(kind, told).retry_in(RETRY)
        })
    }

    fn try_take(self: &Arc<Self>, address: IpAddr) -> Result<ConnectionPlace, Full> {
        let client = client_of(address);
        let mut taken = self.taken();
        if taken.all >= self.limits.all {
            return Err(Full::All);
        }
        let count = taken.by_address.entry(client).or_default();
        // None of its own is left behind: who has no place is at a limit of at least one.
        if *count >= self.limits.of(client) {
            return Err(Full::ListenAddress);
        }
        *count += 1;
        taken.all += 1;
        drop(taken);
        Ok(ConnectionPlace {
            places: Arc::clone(self),
            client,
        })
    }

    fn taken(&self) -> MutexGuard<'_, OccupiedPlaces> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        taken.all -= 1;
        if let Entry::Occupied(mut count) = taken.by_address.entry(self.client) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

/// Whose address it is: a client of IPv6 has the last 64 bits to itself.
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

    #[test]
    fn an_address_has_its_part_and_gets_it_again() {
        let places = places(8, None);
        let far = ["192.0.2.1", "::ffff:192.0.2.1"].map(|text| places.try_take(address(text)).ok());
        assert!(far.iter().all(Option::is_some));
        let more = places.try_take(address("192.0.2.1"));
        assert_eq!(more.err(), Some(Full::ListenAddress));
        let here: Vec<_> = (0..6)
            .map(|_| places.try_take(address("127.0.0.1")))
            .collect();
        assert!(here.iter().all(Result::is_ok));
        let more = places.try_take(address("192.0.2.2"));
        assert_eq!(more.err(), Some(Full::All));
        drop((far, here));
        assert!(places.taken().by_address.is_empty());
        assert!(places.try_take(address("192.0.2.1")).is_ok());
    }

    #[test]
    fn one_network_of_ipv6_is_one_client() {
        let places = places(8, Some(1));
        let _first = places.try_take(address("2001:db8::1")).unwrap();
        let second = places.try_take(address("2001:db8::ffff:1"));
        assert_eq!(second.err(), Some(Full::ListenAddress));
        assert!(places.try_take(address("2001:db8:0:1::1")).is_ok());
    }

    #[test]
    fn a_given_limit_holds_for_this_machine_too() {
        let places = places(8, Some(1));
        let _first = places.try_take(address("::1")).unwrap();
        assert_eq!(
            places.try_take(address("::1")).err(),
            Some(Full::ListenAddress)
        );
        assert!(places.try_take(address("127.0.0.1")).is_ok());
    }
}
