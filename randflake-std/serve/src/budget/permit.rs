//! Pools of bytes, and permits to hold some of them.

use core::net::IpAddr;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use crate::counters::Count;
use crate::places::RETRY;
use crate::refusal::{Refusal, RefusalKind};

/// Unit of a pool: its semaphore counts in 32 bits.
const UNIT: usize = 1 << 10;

/// Owner of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    /// All clients with a token.
    Server,
    /// Connections of a token, by its name.
    Token(String),
    /// Connections of an address, or of a network of IPv6.
    Address(IpAddr),
}

/// Bytes that the connections of one owner hold together, or their long requests alone.
#[derive(Debug)]
pub(super) struct Pool {
    owner: Owner,
    size: usize,
    free: Arc<Semaphore>,
    /// Requests that were refused, of all pools.
    refused: Arc<Count>,
}

impl Pool {
    pub(super) fn new(owner: Owner, size: usize, refused: &Arc<Count>) -> Self {
        Self {
            owner,
            size,
            free: Arc::new(Semaphore::new(size / UNIT)),
            refused: Arc::clone(refused),
        }
    }

    /// Bytes that are held.
    pub(super) fn used(&self) -> usize {
        let free = self.free.available_permits() * UNIT;
        self.size.saturating_sub(free)
    }

    /// The refusal of a client that wants so many bytes, of which there are fewer, now or ever.
    fn refusal(&self, bytes: usize) -> Refusal {
        let whose = match &self.owner {
            Owner::Server => "all clients".to_owned(),
            Owner::Token(name) => format!("the connections of token {name:?}"),
            Owner::Address(_) => "the connections of this address".to_owned(),
        };
        let (size, needed) = (self.size >> 10, bytes >> 10);
        let message = format!("{whose} may hold {size} KiB of the server's memory");
        if bytes > self.size {
            let message = format!("{message}, and this needs {needed} KiB: ask for less at once");
            return Refusal::new(RefusalKind::Quota, message);
        }
        let kind = match self.owner {
            Owner::Server => RefusalKind::Busy,
            Owner::Token(_) | Owner::Address(_) => RefusalKind::Quota,
        };
        let message = format!("{message}, and hold it: receive the answers, or try again");
        Refusal::new(kind, message).retry_in(RETRY)
    }
}

/// Pools of a permit. All are in the same order, so that no two requests wait for each other.
pub(super) type Pools = Arc<[Arc<Pool>]>;

/// Bytes that a connection holds of each of its pools, which get them back when it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    pools: Pools,
    /// Of each pool, once there are any.
    held: Vec<OwnedSemaphorePermit>,
}

impl Permit {
    /// A permit of no bytes.
    pub(super) fn new(pools: &Pools) -> Self {
        Self {
            pools: Arc::clone(pools),
            held: Vec::new(),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        let first = self.held.first();
        first.map_or(0, |permit| permit.num_permits() * UNIT)
    }

    /// Holds at least so many bytes, if they are free. A caller that gets none may ask for less, so
    /// nothing is counted as refused.
    pub(crate) fn try_grow(&mut self, bytes: usize) -> Result<(), Refusal> {
        let more = self.missing(bytes);
        if more > 0 {
            // What was taken before a refusal is free again when it is dropped.
            let taken = self.pools.iter().map(|pool| {
                let taken = Arc::clone(&pool.free).try_acquire_many_owned(more);
                taken.map_err(|_| pool.refusal(bytes))
            });
            self.add(taken.collect::<Result<_, _>>()?);
        }
        Ok(())
    }

    /// Holds at least so many bytes, and waits for them until then.
    pub(crate) async fn grow(&mut self, bytes: usize, until: Instant) -> Result<(), Refusal> {
        let more = self.missing(bytes);
        let refuse = |pool: &Pool| {
            pool.refused.add(1);
            Err(pool.refusal(bytes))
        };
        // It would wait until the limit, and keep those behind it waiting.
        if let Some(pool) = self.pools.iter().find(|pool| pool.size < bytes) {
            return refuse(pool);
        }
        let mut taken = Vec::new();
        for pool in self.pools.iter().filter(|_| more > 0) {
            let acquired = Arc::clone(&pool.free).acquire_many_owned(more);
            match timeout_at(until, acquired).await {
                Ok(Ok(permit)) => taken.push(permit),
                // It is never closed.
                Ok(Err(_)) | Err(_) => return refuse(pool),
            }
        }
        self.add(taken);
        Ok(())
    }

    /// Gives back all but so many bytes.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        let kept = bytes.div_ceil(UNIT);
        for permit in &mut self.held {
            let freed = permit.num_permits().saturating_sub(kept);
            // The part that is split off is free again when it is dropped.
            drop(permit.split(freed));
        }
    }

