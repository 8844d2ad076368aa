//! The account of one connection: as a guest, or as that of a token, with its place and its bytes.
//!
//! Guests are connections whose clients have not sent a token. When there is no room for another one, the oldest one of
//! the address that has most of them is closed. So a client that opens connections without end closes its own, and a
//! quick one, such as a health check, is answered before its turn comes, even if both have the same address.

use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use core::time::Duration;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::MemoryBudget;
use super::permit::{Budgets, Permit};
use crate::access::{Hash, Principal};
use crate::lock::lock;
use crate::refusal::{Refusal, RefusalKind};

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
    budgets: Budgets,
    // What it needs to send and receive little, for as long as the connection is open.
    _base: Permit,
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
        let guest = self.guests.enter(client_of(peer.ip()), cost.guest);
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
        let budgets = self.memory.budgets(self.client(), principal);
        let mut base = Permit::of_connection(&budgets);
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
            budgets,
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

    /// A permit for what is long, of no bytes yet; `None` for a guest, which holds no more than it has.
    pub(crate) fn long_permit(&self) -> Option<Permit> {
        match &*lock(&self.state) {
            AccountState::Guest(_) => None,
            AccountState::KnownClient(known) => Some(Permit::of_long(&known.budgets)),
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

/// How long a refused client is told to wait.
const RETRY: Duration = Duration::from_secs(1);

/// How many connections of a protocol may be open: with a token, or of anybody where none is needed.
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

/// The address by which a client is limited: of IPv6 its network, because a client has the last 64 bits to itself and would
/// have a limit for each of them.
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

    fn guest_address(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    #[test]
    fn the_oldest_of_the_address_with_most_makes_room() {
        let guests = Arc::new(Guests::new(4));
        let flood: Vec<_> = (0..3).map(|_| guests.enter(guest_address(1), 1)).collect();
        let probe = guests.enter(guest_address(2), 1);
        let more = guests.enter(guest_address(1), 1);
        assert!(!flood[0].leave());
        let other = guests.enter(guest_address(3), 2);
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
        let guest = guests.enter(guest_address(1), 1);
        guest.runs_in(first.abort_handle());
        let next = guests.enter(guest_address(1), 1);
        assert!(first.await.unwrap_err().is_cancelled());
        let _last = guests.enter(guest_address(1), 1);
        next.runs_in(second.abort_handle());
        assert!(second.await.unwrap_err().is_cancelled());
    }

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
