//! Reserving, with nothing that goes wrong; counters with steps and dates.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::thread;

use randflake_core::segment::{MAX_NUMBER, Segment};

use super::{Counters, invalid, lost, namespace, rewound, segment};
use crate::store::LeaseStore;
use crate::types::{CounterError, CounterStatus, CounterTerms, DatedNumbers, Period};

pub fn a_counter_is_dense_from_one_on(backend: &impl Counters) {
    let mut store = backend.open_counter(&namespace("orders"));
    let mut other = backend.open_counter(&namespace("orders"));
    let at = |next| CounterStatus {
        next: Some(next),
        terms: Some(CounterTerms::default()),
        is_unused: next == 1,
        ahead_for: None,
        lost: false,
    };
    assert_eq!(store.counter().status().unwrap(), at(1));
    assert_eq!(store.counter().reserve(1).unwrap(), segment(1, 1));
    assert_eq!(other.counter().reserve(1_000).unwrap(), segment(2, 1_000));
    assert_eq!(
        store.counter().reserve(1 << 40).unwrap(),
        segment(1_002, 1 << 40)
    );
    assert_eq!(other.counter().status().unwrap(), at(1_002 + (1 << 40)));
}

pub fn each_namespace_has_its_counter(backend: &impl Counters) {
    let mut orders = backend.open_counter(&namespace("orders"));
    let mut bills = backend.open_counter(&namespace("bills"));
    assert_eq!(orders.counter().reserve(10).unwrap(), segment(1, 10));
    assert_eq!(bills.counter().reserve(20).unwrap(), segment(1, 20));
    assert_eq!(orders.counter().reserve(1).unwrap(), segment(11, 1));
}

pub fn what_cannot_be_reserved_is_refused(backend: &impl Counters) {
    let mut store = backend.open_counter(&namespace("orders"));
    let said = invalid(store.counter().reserve(0));
    assert_eq!(said, "no number was asked for: at least 1 is allowed");
    store.counter().reserve(7).unwrap();
    for too_many in [MAX_NUMBER - 6, 1 << 63, u64::MAX] {
        let said = invalid(store.counter().reserve(too_many));
        let left = MAX_NUMBER - 7;
        assert_eq!(
            said,
            format!("{too_many} numbers asked for: the counter has {left} left")
        );
    }
    for none in [0, MAX_NUMBER + 1, u64::MAX] {
        let said = invalid(store.counter().resume(none));
        assert!(
            said.contains(&none.to_string()) || said.contains("0 left"),
            "{said}"
        );
    }
    assert_eq!(store.counter().reserve(1).unwrap(), segment(8, 1));
}

pub fn the_last_numbers_are_reserved(backend: &impl Counters) {
    let mut store = backend.open_counter(&namespace("orders"));
    // Beyond 2^53 a double, which some languages count with, is not exact any more.
    for number in [(1 << 53) + 1, MAX_NUMBER - 3] {
        assert_eq!(store.counter().resume(number).unwrap(), number);
        assert_eq!(store.counter().reserve(1).unwrap(), segment(number, 1));
    }
    assert_eq!(
        store.counter().reserve(3).unwrap(),
        segment(MAX_NUMBER - 2, 3)
    );
    let said = invalid(store.counter().reserve(1));
    assert_eq!(said, "1 numbers asked for: the counter has 0 left");
    assert_eq!(store.counter().status().unwrap().next, Some(MAX_NUMBER + 1));
}

pub fn what_was_reserved_is_kept(backend: &impl Counters) {
    for n in 0..5 {
        let mut store = backend.open_counter(&namespace("orders"));
        assert_eq!(
            store.counter().reserve(10).unwrap(),
            segment(n * 10 + 1, 10)
        );
    }
}

pub fn a_counter_goes_on_where_it_is_told(backend: &impl Counters) {
    let mut store = backend.open_counter(&namespace("orders"));
    assert_eq!(store.counter().resume(1_000_000).unwrap(), 1_000_000);
    let mut other = backend.open_counter(&namespace("orders"));
    assert_eq!(other.counter().reserve(2).unwrap(), segment(1_000_000, 2));
    // Also an empty one.
    let mut bills = backend.open_counter(&namespace("bills"));
    assert_eq!(bills.counter().resume(1).unwrap(), 1);
    assert_eq!(bills.counter().reserve(1).unwrap(), segment(1, 1));
}