    /// Units that are missing to so many bytes. A number that no counter holds is in no pool.
    fn missing(&self, bytes: usize) -> u32 {
        let more = bytes.saturating_sub(self.bytes()).div_ceil(UNIT);
        u32::try_from(more).unwrap_or(u32::MAX)
    }

    fn add(&mut self, taken: Vec<OwnedSemaphorePermit>) {
        if self.held.is_empty() {
            self.held = taken;
            return;
        }
        for (held, more) in self.held.iter_mut().zip(taken) {
            held.merge(more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{MemoryBudget, MemoryLimits};

    use core::future::{Future, poll_fn};
    use core::pin::{Pin, pin};
    use core::task::Poll;
    use core::time::Duration;

    /// All clients may hold 14 units, and each token 8; long requests half of that.
    struct World(MemoryBudget);

    impl World {
        fn new() -> Self {
            Self(MemoryBudget::new(MemoryLimits {
                all: 16 * UNIT,
                per_token: Some(8 * UNIT),
                per_address: None,
            }))
        }

        fn pools(&self, token: &str) -> [Pools; 2] {
            let owners = [Owner::Token(token.to_owned()), Owner::Server];
            self.0.pools(&owners)
        }

        fn connection(&self, token: &str) -> Permit {
            let [connection, _] = self.pools(token);
            Permit::new(&connection)
        }

        fn long(&self, token: &str) -> Permit {
            let [_, long] = self.pools(token);
            Permit::new(&long)
        }

        /// Units that all clients hold, and those of a token.
        fn used(&self, token: &str) -> [usize; 2] {
            let [connection, _] = self.pools(token);
            [1, 0].map(|index: usize| connection[index].used() / UNIT)
        }

        fn refused(&self) -> u64 {
            self.0.refused().requests
        }
    }

    fn never() -> Instant {
        Instant::now() + Duration::from_secs(3_600)
    }

    /// Whether it has ended, without waiting.
    async fn is_ready(future: &mut (impl Future<Output = Result<(), Refusal>> + Unpin)) -> bool {
        let polled = poll_fn(|context| Poll::Ready(Pin::new(&mut *future).poll(context))).await;
        matches!(polled, Poll::Ready(Ok(())))
    }

    #[test]
    fn permit_holds_bytes_of_every_share_until_dropped() {
        let world = World::new();
        let mut permit = world.connection("a");
        permit.try_grow(1).unwrap();
        assert_eq!((permit.bytes(), world.used("a")), (UNIT, [1, 1]));
        permit.try_grow(3 * UNIT).unwrap();
        permit.try_grow(2 * UNIT).unwrap();
        assert_eq!(world.used("a"), [3, 3]);
        permit.shrink(UNIT + 1);
        assert_eq!(world.used("a"), [2, 2]);
        drop(permit);
        assert_eq!(world.used("a"), [0, 0]);
    }

    #[test]
    fn long_permits_leave_half_to_connections() {
        let world = World::new();
        let mut long = world.long("a");
        let refusal = long.try_grow(5 * UNIT).unwrap_err();
        assert!(refusal.retry_in.is_none(), "{}", refusal.message);
        long.try_grow(4 * UNIT).unwrap();
        let mut more = world.long("a");
        assert_eq!(more.try_grow(1).unwrap_err().kind, RefusalKind::Quota);
        assert_eq!(world.used("a"), [4, 4]);
        let mut connection = world.connection("a");
        connection.try_grow(4 * UNIT).unwrap();
        assert_eq!(world.used("a"), [8, 8]);
    }

    #[test]
    fn refusal_names_the_full_share_and_takes_nothing() {
        let world = World::new();
        let [mut first, mut second, mut other] = ["a", "a", "b"].map(|t| world.connection(t));
        first.try_grow(7 * UNIT).unwrap();
        let refusal = second.try_grow(2 * UNIT).unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Quota);
        let message = "the connections of token \"a\" may hold 8 KiB";
        assert!(refusal.message.starts_with(message), "{}", refusal.message);
        assert!(refusal.retry_in.is_some());
        other.try_grow(7 * UNIT).unwrap();
        let refusal = second.try_grow(UNIT).unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Busy);
        assert_eq!(world.used("a"), [14, 7]);
        // No waiting brings more than there is.
        assert!(second.try_grow(9 * UNIT).unwrap_err().retry_in.is_none());
        // A caller that gets none may ask for less.
        assert_eq!(world.refused(), 0);
    }

    #[tokio::test]
    async fn request_waits_until_its_time_is_over() {
        let world = World::new();
        let [mut first, mut second] = ["a", "a"].map(|t| world.long(t));
        first.try_grow(4 * UNIT).unwrap();
        let soon = Instant::now() + Duration::from_millis(10);
        let refusal = second.grow(UNIT, soon).await.unwrap_err();
        assert!(
            refusal.message.contains("token \"a\""),
            "{}",
            refusal.message
        );
        assert_eq!(world.used("a"), [4, 4]);
        let (grown, ()) = tokio::join!(second.grow(UNIT, never()), async { first.shrink(0) });
        grown.unwrap();
        assert_eq!(world.used("a"), [1, 1]);
        // At once: no waiting brings more than there is.
        second.grow(5 * UNIT, never()).await.unwrap_err();
        assert_eq!(world.refused(), 2);
    }

    #[tokio::test]
    async fn long_requests_are_served_in_order() {
        let world = World::new();
        let [mut first, mut much, mut little, mut more] =
            ["a", "b", "c", "c"].map(|t| world.long(t));
        first.try_grow(4 * UNIT).unwrap();
        let [mut much, mut little] = [
            pin!(much.grow(4 * UNIT, never())),
            pin!(little.grow(UNIT, never())),
        ];
        // There is room for the second, but then for the first one there might never be.
        assert!(!is_ready(&mut much).await);
        assert!(!is_ready(&mut little).await);
        // Also one that does not wait stands behind.
        assert_eq!(more.try_grow(UNIT).unwrap_err().kind, RefusalKind::Busy);
        first.shrink(3 * UNIT);
        assert!(is_ready(&mut much).await);
        assert!(!is_ready(&mut little).await);
        first.shrink(2 * UNIT);
        assert!(is_ready(&mut little).await);
    }

    #[tokio::test]
    async fn full_token_delays_no_other_token() {
        let world = World::new();
        let [mut full, mut waiting, mut other] = ["a", "a", "b"].map(|t| world.long(t));
        full.try_grow(3 * UNIT).unwrap();
        let mut waiting = pin!(waiting.grow(4 * UNIT, never()));
        assert!(!is_ready(&mut waiting).await);
        other.grow(4 * UNIT, Instant::now()).await.unwrap();
    }

    #[tokio::test]
    async fn long_request_that_waits_delays_no_connection() {
        let world = World::new();
        let [mut full, mut waiting] = ["a", "b"].map(|t| world.long(t));
        full.try_grow(4 * UNIT).unwrap();
        let mut waiting = pin!(waiting.grow(4 * UNIT, never()));
        assert!(!is_ready(&mut waiting).await);
        let [mut first, mut second] = ["a", "b"].map(|t| world.connection(t));
        first.try_grow(4 * UNIT).unwrap();
        second.try_grow(2 * UNIT).unwrap();
        assert!(!is_ready(&mut waiting).await);
        full.shrink(0);
        assert!(is_ready(&mut waiting).await);
    }

    #[tokio::test]
    async fn next_request_goes_on_when_one_gives_up() {
        let world = World::new();
        let [mut first, mut second, mut third] = ["a", "b", "c"].map(|t| world.long(t));
        first.try_grow(4 * UNIT).unwrap();
        let mut third = pin!(third.grow(2 * UNIT, never()));
        {
            let mut second = pin!(second.grow(4 * UNIT, never()));
            assert!(!is_ready(&mut second).await);
            assert!(!is_ready(&mut third).await);
        }
        assert!(is_ready(&mut third).await);
        assert_eq!(world.used("b"), [6, 0]);
    }

    #[tokio::test]
    async fn request_that_gives_up_after_its_grant_keeps_nothing() {
        let world = World::new();
        let [mut first, mut second] = ["a", "a"].map(|t| world.long(t));
        first.try_grow(4 * UNIT).unwrap();
        {
            let mut second = pin!(second.grow(4 * UNIT, never()));
            assert!(!is_ready(&mut second).await);
            first.shrink(0);
        }
        assert_eq!(world.used("a"), [0, 0]);
        first.try_grow(4 * UNIT).unwrap();
    }
}
