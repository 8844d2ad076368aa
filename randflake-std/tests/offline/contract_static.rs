//! The contract of lease stores, as far as it goes for one node id and one process at a time; and
//! what the file of an assigned node id brings with it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "static/engine.rs"]
mod engine;
#[path = "static/files.rs"]
mod files;
#[cfg(unix)]
#[path = "static/forks.rs"]
mod forks;
#[path = "static/restarts.rs"]
mod restarts;

use core::time::Duration;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use randflake_core::ManualClock;
use randflake_std::lease::{
    AcquireRequest, Explanation, Grant, LeaseStore, Namespace, NodeIdSource, NodeIds, StaticStore,
    StoreError, Upgrade, Verdict,
};
use randflake_std::segment::CounterErrorKind;
use randflake_std::unstable::rules::Key;
use tempfile::TempDir;

use randflake_lease::testkit::leases::{
    BEGIN_UNIX_MS, Backend, LATER, TTL, acquire, acquire_one, eight, is_planted, plant, text,
    tick_at, ticks, token,
};
use randflake_lease::testkit::referee::Referee;
use randflake_lease::testkit::server;
use randflake_lease::unstable::assigned::ENGINE;

const NODE: u32 = 7;
/// How long a new file is in quarantine: the longest TTL, and 20 s.
const WAIT: u64 = 60 + 20;

/// A folder with a file, and the clock of all who open it.
struct Place {
    folder: TempDir,
    clock: Arc<ManualClock>,
}

impl Place {
    /// With no file yet.
    fn new() -> Self {
        Self {
            folder: TempDir::new().unwrap(),
            clock: Arc::new(ManualClock::at_unix_ms(BEGIN_UNIX_MS)),
        }
    }

    /// With a file that grants at once: somebody said that it is new.
    fn declared() -> Self {
        let place = Self::new();
        place.store().administration().end_quarantine().unwrap();
        place
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("node")
    }

    fn store(&self) -> LeaseStore {
        self.try_store(NODE, &eight("orders")).unwrap()
    }

    fn try_store(&self, node_id: u32, namespace: &Namespace) -> Result<LeaseStore, StoreError> {
        let source = NodeIdSource::Given(node_id);
        StaticStore::open_with_clock(self.path(), source, namespace, Arc::clone(&self.clock))
    }

    fn now(&self) -> u64 {
        tick_at(self.store().now().unwrap())
    }
}

impl Backend for Place {
    fn open(&self, namespace: &Namespace) -> Result<LeaseStore, StoreError> {
        self.try_store(NODE, namespace)
    }

    fn names(&self) -> Vec<String> {
        server::names(
            &ENGINE,
            &format!("static:{}?node={NODE}", self.path().display()),
        )
    }

    fn find(&self, name: &str) -> Option<Namespace> {
        server::find(
            &ENGINE,
            &format!("static:{}?node={NODE}", self.path().display()),
            name,
        )
    }

    fn step_clock(&self, _: usize, ms: i64) {
        self.clock.step_ms(ms);
    }

    fn lose_memory(&self) {
        fs::remove_file(self.path()).unwrap();
    }

    fn history_steps(&self) -> usize {
        5_000
    }
}

randflake_lease::lease_contract! { Place::declared();
    a_grant_begins_now,
    a_quarantine_holds_until_everything_has_expired,
    what_cannot_be_granted_is_refused,
    a_renewal_never_shortens,
    a_release_counts_once,
    a_request_s_name_is_used_once,
    a_lease_that_is_named_twice_is_refused,
    a_clock_outside_the_layout_is_refused,
    the_last_tick_cuts_a_lease_short,
    diagnosis_reports_the_quarantine_and_only_reads,
    dropped_namespace_is_reopened_by_a_person_only,
}

randflake_lease::lease_contract! { Place::new();
    namespaces_are_found_as_they_were_made,
}

