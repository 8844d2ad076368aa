//! Random histories of reservations, lost replies, restarts and losses.

use fastrand::Rng;
use randflake_std::segment::{CounterError, Segment};

use super::{Counters, namespace};

const CLIENTS: usize = 3;
const LONGEST: u64 = 50;

pub(crate) fn random_histories_reserve_no_number_twice(backend: &impl Counters) {
    let namespace = namespace("orders");
    let mut clients: Vec<_> = (0..CLIENTS)
        .map(|_| backend.open_counter(&namespace))
        .collect();
    let mut random = Rng::with_seed(1);
    let mut reserved = Vec::<Segment>::new();
    let mut is_lost = false;
    for _ in 0..backend.counter_steps() {
        let client = random.u64(..CLIENTS as u64);
        let store = &mut clients[usize::try_from(client).unwrap()];
        match random.u64(..100) {
            0..85 => match store.reserve(1 + random.u64(..LONGEST)) {
                Ok(segment) => {
                    assert!(!is_lost, "it went on by itself");
                    reserved.push(segment);
                }
                Err(CounterError::Lost { .. } | CounterError::Rewound { .. }) => assert!(is_lost),
                Err(error) => panic!("{error:?}"),
            },
            85..93 => *store = backend.open_counter(&namespace),
            93..98 if is_lost => {
                let ends = reserved.iter().map(Segment::end);
                store.resume_counter(ends.max().unwrap_or(1)).unwrap();
                is_lost = false;
            }
            98 => {
                backend.lose_counters();
                is_lost = true;
            }
            _ => {}
        }
    }
    assert!(reserved.len() > backend.counter_steps() / 10);
    reserved.sort_unstable_by_key(Segment::first);
    for pair in reserved.windows(2) {
        assert!(pair[0].end() <= pair[1].first(), "{pair:?}");
    }
}
