//! Shares of memory from limited pools.

use core::time::Duration;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use crate::service::counters::Count;
use crate::service::refusal::{Refusal, RefusalKind};

/// The unit of pools: their counters have 32 bits.
const UNIT: usize = 1 << 10;
/// How long a refused client is told to wait.
const RETRY: Duration = Duration::from_secs(1);

/// Owner of a purse: all clients, a token or an address.
#[derive(Clone, Debug)]
pub(super) enum PurseOwner {
    Server,
    Token(String),
    Address,
}

/// What the connections of one owner may hold together.
#[derive(Debug)]
pub(super) struct Purse {
    all: Arc<BytePool>,
    /// What long requests and answers may be of it. Who waits for memory waits here: new connections do not stand behind.
    long: Arc<BytePool>,
}

impl Purse {
    /// Each request that it refuses is counted.
    pub(super) fn new(owner: &PurseOwner, size: usize, refused: &Arc<Count>) -> Self {
        let pool = |size| Arc::new(BytePool::new(owner.clone(), size, Arc::clone(refused)));
        Self {
            all: pool(size),
            // Otherwise one that waits for much would stand, in the fair queue of `all`, before connections that need little.
            long: pool(size / 2),
        }
    }

    /// How many bytes are held.
    pub(super) fn used(&self) -> usize {
        let free = self.all.free.available_permits() * UNIT;
        self.all.size.saturating_sub(free)
    }

    /// Where a connection's own bytes come from.
    pub(super) fn for_connections(purses: &[Arc<Self>]) -> Arc<[Arc<BytePool>]> {
        purses.iter().map(|purse| Arc::clone(&purse.all)).collect()
    }

    /// Where the bytes of long requests and answers come from.
    pub(super) fn for_long(purses: &[Arc<Self>]) -> Arc<[Arc<BytePool>]> {
        // The queues of long requests first: who waits there holds nothing that connections need.
        let long = purses.iter().map(|purse| &purse.long);
        let all = purses.iter().map(|purse| &purse.all);
        long.chain(all).map(Arc::clone).collect()
    }
}

/// A pool of a limited number of bytes.
#[derive(Debug)]
pub(super) struct BytePool {
    owner: PurseOwner,
    size: usize,
    free: Arc<Semaphore>,
    refused: Arc<Count>,
}

impl BytePool {
    fn new(owner: PurseOwner, size: usize, refused: Arc<Count>) -> Self {
        Self {
            owner,
            size,
            free: Arc::new(Semaphore::new(size / UNIT)),
            refused,
        }
    }

    /// Counts a refusal, and makes it.
    fn refuse(&self, bytes: usize) -> Refusal {
        self.refused.add(1);
        self.refusal(bytes)
    }

    /// The refusal of a client that wants so many bytes, now or never.
    fn refusal(&self, bytes: usize) -> Refusal {
        let whose = match &self.owner {
            PurseOwner::Server => "all clients".to_owned(),
            PurseOwner::Token(name) => format!("the connections of token {name:?}"),
            PurseOwner::Address => "the connections of this address".to_owned(),
        };
        let size = self.size >> 10;
        let message = format!("{whose} may hold {size} KiB of the server's memory");
        if bytes > self.size {
            let needed = bytes >> 10;
            return Refusal::new(
                RefusalKind::Quota,
                format!("{message}, and this needs {needed} KiB: ask for less at once"),
            );
        }
        let kind = match self.owner {
            PurseOwner::Server => RefusalKind::Busy,
            _ => RefusalKind::Quota,
        };
        let message = format!("{message}, and hold it: receive the answers, or try again");
        Refusal::new(kind, message).retry_in(RETRY)
    }
}

/// Bytes that somebody holds, in each of the pools that they come from. They are given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    pools: Arc<[Arc<BytePool>]>,
    /// One of each pool, once there are any.
    permits: Vec<OwnedSemaphorePermit>,
}

