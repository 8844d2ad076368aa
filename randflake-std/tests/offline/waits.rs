//! `Builder::wait`: a build that goes on while a store in a file grants nothing.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::time::Duration;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;

use randflake_core::{Clock, ManualClock, Plain};
use randflake_std::backoff::Retry;
use randflake_std::date::span;
use randflake_std::lease::{
    self, LeaseStore, MemoryStore, Namespace, SqliteStore, StoreError, StoreErrorKind,
};
use randflake_std::{BuildError, Builder, ExactSystemClock, Handle, Randflake, Secret};
use tempfile::TempDir;

use crate::fixtures::Narrow;

/// Far longer than what is waited for takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(300);

/// A layout of two node ids.
type Two = Narrow<1, 17>;

struct Files {
    path: PathBuf,
    _folder: TempDir,
}

impl Files {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("leases.db");
        // Made a minute ago: a new one waits by itself.
        let before = ExactSystemClock
            .now()
            .unwrap()
            .saturating_sub(Duration::from_secs(60));
        let before = ManualClock::at_unix_ms(before.as_millis().try_into().unwrap());
        SqliteStore::open_with_clock(&path, &namespace(), Arc::new(before)).unwrap();
        Self {
            path,
            _folder: folder,
        }
    }

    fn store(&self) -> LeaseStore {
        SqliteStore::open(&self.path, &namespace()).unwrap()
    }
}

fn namespace() -> Namespace {
    Namespace::new("test", Two::default()).unwrap()
}

fn builder(store: impl Into<LeaseStore>) -> Builder<Two> {
    Builder::new(Two::default(), Plain, store)
}

/// Builds in another thread, and does something once the build waits for a reason.
fn meanwhile(
    builder: Builder<Two>,
    reason: StoreErrorKind,
    helps: impl FnOnce(Duration),
) -> Handle<Two> {
    let (tell, told) = mpsc::channel();
    let waiting = builder.wait(PATIENCE).on_wait(move |error, left| {
        let retry_in = match error {
            StoreError::Quarantined { retry_in, .. } => *retry_in,
            _ => Duration::ZERO,
        };
        assert!(left <= PATIENCE);
        tell.send((error.kind(), retry_in)).unwrap();
    });
    let building = thread::spawn(|| waiting.build());
    let (kind, retry_in) = told.recv_timeout(PATIENCE).unwrap();
    assert_eq!(kind, reason);
    assert!(!building.is_finished());
    helps(retry_in);
    let handle = building.join().unwrap().unwrap();
    assert!(told.recv().is_err(), "one reason is told once");
    handle
}

#[test]
fn build_waits_until_a_holder_releases() {
    let files = Files::new();
    let holders = builder(files.store()).node_ids(2).build().unwrap();
    let handle = meanwhile(builder(files.store()), StoreErrorKind::Exhausted, |_| {
        holders.close().unwrap();
    });
    handle.generate_wait(PATIENCE).unwrap();
}

#[test]
fn build_waits_until_a_quarantine_is_ended() {
    let files = Files::new();
    let mut operator = files.store();
    operator.administration().create_namespace().unwrap();
    operator.administration().start_quarantine().unwrap();
    let handle = meanwhile(builder(files.store()), StoreErrorKind::Quarantined, |_| {
        operator.administration().override_quarantine().unwrap();
    });
    handle.generate_wait(PATIENCE).unwrap();
}

#[test]
fn a_quarantine_is_waited_for_until_it_ends() {
    let files = Files::new();
    let now = ExactSystemClock.now().unwrap();
    let clock = Arc::new(ManualClock::at_unix_ms(now.as_millis().try_into().unwrap()));
    let open = || SqliteStore::open_with_clock(&files.path, &namespace(), Arc::clone(&clock));
    let mut operator = open().unwrap();
    operator.administration().create_namespace().unwrap();
    operator.administration().start_quarantine().unwrap();
    drop(operator);
    let builder = builder(open().unwrap());
    let handle = meanwhile(builder, StoreErrorKind::Quarantined, |retry_in| {
        clock.advance_ms(retry_in.as_millis().try_into().unwrap());
    });
    handle.generate().unwrap();
}

/// What is in the way of a store is gone when the build is told to wait.
#[test]
fn a_store_that_cannot_be_opened_yet_is_waited_for() {
    let files = Files::new();
    files.store();
    let lock = lock_of(&files.path);
    let held = std::fs::File::open(&lock).unwrap();
    held.lock().unwrap();
    let path = files.path.clone();
    let deferred = lease::deferred(&namespace(), move |namespace| {
        SqliteStore::open(&path, namespace)
    });
    let handle = meanwhile(builder(deferred), StoreErrorKind::Unavailable, |_| {
        held.unlock().unwrap();
    });
    handle.generate().unwrap();
}

fn lock_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

