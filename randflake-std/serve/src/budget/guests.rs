//! Connections without a token. When there is no room for another one, the oldest one of the
//! address that has most of them is closed.
//!
//! So a client that opens connections without end closes its own, and a quick one, such as a health
//! check, is answered before its turn comes, even if both have the same address.

use core::net::IpAddr;
use std::collections::{BTreeMap, HashMap};

use tokio::sync::oneshot;

/// All guests, and what they hold.
#[derive(Debug, Default)]
pub(super) struct Guests {
    pub(super) limit: usize,
    /// How many bytes are held.
    pub(super) used: usize,
    /// How many were closed to make room for others.
    pub(super) closed: u64,
    /// How many have come, which numbers them by age.
    arrivals: u64,
    /// Bytes of each, and the sender that closes it.
    by_address: HashMap<IpAddr, BTreeMap<u64, (usize, oneshot::Sender<()>)>>,
}

impl Guests {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    /// Lets a connection in that will hold so many bytes at most: its number, and a receiver that
    /// gets a message when it is to be closed.
    pub(super) fn enter(&mut self, address: IpAddr, bytes: usize) -> (u64, oneshot::Receiver<()>) {
        // The new one always comes in: if a flood could fill the room, nobody else would be heard.
        while self.used + bytes > self.limit && self.close_one().is_some() {}
        let (close, closed) = oneshot::channel();
        self.arrivals += 1;
        self.used += bytes;
        let guests = self.by_address.entry(address).or_default();
        guests.insert(self.arrivals, (bytes, close));
        (self.arrivals, closed)
    }

    /// Takes a guest out, if it is still there.
    pub(super) fn leave(&mut self, address: IpAddr, number: u64) -> Option<oneshot::Sender<()>> {
        let guests = self.by_address.get_mut(&address)?;
        let (bytes, close) = guests.remove(&number)?;
        if guests.is_empty() {
            self.by_address.remove(&address);
        }
        self.used -= bytes;
        Some(close)
    }

    /// Closes a connection, if there is one.
    fn close_one(&mut self) -> Option<()> {
        // A scan of all addresses, which is paid for only while the room is full.
        let most = self.by_address.iter().max_by_key(|(_, own)| own.len());
        let (&address, guests) = most?;
        let (&oldest, _) = guests.first_key_value()?;
        // Where it waits for its client: no guest does work that could be left half done.
        _ = self.leave(address, oldest)?.send(());
        self.closed += 1;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use core::net::Ipv4Addr;

    const CROWD: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    const PROBE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));
    const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 3));

    #[test]
    fn oldest_of_the_address_with_most_makes_room() {
        let mut guests = Guests::new(4);
        let mut crowd = [(); 3].map(|()| guests.enter(CROWD, 1));
        let (probe, _) = guests.enter(PROBE, 1);
        let (more, _) = guests.enter(CROWD, 1);
        assert!(crowd[0].1.try_recv().is_ok() && crowd[1].1.try_recv().is_err());
        assert!(guests.leave(CROWD, crowd[0].0).is_none());
        let (other, _) = guests.enter(OTHER, 2);
        assert!(crowd[1].1.try_recv().is_ok() && crowd[2].1.try_recv().is_ok());
        assert_eq!((guests.used, guests.closed), (4, 3));
        for (address, number) in [(PROBE, probe), (CROWD, more), (OTHER, other)] {
            assert!(guests.leave(address, number).is_some());
        }
        assert_eq!(guests.used, 0);
        assert!(guests.by_address.is_empty());
    }
}
