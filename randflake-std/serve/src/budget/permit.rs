//! Budgets of bytes, and permits to hold some of them.

use core::net::IpAddr;
use core::time::Duration;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use crate::counters::Count;
use crate::refusal::{Refusal, RefusalKind};

/// Unit of a budget: the semaphores count in 32 bits.
const UNIT: usize = 1 << 10;
/// How long a refused client is told to wait.
const RETRY: Duration = Duration::from_secs(1);

/// Owner of a budget.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    /// All clients.
    Server,
    /// Connections of a token, by its name.
    Token(String),
    /// Connections of an address, or of a network of IPv6.
    Address(IpAddr),
}

/// Bytes that the connections of one owner may hold together.
#[derive(Debug)]
pub(super) struct Budget {
    owner: Owner,
    size: usize,
    free: Arc<Semaphore>,
    /// What is free for long requests and answers, at most half of all. They wait here, so that connections, which need
    /// little, do not queue behind one that waits for much.
    long: Arc<Semaphore>,
    /// Requests that were refused, of all budgets.
    refused: Arc<Count>,
}

impl Budget {
    pub(super) fn new(owner: Owner, size: usize, refused: &Arc<Count>) -> Self {
        let semaphore = |size| Arc::new(Semaphore::new(size / UNIT));
        Self {
            owner,
            size,
            free: semaphore(size),
            long: semaphore(size / 2),
            refused: Arc::clone(refused),
        }
    }

    /// Bytes that are held.
    pub(super) fn used(&self) -> usize {
        let free = self.free.available_permits() * UNIT;
        self.size.saturating_sub(free)
    }

    /// The refusal of a client that wants so many bytes, of which it may have `size`, now or never.
    fn refusal(&self, size: usize, bytes: usize) -> Refusal {
        let whose = match &self.owner {
            Owner::Server => "all clients".to_owned(),
            Owner::Token(name) => format!("the connections of token {name:?}"),
            Owner::Address(_) => "the connections of this address".to_owned(),
        };
        let message = format!("{whose} may hold {} KiB of the server's memory", size >> 10);
        if bytes > size {
            let needed = bytes >> 10;
            return Refusal::new(
                RefusalKind::Quota,
                format!("{message}, and this needs {needed} KiB: ask for less at once"),
            );
        }
        let kind = match self.owner {
            Owner::Server => RefusalKind::Busy,
            _ => RefusalKind::Quota,
        };
        let message = format!("{message}, and hold it: receive the answers, or try again");
        Refusal::new(kind, message).retry_in(RETRY)
    }
}

/// Budgets of a connection, the narrowest first.
pub(super) type Budgets = Arc<[Arc<Budget>]>;

/// Bytes that a connection holds of each of its budgets. They are free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    budgets: Budgets,
    is_long: bool,
    /// In the order of [`pools`](Self::pools), once there are any.
    held: Vec<OwnedSemaphorePermit>,
}

impl Permit {
    /// A permit of no bytes, for what a connection needs as long as it is open.
    pub(super) fn of_connection(budgets: &Budgets) -> Self {
        Self {
            budgets: Arc::clone(budgets),
            is_long: false,
            held: Vec::new(),
        }
    }

    /// A permit of no bytes, for a long request or answer.
    pub(super) fn of_long(budgets: &Budgets) -> Self {
        Self {
            is_long: true,
            ..Self::of_connection(budgets)
        }
    }

    /// Where the bytes come from, with the size of each. Always in the same order, the queues of long requests first: no two
    /// wait for each other, and one that waits holds nothing that connections, or other tokens, need.
    fn pools(&self) -> impl Iterator<Item = (&Budget, &Arc<Semaphore>, usize)> {
        let budgets = || self.budgets.iter().map(|budget| &**budget);
        let long = budgets().filter(|_| self.is_long);
        long.map(|budget| (budget, &budget.long, budget.size / 2))
            .chain(budgets().map(|budget| (budget, &budget.free, budget.size)))
    }

    pub(crate) fn bytes(&self) -> usize {
        let first = self.held.first();
        first.map_or(0, |permit| permit.num_permits() * UNIT)
    }

    /// Holds at least so many bytes, if they are free. A caller that gets none may ask for less, so nothing is counted as
    /// refused.
    pub(crate) fn try_grow(&mut self, bytes: usize) -> Result<(), Refusal> {
        let more = self.missing(bytes);
        if more == 0 {
            return Ok(());
        }
        // What was taken of the pools before a refusal is given back when it is dropped.
        let taken = self.pools().map(|(budget, pool, size)| {
            let permit = Arc::clone(pool).try_acquire_many_owned(more);
            permit.map_err(|_| budget.refusal(size, bytes))
        });
        let taken = taken.collect::<Result<_, _>>()?;
        self.add(taken);
        Ok(())
    }

