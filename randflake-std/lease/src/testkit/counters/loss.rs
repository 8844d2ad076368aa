//! Counters in stores that forget.

use super::{Counters, lost, namespace, rewound, segment};

pub fn a_counter_that_may_have_gone_back_waits_for_somebody(backend: &impl Counters) {
    let mut store = backend.open_counter(&namespace("orders"));
    let mut never_used = backend.open_counter(&namespace("never-used"));
    let reserved = store.counter().reserve(1_000).unwrap();
    backend.lose_counters();

    // For who had it open, who opens it now, and for a counter that the store does not know of.
    for _ in 0..2 {
        lost(store.counter().reserve(1));
        lost(
            backend
                .open_counter(&namespace("orders"))
                .counter()
                .reserve(1),
        );
        lost(never_used.counter().reserve(1));
        lost(
            backend
                .open_counter(&namespace("forgotten"))
                .counter()
                .reserve(1),
        );
    }
    assert!(store.counter().status().unwrap().lost);

    let mut administrator = backend.open_counter(&namespace("orders"));
    assert_eq!(
        administrator.counter().resume(reserved.end()).unwrap(),
        reserved.end()
    );
    assert!(!store.counter().status().unwrap().lost);
    assert_eq!(
        store.counter().reserve(5).unwrap(),
        segment(reserved.end(), 5)
    );
    // Nobody has vouched for the others.
    lost(never_used.counter().reserve(1));
    assert_eq!(never_used.counter().resume(1).unwrap(), 1);
    assert_eq!(never_used.counter().reserve(1).unwrap(), segment(1, 1));
}

pub fn a_second_loss_is_another_one(backend: &impl Counters) {
    let mut store = backend.open_counter(&namespace("orders"));
    let mut next = store.counter().reserve(10).unwrap().end();
    for _ in 0..3 {
        backend.lose_counters();
        lost(store.counter().reserve(1));
        store.counter().resume(next + 5).unwrap();
        let reserved = store.counter().reserve(10).unwrap();
        assert_eq!(reserved, segment(next + 5, 10));
        next = reserved.end();
    }
}

/// Without its wait nobody asks the holder, and its numbers are issued again; but nobody goes on after it has come back.
pub fn a_counter_that_began_again_beside_its_holder_is_refused_to_all(backend: &impl Counters) {
    let mut holder = backend.open_counter(&namespace("orders"));
    let mut idle = backend.open_counter(&namespace("orders"));
    let reserved = holder.counter().reserve(100).unwrap();
    let last = idle.counter().reserve(100).unwrap();
    backend.lose_counters();

    let mut other = backend.open_counter(&namespace("orders"));
    let declared = other.counter().create();
    if declared.is_err() {
        // The store has kept a record, and only doubts it.
        lost(declared);
        return;
    }
    // Past what the holder has seen, so that its next segment would follow on its last one.
    assert_eq!(other.counter().reserve(100).unwrap(), reserved);
    assert_eq!(rewound(holder.counter().reserve(1)), reserved.end());
    assert_eq!(rewound(other.counter().reserve(1)), reserved.end());
    assert_eq!(rewound(idle.counter().reserve(1)), last.end());
    let mut administrator = backend.open_counter(&namespace("orders"));
    assert_eq!(lost(administrator.counter().reserve(1)), last.end());
    assert_eq!(lost(administrator.counter().create()), last.end());

    assert_eq!(administrator.counter().resume(1_000).unwrap(), 1_000);
    for (n, store) in (0..).zip([&mut holder, &mut other, &mut idle]) {
        assert_eq!(store.counter().reserve(1).unwrap(), segment(1_000 + n, 1));
    }
}

pub fn a_counter_is_not_declared_new_after_a_holder_has_come(backend: &impl Counters) {
    let mut holder = backend.open_counter(&namespace("orders"));
    let reserved = holder.counter().reserve(100).unwrap();
    backend.lose_counters();
    assert_eq!(lost(holder.counter().reserve(1)), reserved.end());
    let mut other = backend.open_counter(&namespace("orders"));
    assert_eq!(lost(other.counter().create()), reserved.end());
    assert_eq!(lost(other.counter().reserve(1)), reserved.end());
    assert_eq!(other.counter().resume(1).unwrap(), reserved.end());
    assert_eq!(
        holder.counter().reserve(1).unwrap(),
        segment(reserved.end(), 1)
    );
}
