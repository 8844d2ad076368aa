//! Counters.

use core::time::Duration;

use randflake_lease::unstable::rules::counter::{
    CounterCaller, CounterDecision, CounterRefusal, ObservedCounter, check, create, reserve, resume,
};
use randflake_lease::unstable::rules::{CounterRecord, CounterView, Form};
use randflake_lease::{CounterTerms, DatedNumbers, Period};

use crate::inputs::number;

const INPUTS: [&str; 14] = [
    "counter_there",
    "counter_next",
    "counter_origin",
    "counter_vouched",
    "counter_fingerprint",
    "counter_seen_next",
    "counter_seen_origin",
    "counter_count",
    "counter_number",
    "counter_first",
    "counter_step",
    "counter_named",
    "counter_dated",
    "counter_today",
];
const OPERATIONS: [&str; 4] = ["reserve", "compare", "declare_new", "resume"];
const COLUMNS: [&str; 7] = [
    "code",
    "is_written",
    "next",
    "origin",
    "vouched",
    "first",
    "nonce",
];
/// Noon of a day, and the digits of its date.
const NOON: Duration = Duration::from_secs(1_795_867_200);
const TODAY: i64 = 20_261_128;
const FRESH: (u64, u64) = (90, 91);

pub(crate) fn names() -> impl Iterator<Item = String> {
    let names = OPERATIONS.into_iter().flat_map(|operation| {
        COLUMNS
            .iter()
            .map(move |column| format!("counter_{operation}.{column}"))
    });
    INPUTS.iter().map(ToString::to_string).chain(names)
}

pub(crate) fn row(random: &mut fastrand::Rng) -> Vec<i64> {
    let is_dated = random.u8(..3) == 0;
    let position = |random: &mut fastrand::Rng| match random.u8(..10) {
        // Yesterday's, today's and tomorrow's.
        _ if is_dated && random.u8(..8) > 0 => (TODAY - 1) * 10 + random.i64(0..26),
        0 => i64::MAX - random.i64(0..4),
        _ => random.i64(0..6),
    };
    let count = |random: &mut fastrand::Rng| match random.u8(..10) {
        0 => i64::MAX - random.i64(0..4),
        _ => random.i64(0..6),
    };
    let inputs = [
        i64::from(random.u8(..5) > 0),
        position(random),
        random.i64(0..3),
        random.i64(-1..2),
        random.i64(0..2),
        position(random),
        random.i64(0..3),
        count(random),
        position(random),
        if is_dated { 1 } else { random.i64(1..4) },
        if is_dated { 1 } else { random.i64(1..4) },
        random.i64(0..3),
        i64::from(is_dated),
        TODAY,
    ];
    let [
        there,
        next,
        counter_nonce,
        vouched,
        fingerprint,
        seen_next,
        seen_origin,
        count,
        resumed,
        first,
        step,
        named,
        _,
        _,
    ] = inputs;
    let terms = if is_dated {
        CounterTerms::dated(DatedNumbers::new(Period::Day, 1).unwrap())
    } else {
        CounterTerms::stepped(number(first), number(step)).unwrap()
    };
    let record = |next, counter_nonce, vouched: i64| CounterRecord {
        next: number(next),
        terms,
        counter_nonce: number(counter_nonce),
        // The mark of a loss.
        vouched: if vouched == -1 {
            String::new()
        } else {
            vouched.to_string()
        },
        nonce: 0,
        form: Form::default(),
    };
    let view = CounterView {
        record: (there == 1).then(|| record(next, counter_nonce, vouched)),
        fingerprint: fingerprint.to_string(),
        now: NOON,
    };
    let mut seen = ObservedCounter::default();
    seen.note(&record(seen_next, seen_origin, 0));
    let caller = CounterCaller {
        seen,
        terms: match named {
            0 => None,
            1 => Some(terms),
            _ => Some(CounterTerms::stepped(number(first + 1), number(step + 1)).unwrap()),
        },
        fresh: FRESH,
    };
    let mut row = inputs.to_vec();
    row.extend(values(&reserve(&view, &caller, number(count))));
    row.extend(values(&check(&view, &caller)));
    row.extend(values(&create(&view, &caller)));
    row.extend(values(&resume(&view, &caller, number(resumed))));
    row
}

fn values<T>(decision: &CounterDecision<T>) -> [i64; 7] {
    let code = match &decision.answer {
        Ok(_) => 0,
        Err(CounterRefusal::Lost { .. }) => 1,
        Err(CounterRefusal::Rewound { .. }) => 2,
        Err(CounterRefusal::Invalid(_)) => 3,
        Err(CounterRefusal::OtherTerms { .. }) => 4,
        Err(CounterRefusal::Full { .. }) => 5,
        Err(CounterRefusal::Ahead { .. }) => 6,
        Err(CounterRefusal::ClockNotSet(said)) => panic!("{said}"),
    };
    let signed = |value: u64| i64::try_from(value).unwrap();
    let Some(after) = &decision.after else {
        return [code, 0, 0, 0, 0, 0, 0];
    };
    [
        code,
        1,
        signed(after.next),
        signed(after.counter_nonce),
        after.vouched.parse().unwrap_or(-1),
        signed(after.terms.first()),
        signed(after.nonce),
    ]
}