    /// Holds at least so many bytes, and waits for them until then.
    pub(crate) async fn grow(&mut self, bytes: usize, until: Instant) -> Result<(), Refusal> {
        let more = self.missing(bytes);
        if more == 0 {
            return Ok(());
        }
        let mut taken = Vec::new();
        for (budget, pool, size) in self.pools() {
            let refuse = || {
                budget.refused.add(1);
                budget.refusal(size, bytes)
            };
            // It would wait until the limit, and keep those behind it waiting.
            if bytes > size {
                return Err(refuse());
            }
            let acquired = timeout_at(until, Arc::clone(pool).acquire_many_owned(more)).await;
            // It is never closed.
            taken.push(acquired.ok().and_then(Result::ok).ok_or_else(refuse)?);
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

    /// Units that are missing to so many bytes. A number that no counter holds is in no budget.
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

    /// Of 4 and 6 units.
    fn budgets() -> Budgets {
        let refused = Arc::<Count>::default();
        let budget = |owner, units| Arc::new(Budget::new(owner, units * UNIT, &refused));
        [
            budget(Owner::Token("a".to_owned()), 4),
            budget(Owner::Server, 6),
        ]
        .into()
    }

    fn used(budgets: &Budgets) -> Vec<usize> {
        budgets.iter().map(|budget| budget.used() / UNIT).collect()
    }

    #[test]
    fn permit_holds_bytes_of_every_budget_until_dropped() {
        let budgets = budgets();
        let mut permit = Permit::of_connection(&budgets);
        permit.try_grow(1).unwrap();
        assert_eq!((permit.bytes(), used(&budgets)), (UNIT, vec![1, 1]));
        permit.try_grow(3 * UNIT).unwrap();
        permit.try_grow(2 * UNIT).unwrap();
        assert_eq!(used(&budgets), [3, 3]);
        permit.shrink(UNIT + 1);
        assert_eq!(used(&budgets), [2, 2]);
        drop(permit);
        assert_eq!(used(&budgets), [0, 0]);
    }

    #[test]
    fn long_permits_leave_half_to_connections() {
        let budgets = budgets();
        let mut long = Permit::of_long(&budgets);
        let refusal = long.try_grow(3 * UNIT).unwrap_err();
        assert!(refusal.retry_in.is_none(), "{}", refusal.message);
        long.try_grow(2 * UNIT).unwrap();
        let mut more = Permit::of_long(&budgets);
        assert_eq!(more.try_grow(1).unwrap_err().kind, RefusalKind::Quota);
        assert_eq!(used(&budgets), [2, 2]);
        let mut connection = Permit::of_connection(&budgets);
        connection.try_grow(2 * UNIT).unwrap();
        assert_eq!(used(&budgets), [4, 4]);
    }

    #[test]
    fn refusal_names_the_empty_budget_and_takes_nothing() {
        let budgets = budgets();
        let mut first = Permit::of_connection(&budgets);
        first.try_grow(3 * UNIT).unwrap();
        let mut second = Permit::of_connection(&budgets);
        let refusal = second.try_grow(2 * UNIT).unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Quota);
        assert!(
            refusal
                .message
                .starts_with("the connections of token \"a\" may hold 4 KiB")
        );
        assert!(refusal.retry_in.is_some());
        let mut other = Permit::of_connection(&[Arc::clone(&budgets[1])].into());
        other.try_grow(3 * UNIT).unwrap();
        let refusal = second.try_grow(UNIT).unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Busy);
        // What it got of the first budget is back.
        assert_eq!(used(&budgets), [3, 6]);
        // No waiting brings more than there is.
        assert!(second.try_grow(5 * UNIT).unwrap_err().retry_in.is_none());
    }

    #[tokio::test]
    async fn waiting_permit_gets_bytes_when_they_are_free() {
        let budgets = budgets();
        let mut first = Permit::of_connection(&budgets);
        first.try_grow(4 * UNIT).unwrap();
        let mut second = Permit::of_connection(&budgets);
        let soon = Instant::now() + Duration::from_millis(10);
        second.grow(UNIT, soon).await.unwrap_err();
        let never = Instant::now() + Duration::from_secs(3_600);
        let (grown, ()) = tokio::join!(second.grow(UNIT, never), async { first.shrink(0) });
        grown.unwrap();
        assert_eq!(used(&budgets), [1, 1]);
        // At once: no waiting brings more than there is.
        second.grow(5 * UNIT, never).await.unwrap_err();
        assert_eq!(budgets[0].refused.get(), 2);
    }
}
