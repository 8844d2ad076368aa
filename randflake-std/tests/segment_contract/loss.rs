//! Counters in stores that forget.

use super::{Counters, lost, namespace, segment};

pub(crate) fn a_counter_that_may_have_gone_back_waits_for_somebody(backend: &impl Counters) {
    let mut store = backend.open_counter(&namespace("orders"));
    let mut never_used = backend.open_counter(&namespace("never-used"));
    let reserved = store.reserve(1_000).unwrap();
    backend.lose_counters();

    // For who had it open, who opens it now, and for a counter that the store does not know of.
    for _ in 0..2 {
        lost(store.reserve(1));
        lost(backend.open_counter(&namespace("orders")).reserve(1));
        lost(never_used.reserve(1));
        lost(backend.open_counter(&namespace("forgotten")).reserve(1));
    }
    assert!(store.counter().unwrap().lost);

    let mut administrator = backend.open_counter(&namespace("orders"));
    assert_eq!(
        administrator.resume_counter(reserved.end()).unwrap(),
        reserved.end()
    );
    assert!(!store.counter().unwrap().lost);
    assert_eq!(store.reserve(5).unwrap(), segment(reserved.end(), 5));
    // Nobody has vouched for the others.
    lost(never_used.reserve(1));
    assert_eq!(never_used.resume_counter(1).unwrap(), 1);
    assert_eq!(never_used.reserve(1).unwrap(), segment(1, 1));
}

pub(crate) fn a_second_loss_is_another_one(backend: &impl Counters) {
    let mut store = backend.open_counter(&namespace("orders"));
    let mut next = store.reserve(10).unwrap().end();
    for _ in 0..3 {
        backend.lose_counters();
        lost(store.reserve(1));
        store.resume_counter(next + 5).unwrap();
        let reserved = store.reserve(10).unwrap();
        assert_eq!(reserved, segment(next + 5, 10));
        next = reserved.end();
    }
}
