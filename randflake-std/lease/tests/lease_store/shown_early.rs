//! An engine that shows a write before its log is on the disk, as `InnoDB` does, and is killed
//! then: what a client was told is still there afterwards.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use randflake_core::ManualClock;
use randflake_core::Randflake;
use randflake_lease::unstable::engine::{Ask, Engine, Profile, Reading};
use randflake_lease::unstable::rules::{Continuity, Key, Keys, Removal, Write, WriteOutcome};
use randflake_lease::{
    AcquireRequest, Acquisition, ClientGrant, ClientRenewal, EngineError, Grant, KeyCheck,
    LeaseStore, MemoryStore, Namespace, NodeIds, RequestId, StoreError, Token,
};

const TTL: u64 = 60;
const NODE_ID: u32 = 7;
/// The clocks of all stand still.
const NOW: Duration = Duration::from_secs(1_730_000_100);

type Texts = BTreeMap<(String, Key), String>;

#[derive(Debug, Default)]
struct Log {
    shown: Texts,
    /// What the disk has.
    kept: Texts,
    is_stalled: bool,
}

#[derive(Clone, Debug, Default)]
struct Server(Arc<Mutex<Log>>);

impl Server {
    fn open(&self, namespace: &Namespace) -> LeaseStore {
        let clock = Arc::new(ManualClock::at_unix_ms(1_730_000_100_000));
        let store = LeaseStore::from(MemoryStore::new(namespace.clone(), clock));
        let name = namespace.name().to_owned();
        let mut store = store.wrapped(|_| Client {
            server: self.clone(),
            name,
        });
        store.act_as_proxy();
        store
    }

    /// The disk answers no more.
    fn stall(&self) {
        self.log().is_stalled = true;
    }

    fn is_killed_and_restarted(&self) {
        let mut log = self.log();
        log.shown = log.kept.clone();
        log.is_stalled = false;
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.0.lock().unwrap()
    }
}

#[derive(Debug)]
struct Client {
    server: Server,
    name: String,
}

impl Engine for Client {
    fn profile(&self) -> Profile {
        Profile::at("the server of this test")
    }

    fn read(&mut self, ask: &Ask<'_>) -> Result<Reading, EngineError> {
        let log = self.server.log();
        let mut texts = BTreeMap::new();
        for (first, last) in ask.keys.iter().map(Keys::bounds) {
            let [first, last] = [first, last].map(|key| (key.scope(&self.name).to_owned(), key));
            let there = log.shown.range(first..=last);
            texts.extend(there.map(|((_, key), text)| (*key, text.clone())));
        }
        Ok(Reading {
            now: NOW,
            continuity: Continuity {
                is_absence_certain: true,
                ..Continuity::default()
            },
            texts,
        })
    }

    fn write(&mut self, write: &Write) -> Result<WriteOutcome, EngineError> {
        let mut log = self.server.log();
        let place = |key: Key| (key.scope(&self.name).to_owned(), key);
        let holds = |log: &Log| {
            let mut entries = write.entries.iter();
            entries.all(|entry| {
                let there = log.shown.get(&place(entry.key));
                entry.before.allows(there.map(String::as_str))
            })
        };
        if !holds(&log) {
            return Ok(WriteOutcome::Stale);
        }
        // As InnoDB: a text in the place of the same one makes no log, so nothing is waited for.
        let mut is_logged = false;
        for entry in &write.entries {
            if let Some(after) = &entry.after {
                let before = log.shown.insert(place(entry.key), after.clone());
                is_logged |= before.as_ref() != Some(after);
            }
        }
        if is_logged && log.is_stalled {
            return Err(EngineError::unavailable("the disk does not answer"));
        }
        if is_logged {
            log.kept = log.shown.clone();
        }
        Ok(WriteOutcome::Written { now: NOW })
    }

    fn namespaces(
        &mut self,
        _: Option<&str>,
    ) -> Result<Option<BTreeMap<String, String>>, EngineError> {
        Ok(None)
    }

    fn remove(&mut self, _: &Removal<'_>) -> Result<(), EngineError> {
        Err(EngineError::failed_precondition(
            "nothing is removed in these tests",
        ))
    }
}

fn orders() -> Namespace {
    Namespace::new("orders", Randflake).unwrap()
}

fn acquire(store: &mut LeaseStore, token: u8, nodes: &[u32]) -> Result<Acquisition, StoreError> {
    store.acquire(&AcquireRequest {
        token: Token::from_bytes([token; 16]),
        holder: "early",
        nodes: NodeIds::These(nodes),
        ttl: TTL,
    })
}

fn renew(
    store: &mut LeaseStore,
    grants: &[ClientGrant],
    request: &str,
) -> Result<ClientRenewal, StoreError> {
    let request: RequestId = request.parse().unwrap();
    store.renew_for_client(grants, 2 * TTL, &request)
}

/// That the answer is lost is all that a client learns of a write whose log has stalled.
fn is_unknown<T: core::fmt::Debug>(outcome: Result<T, StoreError>) {
    let refused = outcome.unwrap_err();
    assert!(matches!(refused, StoreError::Unavailable(_)), "{refused}");
}

