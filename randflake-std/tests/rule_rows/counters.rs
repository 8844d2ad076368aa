//! Counters.

use core::time::Duration;

use randflake_std::rules::counter::{
    CounterCaller, CounterDecision, CounterRefusal, SeenCounter, check, create, reserve, resume,
};
use randflake_std::rules::{CounterRecord, CounterView, Form};
use randflake_std::segment::CounterTerms;

use crate::inputs::number;

const INPUTS: [&str; 9] = [
    "counter_there",
    "counter_next",
    "counter_origin",
    "counter_vouched",
    "counter_fingerprint",
    "counter_seen_next",
    "counter_seen_origin",
    "counter_count",
    "counter_number",
];
const OPERATIONS: [&str; 4] = ["reserve", "compare", "declare_new", "resume"];
const COLUMNS: [&str; 6] = ["code", "is_written", "next", "origin", "vouched", "nonce"];
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
    let position = |random: &mut fastrand::Rng| match random.u8(..10) {
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
        position(random),
        position(random),
    ];
    let [
        there,
        next,
        origin,
        vouched,
        fingerprint,
        seen_next,
        seen_origin,
        count,
        resumed,
    ] = inputs;
    let record = |next, origin, vouched: i64| CounterRecord {
        next: number(next),
        terms: CounterTerms::default(),
        origin: number(origin),
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
        record: (there == 1).then(|| record(next, origin, vouched)),
        fingerprint: fingerprint.to_string(),
        now: Duration::ZERO,
    };
    let mut seen = SeenCounter::default();
    seen.note(&record(seen_next, seen_origin, 0));
    let caller = CounterCaller {
        seen,
        terms: None,
        fresh: FRESH,
    };
    let mut row = inputs.to_vec();
    row.extend(values(&reserve(&view, &caller, number(count))));
    row.extend(values(&check(&view, &caller)));
    row.extend(values(&create(&view, &caller)));
    row.extend(values(&resume(&view, &caller, number(resumed))));
    row
}

fn values<T>(decision: &CounterDecision<T>) -> [i64; 6] {
    let code = match &decision.answer {
        Ok(_) => 0,
        Err(CounterRefusal::Lost { .. }) => 1,
        Err(CounterRefusal::Rewound { .. }) => 2,
        Err(CounterRefusal::Invalid(_)) => 3,
        Err(other) => panic!("{other:?}"),
    };
    let signed = |value: u64| i64::try_from(value).unwrap();
    let Some(after) = &decision.after else {
        return [code, 0, 0, 0, 0, 0];
    };
    [
        code,
        1,
        signed(after.next),
        signed(after.origin),
        after.vouched.parse().unwrap_or(-1),
        signed(after.nonce),
    ]
}
