//! Counters, and what a process has seen of them.

use super::*;
use crate::rules::counter::{
    CounterCaller, CounterDecision, CounterRefusal, SeenCounter, check, create, reserve, resume,
};
use crate::rules::{CounterRecord, CounterView};

const FINGERPRINT: &str = "run:42";
const SEEN: u64 = 8;

fn record(next: u64, origin: u64, vouched: &str) -> CounterRecord {
    CounterRecord {
        next,
        origin,
        vouched: vouched.to_owned(),
        nonce: 50,
        form: Form::default(),
    }
}

/// As it was vouched for on this engine.
fn kept(next: u64, origin: u64) -> CounterRecord {
    record(next, origin, FINGERPRINT)
}

fn view(record: Option<CounterRecord>) -> CounterView {
    let fingerprint = FINGERPRINT.to_owned();
    CounterView {
        record,
        fingerprint,
    }
}

/// A process that has seen a counter of an origin at a number; 0 is nothing.
fn caller(next: u64) -> CounterCaller {
    let mut seen = SeenCounter::default();
    seen.note(&record(next, SEEN, FINGERPRINT));
    CounterCaller {
        seen,
        fresh: (ORIGIN, NONCE),
    }
}

#[derive(Debug, PartialEq)]
enum Answer<T> {
    Done(T),
    Lost(u64),
    Rewound(u64),
    Invalid,
}

/// The answer, and the next number, origin and voucher that are written.
fn parts<T>(decision: CounterDecision<T>) -> (Answer<T>, Option<(u64, u64, String)>) {
    let answer = match decision.answer {
        Ok(done) => Answer::Done(done),
        Err(CounterRefusal::Lost { reached }) => Answer::Lost(reached),
        Err(CounterRefusal::Rewound { reached }) => Answer::Rewound(reached),
        Err(CounterRefusal::Invalid(_)) => Answer::Invalid,
    };
    let after = decision.after.map(|after| {
        assert_eq!(after.nonce, NONCE);
        (after.next, after.origin, after.vouched)
    });
    (answer, after)
}

#[test]
fn a_process_notices_that_a_counter_went_back() {
    use Answer::{Done, Lost, Rewound};

    let another = |next, origin| Some(record(next, origin, "another"));
    let marked = |next, origin| Some(record(next, origin, ""));
    let mark = |next, origin| Some((next, origin, String::new()));
    for (seen, there, answer, after) in [
        (5, Some(kept(5, SEEN)), Done(()), None),
        (5, Some(kept(6, SEEN)), Done(()), None),
        // An operator vouches for what is below it.
        (5, Some(kept(5, 0)), Done(()), None),
        // It went back, and nobody was refused.
        (5, Some(kept(4, SEEN)), Rewound(5), mark(5, ORIGIN)),
        (5, Some(kept(4, 0)), Rewound(5), mark(5, ORIGIN)),
        // It was made anew.
        (5, Some(kept(6, 9)), Rewound(6), mark(6, ORIGIN)),
        (5, Some(kept(4, 9)), Rewound(5), mark(5, ORIGIN)),
        (5, another(6, 9), Rewound(6), mark(6, ORIGIN)),
        (5, marked(6, 9), Rewound(6), None),
        (5, marked(4, 9), Rewound(5), mark(5, ORIGIN)),
        // Its engine is another one: nobody was answered since.
        (5, another(4, SEEN), Lost(5), mark(5, SEEN)),
        (5, another(6, SEEN), Lost(6), None),
        (5, marked(4, SEEN), Lost(5), mark(5, SEEN)),
        (5, marked(5, SEEN), Lost(5), None),
        // It is gone.
        (5, None, Lost(5), mark(5, SEEN)),
        (2, None, Lost(2), mark(2, SEEN)),
        // Nothing was reserved, and nobody is answered before somebody says where it begins.
        (1, None, Lost(0), None),
        (0, None, Lost(0), None),
        (1, Some(kept(6, 9)), Done(()), None),
        (0, another(6, 9), Lost(6), None),
    ] {
        let view = view(there);
        let decided = parts(check(&view, &caller(seen)));
        assert_eq!(decided, (answer, after), "{seen}, {view:?}");
    }
}

#[test]
fn numbers_are_reserved_from_the_next_one_on() {
    let reserved = |seen, there, count| {
        let (answer, after) = parts(reserve(&view(there), &caller(seen), count));
        let answer = match answer {
            Answer::Done(segment) => Some((segment.first(), segment.end())),
            _ => None,
        };
        (answer, after.map(|(next, origin, _)| (next, origin)))
    };
    assert_eq!(
        reserved(5, Some(kept(6, SEEN)), 10),
        (Some((6, 16)), Some((16, SEEN)))
    );
    assert_eq!(
        reserved(0, Some(kept(1, 9)), 10),
        (Some((1, 11)), Some((11, 9)))
    );
    assert_eq!(reserved(0, None, 10), (None, None));
    assert_eq!(
        reserved(5, Some(kept(4, SEEN)), 10),
        (None, Some((5, ORIGIN)))
    );
    assert_eq!(reserved(5, Some(kept(6, SEEN)), 0), (None, None));
}

/// Its tail is kept.
#[test]
fn a_counter_is_declared_new_once() {
    let created = |seen, there| parts(create(&view(there), &caller(seen)));
    let vouched = FINGERPRINT.to_owned();
    let begun = (Answer::Done(()), Some((1, ORIGIN, vouched)));
    assert_eq!(created(0, None), begun);
    assert_eq!(created(1, None), begun);
    assert_eq!(created(0, Some(kept(1, 9))), (Answer::Done(()), None));
    assert_eq!(created(0, Some(kept(2, 9))), (Answer::Invalid, None));
    for next in [1, 2] {
        let another = Some(record(next, 9, "another"));
        assert_eq!(created(0, another), (Answer::Lost(next), None));
    }
    assert_eq!(created(5, None).0, Answer::Lost(5));
}

#[test]
fn a_counter_goes_on_at_the_highest_number_that_is_known() {
    for (number, there, seen, next) in [(9, 8, 7, 9), (7, 9, 8, 9), (8, 7, 9, 9)] {
        let (answer, after) = parts(resume(
            &view(Some(kept(there, SEEN))),
            &caller(seen),
            number,
        ));
        assert_eq!(answer, Answer::Done(next));
        assert_eq!(after, Some((next, 0, FINGERPRINT.to_owned())));
    }
    let begun = parts(resume(&view(None), &caller(0), 7));
    assert_eq!(
        begun,
        (Answer::Done(7), Some((7, 0, FINGERPRINT.to_owned())))
    );
    let refused = parts(resume(&view(None), &caller(0), 0));
    assert_eq!(refused, (Answer::Invalid, None));
}