#[test]
fn a_wait_in_vain_says_how_long_it_was_and_why() {
    let files = Files::new();
    let holders = builder(files.store()).node_ids(2).build().unwrap();
    let error = builder(files.store()).wait(SHORT).build().unwrap_err();
    let BuildError::Waited { waited, error: why } = &error else {
        panic!("{error:?}");
    };
    assert!(*waited >= SHORT);
    assert_eq!(why.kind(), StoreErrorKind::Exhausted);
    let sentence = error.to_string();
    let begin = format!("gave up after {}: too few", span(*waited));
    assert!(sentence.starts_with(&begin), "{sentence}");

    // Without it, the refusal itself.
    let error = builder(files.store()).build().unwrap_err();
    assert!(matches!(
        error,
        BuildError::Store(StoreError::Exhausted { .. })
    ));
    holders.close().unwrap();
}

#[test]
fn too_short_wait_says_how_long_is_enough() {
    let mut store = MemoryStore::with_system_clock(namespace());
    store.administration().create_namespace().unwrap();
    store.administration().start_quarantine().unwrap();
    let error = builder(store).wait(SHORT).build().unwrap_err();
    // The longest TTL and 20 s; some of it may be over before the build begins.
    let said = error.to_string();
    let enough = said
        .split_once(", where 1m ")
        .and_then(|(_, rest)| rest.split_once("s were needed: "));
    let seconds = enough.map(|(seconds, _)| seconds.parse::<u64>().unwrap());
    assert!(
        seconds.is_some_and(|seconds| (10..=21).contains(&seconds)),
        "{said}"
    );
}

#[test]
fn each_reason_for_a_wait_is_told_once() {
    let store = MemoryStore::with_system_clock(namespace());
    let holders = builder(store.clone()).node_ids(2).build().unwrap();
    let (tell, told) = mpsc::channel();
    store.fail_next(1);
    // With pauses of 0.1 s, 0.2 s and so on.
    let waiting = builder(store.clone())
        .wait(SHORT * 3)
        .on_wait(move |error, _| tell.send(error.kind()).unwrap());
    let refused = waiting.build().unwrap_err();
    assert!(matches!(refused, BuildError::Waited { .. }), "{refused}");
    let reasons = [StoreErrorKind::Unavailable, StoreErrorKind::Exhausted];
    assert_eq!(told.iter().collect::<Vec<_>>(), reasons);

    // Three tries are no wait.
    store.fail_next(3);
    let impatient = builder(store).on_wait(|_, _| panic!("it does not wait"));
    let refused = impatient.build().unwrap_err();
    assert!(matches!(refused, BuildError::Store(_)), "{refused}");
    holders.close().unwrap();
}

#[test]
fn what_waiting_does_not_help_is_refused_at_once() {
    let files = Files::new();
    builder(files.store()).build().unwrap();
    let other_terms = namespace().with_max_ttl(Duration::from_secs(30));
    let path = files.path.clone();
    let opened = lease::deferred(&other_terms, move |namespace| {
        SqliteStore::open(&path, namespace)
    });
    let error = builder(opened)
        .ttl(Duration::from_secs(10))
        .wait(Duration::MAX)
        .on_wait(|_, _| panic!("it does not wait"))
        .build()
        .unwrap_err();
    assert!(
        matches!(error, BuildError::Store(StoreError::Terms { .. })),
        "{error}"
    );

    let path = files.path.clone();
    let other = Namespace::new("other", Two::default()).unwrap();
    let opened = lease::deferred(&other, move |_| SqliteStore::open(&path, &namespace()));
    let error = builder(opened).wait(Duration::MAX).build().unwrap_err();
    assert!(
        matches!(error, BuildError::Store(StoreError::Invalid(_))),
        "{error}"
    );
}

/// What a program may do about a build that failed: ask the store again, or change a setting.
#[test]
fn an_error_of_a_build_says_whether_to_retry() {
    let unavailable = StoreError::unavailable("no answer");
    let of_store = Retry::from(&unavailable);
    assert_eq!(Retry::from(&BuildError::Store(unavailable)), of_store);
    let name = "device".to_owned();
    assert_eq!(Retry::from(&BuildError::Holder { name }), Retry::Never);
}

/// A builder in a log shows its settings.
#[test]
fn a_builder_shows_how_long_it_waits_and_no_key() {
    let namespace = Namespace::new("orders", Randflake).unwrap();
    let secret = Secret::from_bytes([0x5a; 16]);
    let store = MemoryStore::with_system_clock(namespace);
    let shown = format!("{:?}", Handle::builder(&secret, store).wait(SHORT));
    assert!(shown.contains("limit: 300ms"), "{shown}");
    assert!(shown.contains("Sparx64 { .. }"), "{shown}");
    assert!(!shown.contains("90") && !shown.contains("5a"), "{shown}");
}