#[test]
fn repeated_renewal_is_answered_once_kept() {
    let server = Server::default();
    let namespace = orders().with_max_ttl(Duration::from_secs(2 * TTL));
    let [mut first, mut second] = [(); 2].map(|()| server.open(&namespace));
    let granted = acquire(&mut first, 1, &[NODE_ID, 8])
        .unwrap()
        .client_grant();
    server.stall();
    is_unknown(renew(&mut first, &granted, "renewal-1"));
    // Through another server, as a client does whose answer was lost.
    is_unknown(renew(&mut second, &granted, "renewal-1"));
    server.is_killed_and_restarted();
    // The renewal is lost, and nobody was told of it: the request makes it now.
    let renewed = renew(&mut second, &granted, "renewal-1").unwrap();
    let told = renewed.outcomes;
    server.is_killed_and_restarted();
    let again = renew(&mut first, &granted, "renewal-1").unwrap();
    assert_eq!(again.outcomes, told);
}

#[test]
fn repeated_answer_waits_for_its_log() {
    let server = Server::default();
    let namespace = orders().with_max_ttl(Duration::from_secs(2 * TTL));
    let [mut first, mut second] = [(); 2].map(|()| server.open(&namespace));
    let granted = acquire(&mut first, 1, &[NODE_ID]).unwrap().client_grant();
    server.stall();
    is_unknown(renew(&mut first, &granted, "renewal-1"));
    // The disk is back, and the log of the renewal still on its way: only a write of this very
    // answer brings it there.
    server.log().is_stalled = false;
    let renewed = renew(&mut second, &granted, "renewal-1").unwrap().outcomes;
    server.is_killed_and_restarted();
    let record = &second.list().unwrap()[0];
    assert_eq!(record.grant, renewed[0].unwrap().grant);
    assert!(record.grant.end > granted[0].grant.end);
}

/// What is answered by a write of its own brings what it rests on to the disk before.
#[test]
fn an_acquire_that_is_repeated_is_kept() {
    let server = Server::default();
    let mut store = server.open(&orders());
    server.stall();
    let nodes = [NODE_ID, 8, 9];
    is_unknown(acquire(&mut store, 1, &nodes));
    is_unknown(acquire(&mut store, 1, &nodes));
    server.log().is_stalled = false;
    let granted = acquire(&mut store, 1, &nodes).unwrap().grants;
    server.is_killed_and_restarted();
    let refused = acquire(&mut server.open(&orders()), 2, &nodes).unwrap_err();
    assert!(matches!(refused, StoreError::Exhausted { .. }), "{refused}");
    let records = store.list().unwrap();
    let kept: Vec<Grant> = records.iter().map(|record| record.grant).collect();
    assert_eq!(kept, granted);
}

#[test]
fn a_repeated_release_that_is_lost_frees_nothing() {
    let server = Server::default();
    let [mut first, mut second] = [(); 2].map(|()| server.open(&orders()));
    let mut granted = acquire(&mut first, 1, &[NODE_ID]).unwrap().client_grant();
    granted[0].grant.end = granted[0].grant.start;
    let request: RequestId = "release-1".parse().unwrap();
    server.stall();
    is_unknown(first.release_for_client(&granted, &request));
    let released = second.release_for_client(&granted, &request).unwrap();
    assert_eq!(released, [Ok(())]);
    server.is_killed_and_restarted();
    // Its holder uses it no more, and everybody else waits for the end that was granted.
    let refused = acquire(&mut second, 2, &[NODE_ID]).unwrap_err();
    assert!(matches!(refused, StoreError::Exhausted { .. }), "{refused}");
}

#[test]
fn numbers_are_reserved_behind_those_that_were_shown() {
    let server = Server::default();
    let [mut first, mut second] = [(); 2].map(|()| server.open(&orders()));
    second.counter().create().unwrap();
    server.stall();
    first.counter().reserve(100).unwrap_err();
    server.log().is_stalled = false;
    let reserved = second.counter().reserve(100).unwrap();
    server.is_killed_and_restarted();
    let next = server.open(&orders()).counter().reserve(100).unwrap();
    assert_eq!(next.first(), reserved.end());
}

#[test]
fn a_secret_whose_claim_was_shown_is_not_given_twice() {
    let server = Server::default();
    let named = |name: &str| {
        let mut store = server.open(&Namespace::new(name, Randflake).unwrap());
        store.set_key_check(KeyCheck::Key(42));
        store
    };
    server.stall();
    is_unknown(acquire(&mut named("orders"), 1, &[NODE_ID]));
    server.log().is_stalled = false;
    acquire(&mut named("orders"), 2, &[NODE_ID]).unwrap();
    server.is_killed_and_restarted();
    let refused = acquire(&mut named("bills"), 3, &[NODE_ID]).unwrap_err();
    assert!(
        matches!(refused, StoreError::SecretTaken { .. }),
        "{refused}"
    );
}

/// The end of a quarantine, and the longest TTL, are in the namespace's record, which every grant
/// and renewal compares in its write.
#[test]
fn grant_keeps_the_quarantine_it_was_shown() {
    let server = Server::default();
    let [mut first, mut second] = [(); 2].map(|()| server.open(&orders()));
    acquire(&mut first, 1, &[NODE_ID]).unwrap();
    first.administration().start_quarantine().unwrap();
    server.stall();
    is_unknown(first.administration().override_quarantine());
    server.log().is_stalled = false;
    acquire(&mut second, 2, &[8]).unwrap();
    server.is_killed_and_restarted();
    assert_eq!(second.administration().current_quarantine().unwrap(), None);
    assert_eq!(second.list().unwrap().len(), 2);
}