/// The sentence of a refusal that trying again cannot help.
fn failed_precondition<T: core::fmt::Debug>(outcome: Result<T, StoreError>) -> String {
    match outcome {
        Err(StoreError::FailedPrecondition(error)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

/// How long an acquire is to wait, because nothing is free or the file is in quarantine.
fn wait_of<T: core::fmt::Debug>(outcome: Result<T, StoreError>) -> Duration {
    match outcome {
        Err(StoreError::Exhausted { retry_in } | StoreError::Quarantined { retry_in, .. }) => {
            retry_in
        }
        other => panic!("{other:?}"),
    }
}

/// Waits as long as it is told to, and no less would do.
fn begins_in(place: &Place, store: &mut LeaseStore, number: u128) -> (Duration, Grant) {
    let wait = wait_of(acquire(store, number, 1));
    place.pass(wait.checked_sub(ticks(1)).unwrap());
    wait_of(acquire(store, number, 1));
    place.pass(ticks(1));
    (wait, acquire_one(store, number))
}

#[test]
fn a_second_process_on_the_file_is_refused() {
    let place = Place::declared();
    let (mut first, mut second) = (place.store(), place.store());
    let grant = acquire_one(&mut first, 1);
    for _ in 0..2 {
        let sentence = failed_precondition(acquire(&mut second, 2, 1));
        assert!(
            sentence.contains(
                "another process holds this node id: if that is one which is still shutting down"
            ),
            "{sentence}"
        );
    }
    failed_precondition(second.renew(&[grant], TTL));
    failed_precondition(second.administration().start_quarantine());
    // It may look.
    assert_eq!(second.list().unwrap(), first.list().unwrap());
    second.administration().diagnose().unwrap();
    first.release(&[grant]).unwrap();
    drop(first);
    place.pass(ticks(TTL));
    acquire(&mut second, 2, 1).unwrap();
}

#[test]
fn it_keeps_one_node_id_and_no_counter() {
    let place = Place::declared();
    let mut store = place.store();
    let records = store.list().unwrap();
    let request = AcquireRequest {
        token: token(1),
        holder: "holder",
        nodes: NodeIds::Any(1),
        ttl: TTL,
    };
    for nodes in [
        NodeIds::These(&[NODE - 1]),
        NodeIds::These(&[NODE, 0]),
        NodeIds::Any(2),
    ] {
        let refused = store.acquire(&AcquireRequest { nodes, ..request });
        // To wait for them would be in vain.
        assert!(
            matches!(&refused, Err(StoreError::Invalid(why)) if why.contains("one node id")),
            "{refused:?}"
        );
    }
    for refused in [
        store.counter().reserve(1).unwrap_err(),
        store.counter().resume(1).unwrap_err(),
        store.counter().status().unwrap_err(),
    ] {
        assert_eq!(refused.kind(), CounterErrorKind::FailedPrecondition);
        assert!(refused.to_string().contains("no counter"), "{refused}");
    }
    assert_eq!(store.list().unwrap(), records);
    let request = AcquireRequest {
        nodes: NodeIds::These(&[NODE]),
        ..request
    };
    assert_eq!(store.acquire(&request).unwrap().grants[0].node_id, NODE);
}

#[test]
fn a_diagnosis_cautions_against_a_second_file() {
    let place = Place::declared();
    let findings = place.store().administration().diagnose().unwrap();
    let assignment = findings
        .iter()
        .find(|finding| finding.name == "assignment")
        .unwrap();
    assert_eq!(assignment.value, "7");
    assert!(matches!(assignment.verdict, Verdict::Caution(_)));
}

/// Its file has room for one lease: what was before is not known, and no gap.
#[test]
fn the_history_has_the_last_lease() {
    let place = Place::new();
    let mut store = place.store();
    store.administration().end_quarantine().unwrap();
    let first = acquire(&mut store, 1, 1).unwrap().grants[0];
    store.release(&[first]).unwrap();
    place.pass(ticks(2 * TTL));
    let second = acquire(&mut store, 2, 1).unwrap().grants[0];
    let history = store.history().read(0..=u32::MAX).unwrap();
    assert_eq!(history.gaps(), []);
    let starts = history.leases().map(|lease| lease.record.grant.start);
    assert_eq!(starts.collect::<Vec<_>>(), [second.start]);
    let explained = |tick| history.explain(first.node_id, tick);
    assert!(matches!(explained(second.start), Explanation::Held(_)));
    assert!(matches!(
        explained(first.start),
        Explanation::Unknown { known_from, .. } if known_from == first.end
    ));
    assert_eq!(explained(first.end), Explanation::Nobody);
}

/// Processes that follow each other, killed or closed, under a clock that jumps.
#[test]
fn random_histories_of_restarts_grant_no_tick_twice() {
    let place = Place::new();
    let mut referee = Referee::default();
    let mut seed = 1_u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    let mut held: Option<Grant> = None;
    let mut store = place.store();
    for number in 0..place.history_steps() as u128 {
        match random(8) {
            0..3 => {
                if let Ok(acquired) = acquire(&mut store, number, 1) {
                    referee.granted(&acquired.grants);
                    held = Some(acquired.grants[0]);
                }
            }
            3..5 => {
                if let Some(grant) = held
                    && let Ok(end) = store.renew(&[grant], TTL).unwrap().ends[0]
                {
                    referee.renewed(&grant, end);
                    held = Some(Grant { end, ..grant });
                }
            }
            5 => {
                if let Some(grant) = held.take() {
                    let used = grant.start + random(grant.end - grant.start);
                    let grant = Grant { end: used, ..grant };
                    store.release(&[grant]).unwrap();
                    referee.released(&grant);
                }
            }
            6 => {
                held = None;
                drop(store);
                store = place.store();
            }
            _ => {
                let ms = i64::try_from(random(100_000)).unwrap();
                place.step_clock(0, if random(3) == 0 { -ms } else { ms });
            }
        }
    }
    assert!(referee.intervals() > 100, "{}", referee.intervals());
}

/// A file has one holder at a time, so an upgrade waits for the last one's lease alone.
#[test]
fn file_of_a_later_version_is_refused() {
    let place = Place::declared();
    let mut old = place.store();
    acquire_one(&mut old, 1);
    plant(&mut old, Key::Node(NODE));
    drop(old);
    let mut new = place.store();
    *new.internals().unwrap().1 = LATER;
    let refused = new.administration().upgrade_namespace(false).unwrap();
    assert!(matches!(refused, Upgrade::OlderHolders { holders, .. } if holders.len() == 1));
    place.pass(ticks(TTL));
    acquire_one(&mut new, 2);
    assert!(is_planted(&text(&mut new, Key::Node(NODE))));
    let upgraded = Upgrade::Done {
        before: 1,
        version: LATER,
    };
    assert_eq!(
        new.administration().upgrade_namespace(false).unwrap(),
        upgraded
    );
    drop(new);
    let refused = failed_precondition(place.try_store(NODE, &eight("orders")));
    assert!(refused.contains("update this one"), "{refused}");
}
