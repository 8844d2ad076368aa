//! Counters, and what a process has seen of them.

use randflake_core::segment::MAX_NUMBER;

use super::*;
use crate::rules::counter::{
    CounterCaller, CounterDecision, CounterRefusal, ObservedCounter, Reservation, check, create,
    reserve, resume,
};
use crate::rules::{CounterRecord, CounterView};
use crate::types::{CounterTerms, DatedNumbers, MAX_SKEW, Period};

const FINGERPRINT: &str = "run:42";
const SEEN: u64 = 8;
/// 2026-11-28T12:00:00Z
const NOW: Duration = Duration::from_secs(1_795_867_200);

fn record(next: u64, counter_nonce: u64, vouched: &str) -> CounterRecord {
    CounterRecord {
        next,
        terms: CounterTerms::default(),
        counter_nonce,
        vouched: vouched.to_owned(),
        nonce: 50,
        form: Form::default(),
    }
}

/// As it was vouched for on this engine.
fn kept(next: u64, counter_nonce: u64) -> CounterRecord {
    record(next, counter_nonce, FINGERPRINT)
}

fn view(record: Option<CounterRecord>) -> CounterView {
    let fingerprint = FINGERPRINT.to_owned();
    CounterView {
        record,
        fingerprint,
        now: NOW,
    }
}