/// Also in a store that was never used: one at another path, or without its data, looks so.
pub fn a_counter_that_is_not_there_is_lost<B: Counters>(backend: &B) {
    // As a client of leases, for which nobody begins a counter.
    let open = || backend.open(&namespace("unbegun")).unwrap();
    let mut store = open();
    if B::BEGINS_BY_ITSELF {
        assert_eq!(store.counter().reserve(1).unwrap(), segment(1, 1));
        return;
    }
    let missing = CounterStatus {
        next: None,
        terms: None,
        is_unused: false,
        ahead_for: None,
        lost: true,
    };
    for _ in 0..2 {
        assert_eq!(store.counter().status().unwrap(), missing);
        assert_eq!(lost(store.counter().reserve(1)), 0);
        assert_eq!(lost(open().counter().reserve(1)), 0);
    }
    let said = store.counter().reserve(1).unwrap_err().to_string();
    let remedies = if backend.has_url() {
        [
            "`randflake segment init --store ",
            "`randflake segment resume NUMBER --store ",
            " --namespace unbegun`",
        ]
    } else {
        [
            "\"unbegun\"",
            "`store.counter().create()`",
            "`store.counter().resume(NUMBER)`",
        ]
    };
    for remedy in remedies {
        assert!(said.contains(remedy), "{said}");
    }
    open().counter().create().unwrap();
    assert_eq!(store.counter().reserve(2).unwrap(), segment(1, 2));
}

/// As often as somebody says so, until a number was reserved.
pub fn a_counter_is_declared_new_once(backend: &impl Counters) {
    let mut store = backend.open_counter(&namespace("orders"));
    let mut other = backend.open_counter(&namespace("orders"));
    store.counter().create().unwrap();
    other.counter().create().unwrap();
    assert_eq!(store.counter().reserve(2).unwrap(), segment(1, 2));
    let said = invalid(other.counter().create().map(drop));
    assert!(
        said.contains("not new") && said.contains(" 3 is its next"),
        "{said}"
    );
    assert_eq!(other.counter().reserve(1).unwrap(), segment(3, 1));
    // One that was told where to go on is not new, and neither is one that was lost.
    let mut bills = backend.open_counter(&namespace("bills"));
    bills.counter().resume(7).unwrap();
    invalid(bills.counter().create());
    backend.lose_counters();
    if let Some(next) = store.counter().status().unwrap().next {
        assert!(lost(store.counter().create()) >= next);
    }
}

pub fn a_counter_is_never_told_to_go_back(backend: &impl Counters) {
    let mut store = backend.open_counter(&namespace("orders"));
    store.counter().reserve(100).unwrap();
    for number in [1, 100, 101] {
        assert_eq!(store.counter().resume(number).unwrap(), 101);
    }
    assert_eq!(store.counter().reserve(1).unwrap(), segment(101, 1));
}

pub fn many_clients_at_once_reserve_each_number_once(backend: &impl Counters) {
    const CLIENTS: u64 = 8;
    const EACH: u64 = 20;
    const TRIES: usize = 100;
    // A reservation that a busy machine does not answer in time may leave a gap.
    let unanswered = AtomicBool::new(false);
    let reserve = |client: u64| {
        let mut store = backend.open_counter(&namespace("orders"));
        let mut reserve = |len| {
            for _ in 0..TRIES {
                match store.counter().reserve(len) {
                    Err(CounterError::Unavailable(_)) => unanswered.store(true, Ordering::SeqCst),
                    reserved => return reserved.unwrap(),
                }
            }
            store.counter().reserve(len).unwrap()
        };
        let lengths = (1..=EACH).map(|n| 1 + (n * client) % 5);
        lengths.map(&mut reserve).collect::<Vec<_>>()
    };
    let mut segments = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let reserve = &reserve;
                scope.spawn(move || reserve(client))
            })
            .collect();
        let segments = clients.into_iter().map(|client| client.join().unwrap());
        segments.collect::<Vec<_>>().concat()
    });
    segments.sort_unstable_by_key(Segment::first);
    let may_have_gaps = unanswered.into_inner();
    let mut next = 1;
    for segment in &segments {
        let follows = segment.first() == next || (may_have_gaps && segment.first() > next);
        assert!(follows, "{segment:?} after {next}");
        next = segment.end();
    }
}