impl Share {
    /// Creates an empty share. Who waits for a pool holds nothing of those behind it.
    pub(super) fn new(pools: Arc<[Arc<BytePool>]>) -> Self {
        Self {
            pools,
            permits: Vec::new(),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        let first = self.permits.first();
        first.map_or(0, |permit| permit.num_permits() * UNIT)
    }

    /// Holds at least so many bytes, if they are free. Who gets none may ask for less, so that nothing is counted as refused.
    pub(crate) fn try_grow(&mut self, bytes: usize) -> Result<(), Refusal> {
        let more = self.missing(bytes);
        if more == 0 {
            return Ok(());
        }
        let mut taken = Vec::with_capacity(self.pools.len());
        for pool in &*self.pools {
            let permit = Arc::clone(&pool.free).try_acquire_many_owned(more);
            // What was taken of the pools before is given back when `taken` is dropped.
            taken.push(permit.map_err(|_| pool.refusal(bytes))?);
        }
        self.add(taken);
        Ok(())
    }

    /// Holds at least so many bytes, and waits for them until then.
    pub(crate) async fn grow(&mut self, bytes: usize, until: Instant) -> Result<(), Refusal> {
        let more = self.missing(bytes);
        if more == 0 {
            return Ok(());
        }
        let mut taken = Vec::with_capacity(self.pools.len());
        // Always in the same order, the narrowest first: no two wait for each other, and a token whose pool is empty waits
        // there, with nothing of the server's pool in its hands.
        for pool in &*self.pools {
            // It would wait until the limit, and keep those behind it waiting.
            if bytes > pool.size {
                return Err(pool.refuse(bytes));
            }
            let acquiring = Arc::clone(&pool.free).acquire_many_owned(more);
            let acquired = timeout_at(until, acquiring).await;
            // It is never closed.
            let permit = acquired.ok().and_then(Result::ok);
            taken.push(permit.ok_or_else(|| pool.refuse(bytes))?);
        }
        self.add(taken);
        Ok(())
    }

    /// Gives back all but so many bytes.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        let kept = bytes.div_ceil(UNIT);
        for permit in &mut self.permits {
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
        if self.permits.is_empty() {
            self.permits = taken;
            return;
        }
        for (held, more) in self.permits.iter_mut().zip(taken) {
            held.merge(more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pools() -> Arc<[Arc<BytePool>]> {
        let refused = Arc::<Count>::default();
        let token = BytePool::new(
            PurseOwner::Token("a".to_owned()),
            4 * UNIT,
            Arc::clone(&refused),
        );
        let all = BytePool::new(PurseOwner::Server, 6 * UNIT, refused);
        [Arc::new(token), Arc::new(all)].into()
    }

    fn free(pools: &[Arc<BytePool>]) -> Vec<usize> {
        let free = pools.iter().map(|pool| pool.free.available_permits());
        free.collect()
    }

    #[test]
    fn a_share_takes_from_every_pool_and_gives_all_back() {
        let pools = pools();
        let mut share = Share::new(Arc::clone(&pools));
        share.try_grow(1).unwrap();
        assert_eq!((share.bytes(), free(&pools)), (UNIT, vec![3, 5]));
        share.try_grow(3 * UNIT).unwrap();
        share.try_grow(2 * UNIT).unwrap();
        assert_eq!(free(&pools), [1, 3]);
        share.shrink(UNIT + 1);
        assert_eq!(free(&pools), [2, 4]);
        drop(share);
        assert_eq!(free(&pools), [4, 6]);
    }

    #[test]
    fn who_gets_no_bytes_is_told_whose_pool_is_empty_and_takes_nothing() {
        let pools = pools();
        let mut first = Share::new(Arc::clone(&pools));
        first.try_grow(3 * UNIT).unwrap();
        let mut second = Share::new(Arc::clone(&pools));
        let refusal = second.try_grow(2 * UNIT).unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Quota);
        assert!(
            refusal
                .message
                .starts_with("the connections of token \"a\" may hold 4 KiB")
        );
        assert!(refusal.retry_in.is_some());
        let mut other = Share::new([Arc::clone(&pools[1])].into());
        other.try_grow(3 * UNIT).unwrap();
        let refusal = second.try_grow(UNIT).unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Busy);
        // What it got of the first pool is back.
        assert_eq!(free(&pools), [1, 0]);
        // No waiting brings more than there is.
        assert!(second.try_grow(5 * UNIT).unwrap_err().retry_in.is_none());
    }

    #[tokio::test]
    async fn who_waits_gets_bytes_when_they_are_free() {
        let pools = pools();
        let mut first = Share::new(Arc::clone(&pools));
        first.try_grow(4 * UNIT).unwrap();
        let mut second = Share::new(Arc::clone(&pools));
        let soon = Instant::now() + Duration::from_millis(10);
        second.grow(UNIT, soon).await.unwrap_err();
        let never = Instant::now() + Duration::from_secs(3_600);
        let (grown, ()) = tokio::join!(second.grow(UNIT, never), async { first.shrink(0) });
        grown.unwrap();
        assert_eq!(free(&pools), [3, 5]);
        // At once: no waiting brings more than there is.
        second.grow(5 * UNIT, never).await.unwrap_err();
        assert_eq!(pools[0].refused.get(), 2);
    }
}
