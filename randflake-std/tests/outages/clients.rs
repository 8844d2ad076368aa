//! Clients of one store, who acquire, renew and release as fast as they are answered.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::MutexGuard;
use std::thread;

use randflake_core::{Field, LayoutFields, LayoutSpec};
use randflake_std::lease::{
    self, AcquireRequest, Acquisition, Grant, LeaseStore, Namespace, NodeIds, StoreError, Token,
};
use randflake_std::{Layout, Plain};

use crate::ledger::{Ledger, SharedLedger};

/// So long that no store takes a busy machine for one that does not answer.
pub(crate) const LONG: Duration = Duration::from_secs(18);
/// So short that a member that does not answer is soon left for another.
pub(crate) const SHORT: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(10);
/// Of three answers about a lease one is to its release.
const RENEWALS: u32 = 2;

/// Ticks of a millisecond: a node id that was released is granted again at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Quick;

impl Layout for Quick {
    type Permutation = Plain;
    const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields {
        timestamp: Field {
            bits: 42,
            shift: 22,
        },
        node_id: Field { bits: 8, shift: 14 },
        sequence: Field { bits: 14, shift: 0 },
        epoch_unix_ms: 1_730_000_000_000,
        tick_ms: 1,
    });
}

pub(crate) const NAME: &str = "outage";

pub(crate) fn open(url: &str) -> Result<LeaseStore, StoreError> {
    let namespace = Namespace::new(NAME, Quick).unwrap().with_max_ttl(LONG);
    lease::open(url, &namespace)
}

pub(crate) fn acquire(
    store: &mut LeaseStore,
    token: Token,
    holder: &str,
    ttl: Duration,
) -> Result<Acquisition, StoreError> {
    store.acquire(&AcquireRequest {
        token,
        holder,
        nodes: NodeIds::Any(1),
        ttl: ticks(ttl),
    })
}

pub(crate) fn ticks(ttl: Duration) -> u64 {
    u64::try_from(ttl.as_millis()).unwrap()
}

/// Clients that live through outages, and what they were answered.
pub(crate) struct Clients {
    all: Vec<Client>,
    ledger: SharedLedger,
    stop: AtomicBool,
}

impl Clients {
    /// One for each URL, with leases of a TTL.
    pub(crate) fn new(urls: &[String], ttl: Duration) -> Self {
        open(&urls[0])
            .unwrap()
            .administration()
            .end_quarantine()
            .unwrap();
        let clients = urls.iter().enumerate();
        Self {
            all: clients
                .map(|(number, url)| Client::new(number, url, ttl))
                .collect(),
            ledger: SharedLedger::default(),
            stop: AtomicBool::new(false),
        }
    }

    /// Lets some of them work while something else is done.
    pub(crate) fn work_while<T>(
        &mut self,
        clients: usize,
        act: impl FnOnce(&SharedLedger) -> T,
    ) -> T {
        self.stop.store(false, Ordering::Relaxed);
        let (ledger, stop) = (&self.ledger, &self.stop);
        thread::scope(|scope| {
            let _stopped = StopOnDrop(stop);
            for client in self.all.iter_mut().take(clients) {
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        client.step(ledger);
                    }
                });
            }
            act(ledger)
        })
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock()
    }
}

/// However the work ends: the scope waits for the clients.
struct StopOnDrop<'s>(&'s AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Client {
    holder: String,
    store: LeaseStore,
    ttl: Duration,
    /// Of an acquire that was not answered.
    asked: Option<Token>,
    held: Option<Grant>,
    renewals: u32,
}

impl Client {
    fn new(number: usize, url: &str, ttl: Duration) -> Self {
        Self {
            holder: format!("client-{number}"),
            store: open(url).unwrap(),
            ttl,
            asked: None,
            held: None,
            renewals: 0,
        }
    }

    fn step(&mut self, ledger: &SharedLedger) {
        let done = match self.held {
            None => self.acquire(ledger),
            Some(grant) if self.renewals < RENEWALS => self.renew(ledger, grant),
            Some(grant) => self.release(ledger, grant),
        };
        match done {
            Ok(()) => {}
            Err(
                StoreError::Unavailable(_)
                | StoreError::Exhausted { .. }
                | StoreError::Quarantined { .. },
            ) => thread::sleep(PAUSE),
            Err(error) => panic!("{error}"),
        }
    }

    fn acquire(&mut self, ledger: &SharedLedger) -> Result<(), StoreError> {
        let token = *self.asked.get_or_insert_with(|| Token::random().unwrap());
        let acquired = acquire(&mut self.store, token, &self.holder, self.ttl)?;
        ledger.answer(|ledger| {
            ledger.granted(&acquired.grants);
            (self.asked, self.held) = (None, Some(acquired.grants[0]));
            self.renewals = 0;
        });
        Ok(())
    }

    fn renew(&mut self, ledger: &SharedLedger, grant: Grant) -> Result<(), StoreError> {
        let renewed = self.store.renew(&[grant], ticks(self.ttl))?;
        ledger.answer(|ledger| {
            self.renewals += 1;
            // None: it was over before.
            self.held = renewed.ends[0].ok().map(|end| {
                ledger.renewed(&grant, end);
                Grant { end, ..grant }
            });
        });
        Ok(())
    }

    fn release(&mut self, ledger: &SharedLedger, grant: Grant) -> Result<(), StoreError> {
        let used = Grant {
            end: grant.start + 1,
            ..grant
        };
        ledger.lock().releases(&used);
        // If it is not answered, the lease ends by itself.
        self.held = None;
        self.store.release(&[used])?;
        ledger.answer(|ledger| ledger.released(&used));
        Ok(())
    }
}