pub fn counter_that_may_have_gone_back_needs_an_operator(backend: &impl Counters) {
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

/// Without its wait nobody asks the holder, and its numbers are issued again; but nobody goes on
/// after it has come back.
pub fn counter_begun_again_beside_its_holder_is_refused(backend: &impl Counters) {
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

pub fn counter_with_a_holder_is_not_declared_new(backend: &impl Counters) {
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

const DAY: Duration = Duration::from_secs(86_400);

/// A client that says how its counter counts.
fn open(backend: &impl Counters, name: &str, terms: CounterTerms) -> LeaseStore {
    let mut store = backend.open_counter(&namespace(name));
    store.counter().set_terms(terms);
    store
}

/// One by the clock that the test sets.
fn begun(backend: &impl Counters, terms: CounterTerms) -> LeaseStore {
    let mut store = backend.open(&namespace("orders")).unwrap();
    store.counter().set_terms(terms);
    store.counter().create().unwrap();
    store
}

pub fn daily(digits: u8) -> CounterTerms {
    CounterTerms::dated(DatedNumbers::new(Period::Day, digits).unwrap())
}

/// As five databases that know nothing of each other have.
pub fn counters_with_steps_share_no_number(backend: &impl Counters) {
    let mut numbers: Vec<u64> = (1..=5)
        .flat_map(|first| {
            let terms = CounterTerms::stepped(first, 5).unwrap();
            let name = format!("orders-{first}");
            let mut store = open(backend, &name, terms);
            store.counter().create().unwrap();
            let reserved = store.counter().reserve(3).unwrap();
            assert_eq!((reserved.first(), reserved.end()), (first, first + 15));
            // Without terms a client goes on as the counter counts.
            let other = backend
                .open_counter(&namespace(&name))
                .counter()
                .reserve(1)
                .unwrap();
            assert_eq!((other.first(), other.step()), (first + 15, 5));
            reserved.numbers().chain(other.numbers())
        })
        .collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(1..=20));
}

pub fn other_terms_of_a_counter_are_refused_by_name(backend: &impl Counters) {
    let two = CounterTerms::stepped(2, 5).unwrap();
    let three = CounterTerms::stepped(3, 5).unwrap();
    let mut store = open(backend, "orders", two);
    store.counter().create().unwrap();
    // Nobody has a number yet.
    let mut other = open(backend, "orders", three);
    let refused = other.counter().reserve(1).unwrap_err().to_string();
    for part in [
        "from 2 in steps of 5",
        "this client says from 3 in steps of 5",
    ] {
        assert!(refused.contains(part), "{refused}");
    }
    other.counter().create().unwrap();
    assert_eq!(other.counter().reserve(1).unwrap().first(), 3);
    for outcome in [
        store.counter().reserve(1).map(drop),
        store.counter().create(),
        store.counter().resume(7).map(drop),
        open(backend, "orders", daily(6))
            .counter()
            .reserve(1)
            .map(drop),
    ] {
        let refused = outcome.unwrap_err();
        let is_named = matches!(refused, CounterError::OtherTerms { kept, .. } if kept == three);
        assert!(is_named, "{refused:?}");
    }
    assert_eq!(other.counter().status().unwrap().terms, Some(three));
    // After a loss somebody says both: how it counts, and where it goes on.
    backend.lose_counters();
    assert_eq!(other.counter().resume(9).unwrap(), 13);
    assert_eq!(other.counter().reserve(2).unwrap().end(), 23);
}

pub fn dated_numbers_begin_anew_and_never_repeat(backend: &impl Counters) {
    let terms = daily(6);
    let dates = terms.dates().unwrap();
    let mut store = begun(backend, terms);
    assert!(store.counter().status().unwrap().is_unused);
    let mut reserved = Vec::new();
    let mut reserve = |store: &mut LeaseStore, count| {
        let segment = store.counter().reserve(count).unwrap();
        reserved.extend(segment.numbers());
        dates.date_and_count(segment.first())
    };
    let (first, count) = reserve(&mut store, 10);
    assert_eq!(count, 1);
    let (second, count) = reserve(&mut store, 10);
    // A test may run over midnight.
    assert!((second, count) == (first, 11) || count == 1);
    let mut dates_seen = vec![second];
    for _ in 0..3 {
        backend.pass(DAY);
        let (date, count) = reserve(&mut store, 2);
        assert!(date > *dates_seen.last().unwrap() && count == 1);
        dates_seen.push(date);
    }
    // The clock was ahead, and is set back: nothing is issued by anybody.
    backend.step_clock(0, -i64::try_from(DAY.as_millis() * 2).unwrap());
    let status = store.counter().status().unwrap();
    assert!(
        status
            .ahead_for
            .is_some_and(|ahead| ahead > DAY && ahead <= DAY * 2)
    );
    let Err(CounterError::Ahead {
        passes_in, message, ..
    }) = store.counter().reserve(1)
    else {
        panic!("it went back");
    };
    assert!(passes_in > DAY && passes_in <= DAY * 2, "{message}");
    assert!(
        message.contains("until 20") && message.contains("never go back"),
        "{message}"
    );
    // The time comes.
    backend.pass(DAY * 2);
    let (date, count) = reserve(&mut store, 1);
    assert!((date, count) == (*dates_seen.last().unwrap(), 3) || count == 1);
    let before = reserved.len();
    assert!(reserved.is_sorted());
    reserved.dedup();
    assert_eq!(reserved.len(), before);
}

pub fn a_period_that_has_used_its_digits_says_so(backend: &impl Counters) {
    let mut store = begun(backend, daily(1));
    // Of a test that runs over midnight the next day is full.
    let full = (0..2).find_map(|_| {
        let reserved = store.counter().reserve(9).ok()?;
        assert_eq!(reserved.len(), 9);
        store.counter().reserve(1).err()
    });
    let Some(CounterError::Full {
        left: 0,
        passes_in,
        message,
        ..
    }) = full
    else {
        panic!("{full:?}");
    };
    assert!(passes_in <= DAY, "{message}");
    assert!(
        message.contains("has 0 of its 9 numbers left") && message.contains("more digits"),
        "{message}"
    );
    backend.pass(DAY);
    assert_eq!(store.counter().reserve(9).unwrap().len(), 9);
}
