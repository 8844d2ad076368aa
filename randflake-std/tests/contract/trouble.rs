//! Clocks that are wrong, and stores that forget.

use core::time::Duration;

use randflake_std::Layout;
use randflake_std::lease::{LeaseStore, MAX_SKEW, StoreError};

use super::referee::Referee;
use super::{Backend, Eight, TTL, acquire, acquire_one, eight, ticks};

/// Sets the clock of the first client.
fn step_to(backend: &impl Backend, store: &mut dyn LeaseStore, unix_ms: u64) {
    let now_ms = u64::try_from(store.now().unwrap().as_millis()).unwrap();
    backend.step_clock(0, unix_ms.cast_signed() - now_ms.cast_signed());
}

fn fenced_for(error: &StoreError) -> Duration {
    match error {
        StoreError::Fenced { retry_in } => *retry_in,
        _ => panic!("{error:?}"),
    }
}

pub(crate) fn a_clock_that_steps_back_frees_nothing(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let mut referee = Referee::default();
    let grants = acquire(&mut *store, 1, 8).unwrap().grants;
    referee.granted(&grants);
    backend.step_clock(0, -3_600_000);
    let refused = acquire(&mut *store, 2, 1).unwrap_err();
    let StoreError::Exhausted { retry_in } = refused else {
        panic!("{refused:?}")
    };
    assert!(retry_in > Duration::from_secs(3_600), "{retry_in:?}");

    // An hour ahead, the leases seem to be over. Who takes them begins after their end.
    backend.step_clock(0, 7_200_000);
    let taken = acquire(&mut *store, 2, 8).unwrap().grants;
    referee.granted(&taken);
    backend.step_clock(0, -3_600_000);
    assert_eq!(store.renew(&grants, TTL).unwrap().ends, [None; 8]);
    assert!(acquire(&mut *store, 3, 1).is_err());
}

pub(crate) fn a_clock_outside_the_layout_is_refused(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let grant = acquire_one(&mut *store, 1);
    let spec = Eight::SPEC;
    step_to(backend, &mut *store, spec.epoch_unix_ms() - 1);
    for refused in [
        acquire(&mut *store, 2, 1).map(drop),
        store.renew(&[grant], TTL).map(drop),
    ] {
        assert!(
            matches!(refused, Err(StoreError::Unavailable(_))),
            "{refused:?}"
        );
    }

    step_to(backend, &mut *store, spec.unix_ms(spec.max_tick() + 1));
    let refused = acquire(&mut *store, 2, 1);
    assert!(
        matches!(refused, Err(StoreError::Unusable(_))),
        "{refused:?}"
    );
    assert_eq!(store.renew(&[grant], TTL).unwrap().ends, [None]);
}

pub(crate) fn the_last_tick_cuts_a_lease_short(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let spec = Eight::SPEC;
    step_to(backend, &mut *store, spec.unix_ms(spec.max_tick() - 9));
    let grant = acquire_one(&mut *store, 1);
    assert_eq!(
        (grant.start, grant.end),
        (spec.max_tick() - 9, spec.max_tick() + 1)
    );
    assert!(grant.lease::<Eight>().is_ok());
    assert_eq!(store.renew(&[grant], TTL).unwrap().ends, [Some(grant.end)]);
}

pub(crate) fn a_fence_holds_until_everything_is_over(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let grant = acquire_one(&mut *store, 1);
    let max_ttl = store.namespace().max_ttl();
    let fence = store.fence().unwrap();
    assert!(fence.abs_diff(max_ttl + MAX_SKEW) <= ticks(1));

    let left = fenced_for(&acquire(&mut *store, 2, 1).unwrap_err());
    assert!(left <= fence && left + ticks(1) > fence, "{left:?}");
    // What is held goes on.
    assert!(store.renew(&[grant], TTL).unwrap().ends[0].is_some());

    // A clock that went back holds longer, and a second fence is not earlier than the first.
    backend.step_clock(0, -100_000);
    store.fence().unwrap();
    let left = fenced_for(&acquire(&mut *store, 2, 1).unwrap_err());
    assert!(left + ticks(1) > fence + ticks(100), "{left:?}");
    backend.pass(left);
    acquire_one(&mut *store, 2);
}

pub(crate) fn a_store_that_forgot_waits(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let mut referee = Referee::default();
    // A clock that was ahead has granted what ends later than any lease should.
    backend.step_clock(0, 3_600_000);
    let ahead = acquire(&mut *store, 1, 2).unwrap().grants;
    backend.step_clock(0, -3_600_000);
    let grants = acquire(&mut *store, 2, 2).unwrap().grants;
    referee.granted(&ahead);
    referee.granted(&grants);

    backend.lose_memory();
    assert_eq!(store.renew(&grants, TTL).unwrap().ends, [None; 2]);
    assert_eq!(store.list().unwrap(), []);
    let left = fenced_for(&acquire(&mut *store, 3, 1).unwrap_err());
    assert!(left >= store.namespace().max_ttl(), "{left:?}");
    assert!(left >= ticks(3_600 + TTL - 1), "{left:?}");

    // Another client, and one of another namespace, wait as well.
    let mut other = backend.open(&eight("orders")).unwrap();
    fenced_for(&acquire(&mut *other, 3, 1).unwrap_err());
    backend.pass(left);
    referee.granted(&acquire(&mut *store, 3, 8).unwrap().grants);
}