/// A process that has seen a counter of an counter nonce at a number; 0 is nothing.
fn caller(next: u64) -> CounterCaller {
    let mut seen = ObservedCounter::default();
    seen.note(&record(next, SEEN, FINGERPRINT));
    CounterCaller {
        seen,
        terms: None,
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

/// The answer, and the next number, counter nonce and voucher that are written.
fn parts<T>(decision: CounterDecision<T>) -> (Answer<T>, Option<(u64, u64, String)>) {
    let answer = match decision.answer {
        Ok(done) => Answer::Done(done),
        Err(CounterRefusal::Lost { reached }) => Answer::Lost(reached),
        Err(CounterRefusal::Rewound { reached }) => Answer::Rewound(reached),
        Err(CounterRefusal::Invalid(_)) => Answer::Invalid,
        Err(other) => panic!("{other:?}"),
    };
    let after = decision.after.map(|after| {
        assert_eq!(after.nonce, NONCE);
        (after.next, after.counter_nonce, after.vouched)
    });
    (answer, after)
}

#[test]
fn a_process_notices_that_a_counter_went_back() {
    use Answer::{Done, Lost, Rewound};

    let another = |next, counter_nonce| Some(record(next, counter_nonce, "another"));
    let marked = |next, counter_nonce| Some(record(next, counter_nonce, ""));
    let mark = |next, counter_nonce| Some((next, counter_nonce, String::new()));
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
            Answer::Done(Reservation { segment, .. }) => Some((segment.first(), segment.end())),
            _ => None,
        };
        (
            answer,
            after.map(|(next, counter_nonce, _)| (next, counter_nonce)),
        )
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
fn counter_resumes_at_the_highest_known_number() {
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

fn stepped() -> CounterTerms {
    CounterTerms::stepped(2, 5).unwrap()
}

fn daily(digits: u8) -> CounterTerms {
    CounterTerms::dated(DatedNumbers::new(Period::Day, digits).unwrap())
}

fn counts(terms: CounterTerms, next: u64) -> CounterView {
    view(Some(CounterRecord {
        terms,
        ..kept(next, SEEN)
    }))
}

/// A client that says how the counter has to count.
fn names(terms: CounterTerms) -> CounterCaller {
    CounterCaller {
        terms: Some(terms),
        ..caller(0)
    }
}

fn at(view: CounterView, now: Duration) -> CounterView {
    CounterView { now, ..view }
}

fn reserve_at(view: &CounterView, count: u64) -> Result<(u64, u64), CounterRefusal> {
    let decision = reserve(view, &caller(0), count);
    let after = decision.after.map(|after| (after.next, after.terms));
    match decision.answer {
        Ok(Reservation { segment, terms, .. }) => {
            assert_eq!(after, Some((segment.end(), terms)));
            Ok((segment.first(), segment.end()))
        }
        Err(refusal) => {
            assert_eq!(after, None, "a refusal consumes nothing");
            Err(refusal)
        }
    }
}

#[test]
fn counter_with_steps_resumes_at_its_own_numbers() {
    let created = create(&view(None), &names(stepped())).after.unwrap();
    assert_eq!((created.next, created.terms), (2, stepped()));
    assert_eq!(reserve_at(&counts(stepped(), 7), 3), Ok((7, 22)));
    for (number, next) in [(1, 2), (2, 2), (3, 7), (7, 7), (22, 22), (23, 27)] {
        let resumed = resume(&view(None), &names(stepped()), number);
        let after = resumed.after.unwrap();
        assert_eq!((after.next, after.terms), (next, stepped()), "{number}");
        assert_eq!(resumed.answer, Ok(next));
    }
    let far = CounterTerms::stepped(1, MAX_NUMBER - 1).unwrap();
    let last = resume(&view(None), &names(far), MAX_NUMBER).answer;
    assert_eq!(last, Ok(MAX_NUMBER));
    let far = CounterTerms::stepped(2, MAX_NUMBER - 1).unwrap();
    let behind = resume(&view(None), &names(far), 3);
    assert!(matches!(behind.answer, Ok(number) if number == MAX_NUMBER + 1));
    let one = CounterTerms::stepped(MAX_NUMBER - 1, 1).unwrap();
    assert_eq!(
        reserve_at(&counts(one, MAX_NUMBER - 1), 2),
        Ok((MAX_NUMBER - 1, MAX_NUMBER + 1))
    );
}

/// The record of a counter that is gone is made with what the process has seen, and not with what
/// it says.
#[test]
fn terms_outlive_a_loss() {
    let mut gone = caller(0);
    gone.seen.note(&CounterRecord {
        terms: stepped(),
        ..kept(12, SEEN)
    });
    let mark = check(&view(None), &gone).after.unwrap();
    assert_eq!((mark.next, mark.terms, &*mark.vouched), (12, stepped(), ""));
    // Of one that stood at its first number nothing repeats.
    let mut gone = caller(0);
    gone.seen.note(&CounterRecord {
        terms: stepped(),
        ..kept(2, SEEN)
    });
    assert_eq!(check(&view(None), &gone).after, None);
    let resumed = resume(&counts(stepped(), 12), &caller(0), 13)
        .after
        .unwrap();
    assert_eq!((resumed.next, resumed.terms), (17, stepped()));
}

#[test]
fn other_terms_are_refused_and_nothing_is_written() {
    let plain = CounterTerms::default();
    for (kept, named) in [
        (plain, stepped()),
        (stepped(), plain),
        (stepped(), CounterTerms::stepped(3, 5).unwrap()),
        (daily(6), daily(5)),
        (daily(6), plain),
    ] {
        let view = counts(kept, 20_261_128_000_007);
        let caller = names(named);
        let refusal = CounterRefusal::OtherTerms { kept, named };
        let unchanged = |after: Option<CounterRecord>| assert_eq!(after, None);
        let CounterDecision { after, answer } = reserve(&view, &caller, 1);
        unchanged(after);
        assert_eq!(answer, Err(refusal.clone()));
        for CounterDecision { after, answer } in [check(&view, &caller), create(&view, &caller)] {
            unchanged(after);
            assert_eq!(answer, Err(refusal.clone()));
        }
        let CounterDecision { after, answer } = resume(&view, &caller, 20_261_128_000_009);
        unchanged(after);
        assert_eq!(answer, Err(refusal));
        // Nobody has a number yet: then they are said again.
        let unused = create(&counts(kept, kept.first()), &caller).after.unwrap();
        assert_eq!((unused.next, unused.terms), (named.first(), named));
        assert_eq!(
            create(&counts(kept, kept.first()), &names(kept)).after,
            None
        );
    }
}

#[test]
fn numbers_restart_each_day_by_the_stores_clock() {
    let day = Duration::from_secs(86_400);
    let before = |time| NOW.saturating_sub(time);
    let next = 20_261_128_000_007;
    for (now, next, reserved) in [
        (NOW, 1, (20_261_128_000_001, 20_261_128_000_003)),
        (NOW, next, (next, next + 2)),
        (
            NOW + day / 2,
            next,
            (20_261_129_000_001, 20_261_129_000_003),
        ),
        (
            NOW + day * 3,
            next,
            (20_261_201_000_001, 20_261_201_000_003),
        ),
        // A clock that is some seconds behind, as another server's is, goes on.
        (before(day / 2 + MAX_SKEW), next, (next, next + 2)),
    ] {
        assert_eq!(
            reserve_at(&at(counts(daily(6), next), now), 2),
            Ok(reserved)
        );
    }
    let lasts = reserve(&counts(daily(6), next), &caller(0), 1).answer;
    assert_eq!(lasts.unwrap().lasts, Some(day / 2));
    // It was ahead: dates never go back.
    let behind = at(counts(daily(6), next), before(day));
    let Err(CounterRefusal::Ahead { passes_in, message }) = reserve_at(&behind, 1) else {
        panic!("it went back");
    };
    assert_eq!(passes_in, day / 2);
    for part in [
        "numbers of 20261128",
        "shows 2026-11-27T12:00:00Z",
        "until 2026-11-28T00:00:00Z (in 12h)",
        "go on at 20261128-000007",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    for unset in [Duration::ZERO, Duration::MAX] {
        let refused = reserve_at(&at(counts(daily(6), next), unset), 1);
        assert!(
            matches!(refused, Err(CounterRefusal::ClockNotSet(_))),
            "{refused:?}"
        );
    }
}

#[test]
fn a_day_that_has_used_its_digits_says_so() {
    let next = 2_026_112_898;
    assert_eq!(reserve_at(&counts(daily(2), next), 2), Ok((next, next + 2)));
    for (next, count, left) in [(next, 3, 2), (next + 2, 1, 0), (1, 100, 99)] {
        let refused = reserve_at(&counts(daily(2), next), count);
        let Err(CounterRefusal::Full {
            left: found,
            passes_in,
            message,
        }) = refused
        else {
            panic!("{refused:?}");
        };
        assert_eq!((found, passes_in.as_secs()), (left, 43_200));
        assert!(
            message.contains(&format!("20261128 has {left} of its 99 numbers left")),
            "{message}"
        );
        assert!(
            message.contains("the last of which is 20261128-99."),
            "{message}"
        );
    }
    // It stands at 20261129-00 then, which is no number of the next day.
    let tomorrow = at(
        counts(daily(2), next + 2),
        NOW + Duration::from_secs(43_200),
    );
    assert_eq!(
        reserve_at(&tomorrow, 99),
        Ok((2_026_112_901, 2_026_113_000))
    );
}

#[test]
fn a_dated_counter_goes_on_at_its_own_numbers_alone() {
    let resumed = |number| {
        let there = counts(daily(6), 20_261_128_000_007);
        resume(&there, &caller(0), number).answer
    };
    assert_eq!(resumed(20_261_128_000_100), Ok(20_261_128_000_100));
    assert_eq!(resumed(20_261_127_000_100), Ok(20_261_128_000_007));
    for (number, part) in [
        (124, "they are like 20261128-000001 (or 20261128000001)"),
        (20_261_128_000_000, "they are like"),
        (20_261_131_000_001, "they are like"),
        (
            20_271_128_000_001,
            "20271128-000001 is a number of a day that has not begun",
        ),
        (0, "1 to "),
    ] {
        let Err(CounterRefusal::Invalid(said)) = resumed(number) else {
            panic!("{number} was taken");
        };
        assert!(said.contains(part), "{said}");
    }
}
