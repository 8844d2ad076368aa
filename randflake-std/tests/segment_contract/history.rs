//! Random histories of reservations, lost replies, restarts and losses.

use randflake_std::segment::CounterError;
use randflake_std::segment::Segment;

use super::{Counters, namespace};

const CLIENTS: usize = 3;
const LONGEST: u64 = 50;

pub(crate) fn random_histories_reserve_no_number_twice(backend: &impl Counters) {
    let namespace = namespace("orders");
    let mut clients: Vec<_> = (0..CLIENTS)
        .map(|_| backend.open_counter(&namespace))
        .collect();
    let mut random = Random(1);
    let mut reserved = Vec::<Segment>::new();
    let mut is_lost = false;
    for _ in 0..backend.counter_steps() {
        let client = random.below(CLIENTS as u64);
        let store = &mut clients[usize::try_from(client).unwrap()];
        match random.below(100) {
            0..85 => match store.reserve(1 + random.below(LONGEST)) {
                Ok(segment) => {
                    assert!(!is_lost, "it went on by itself");
                    reserved.push(segment);
                }
                Err(CounterError::Lost { .. }) => assert!(is_lost),
                Err(error) => panic!("{error:?}"),
            },
            85..93 => *store = backend.open_counter(&namespace),
            93..98 if is_lost => {
                let ends = reserved.iter().map(Segment::end);
                store.resume(ends.max().unwrap_or(1)).unwrap();
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

/// `SplitMix64`: the same history each time.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % end
    }
}
