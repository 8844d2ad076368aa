//! Connections whose clients have not sent a token: when there is no room for another, the oldest one of the address that
//! has most of them is closed.
//!
//! So a client that opens connections without end closes its own, and one that is quick, as a health check is, is answered
//! before its turn comes, even if both have the same address.

use core::net::IpAddr;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use tokio::task::AbortHandle;

use crate::lock::lock;

/// All connections without a token.
#[derive(Debug)]
pub(super) struct Guests {
    /// Budget of all guests in bytes.
    pub(super) limit: usize,
    inside: Mutex<Inside>,
}

#[derive(Debug, Default)]
struct Inside {
    bytes: usize,
    /// Number of guests so far, which orders them by age.
    count: u64,
    /// By address, the oldest first.
    guests: HashMap<IpAddr, BTreeMap<u64, GuestEntry>>,
    /// How many were closed to make room.
    closed: u64,
}

#[derive(Debug)]
struct GuestEntry {
    bytes: usize,
    /// The task of the connection, once it runs.
    task: Option<AbortHandle>,
}

/// The entry of one guest.
#[derive(Debug)]
pub(super) struct Guest {
    guests: Arc<Guests>,
    address: IpAddr,
    number: u64,
}

impl Guests {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            inside: Mutex::default(),
        }
    }

    /// Lets a connection in that will hold so many bytes at most. Others are closed for it if need be.
    pub(super) fn enter(self: &Arc<Self>, address: IpAddr, bytes: usize) -> Guest {
        let mut inside = lock(&self.inside);
        // The new one always comes in: if a flood could fill the room, nobody else would be heard.
        while inside.bytes + bytes > self.limit && inside.close_one() {}
        inside.count += 1;
        let number = inside.count;
        inside.bytes += bytes;
        let entry = GuestEntry { bytes, task: None };
        inside
            .guests
            .entry(address)
            .or_default()
            .insert(number, entry);
        Guest {
            guests: Arc::clone(self),
            address,
            number,
        }
    }

    /// How many bytes are held.
    pub(super) fn used(&self) -> usize {
        lock(&self.inside).bytes
    }

    /// How many were closed to make room for others.
    pub(super) fn closed(&self) -> u64 {
        lock(&self.inside).closed
    }
}

impl Inside {
    /// Closes a connection, if there is one.
    fn close_one(&mut self) -> bool {
        // A scan of all addresses, which is paid for only while the room is full.
        let most = self.guests.iter().max_by_key(|(_, own)| own.len());
        let Some((address, oldest)) =
            most.and_then(|(address, own)| Some((*address, *own.keys().next()?)))
        else {
            return false;
        };
        if let Some(task) = self.remove(address, oldest).and_then(|entry| entry.task) {
            // At its next await, which is where it waits for its client: no guest does work that could be left half done.
            task.abort();
        }
        self.closed += 1;
        true
    }

    fn remove(&mut self, address: IpAddr, number: u64) -> Option<GuestEntry> {
        let own = self.guests.get_mut(&address)?;
        let removed = own.remove(&number)?;
        if own.is_empty() {
            self.guests.remove(&address);
        }
        self.bytes -= removed.bytes;
        Some(removed)
    }
}

impl Guest {
    /// Says which task is to be ended when another guest needs the room. It may be needed already.
    pub(super) fn runs_in(&self, task: AbortHandle) {
        let mut inside = lock(&self.guests.inside);
        let own = inside.guests.get_mut(&self.address);
        match own.and_then(|own| own.get_mut(&self.number)) {
            Some(entry) => entry.task = Some(task),
            None => task.abort(),
        }
    }

    /// Gives the room back, and returns whether it was still its own.
    pub(super) fn leave(&self) -> bool {
        lock(&self.guests.inside)
            .remove(self.address, self.number)
            .is_some()
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // After a `leave` there is nothing to find, since no number is given twice.
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    #[test]
    fn the_oldest_of_the_address_with_most_makes_room() {
        let guests = Arc::new(Guests::new(4));
        let flood: Vec<_> = (0..3).map(|_| guests.enter(address(1), 1)).collect();
        let probe = guests.enter(address(2), 1);
        let more = guests.enter(address(1), 1);
        assert!(!flood[0].leave());
        let other = guests.enter(address(3), 2);
        assert!(!flood[1].leave() && !flood[2].leave());
        assert_eq!((guests.used(), guests.closed()), (4, 3));
        assert!([&probe, &more, &other].iter().all(|guest| guest.leave()));
        assert_eq!(lock(&guests.inside).bytes, 0);
        assert!(lock(&guests.inside).guests.is_empty());
    }

    #[tokio::test]
    async fn a_connection_that_makes_room_is_ended_whenever_its_task_begins() {
        let guests = Arc::new(Guests::new(1));
        let forever = || tokio::spawn(core::future::pending::<()>());
        let (first, second) = (forever(), forever());
        let guest = guests.enter(address(1), 1);
        guest.runs_in(first.abort_handle());
        let next = guests.enter(address(1), 1);
        assert!(first.await.unwrap_err().is_cancelled());
        let _last = guests.enter(address(1), 1);
        next.runs_in(second.abort_handle());
        assert!(second.await.unwrap_err().is_cancelled());
    }
}
