//! All ids of hours, in little memory.

use std::collections::HashMap;
use std::io::{BufReader, Read};
use std::sync::{Mutex, MutexGuard, PoisonError};

const SEQUENCE_BITS: u32 = 17;
/// Below the tick in an id: sequence and node id.
const TICK_SHIFT: u32 = 22;
const WORDS: usize = 1 << (SEQUENCE_BITS - 6);
/// Ticks of a second.
const KEPT_TICKS: u64 = 120;

/// Which ids have come: a bit for each sequence of a tick and node id, for two minutes. Then it is closed, and
/// whatever of it comes later is an error too: nobody here is suspended.
#[derive(Debug, Default)]
pub(crate) struct Record(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    issued: u64,
    newest_tick: u64,
    closed_until: u64,
    /// By tick and node id.
    seen: HashMap<u64, Box<[u64]>>,
    problem: Option<String>,
}

impl Record {
    /// Takes ids of eight bytes until the end; what was cut short was not received.
    pub(crate) fn read(&self, ids: impl Read) {
        let mut ids = BufReader::with_capacity(1 << 16, ids);
        loop {
            let mut batch = Vec::with_capacity(1 << 13);
            let read = ids.by_ref().take(1 << 13).read_to_end(&mut batch).unwrap();
            let mut state = self.state();
            for id in batch.as_chunks().0 {
                state.insert(u64::from_le_bytes(*id));
            }
            if read < 1 << 13 {
                return;
            }
        }
    }

    pub(crate) fn issued(&self) -> u64 {
        self.state().issued
    }

    /// Demands that no id has come twice, and closes what is old.
    pub(crate) fn check(&self) {
        let mut state = self.state();
        if let Some(problem) = &state.problem {
            panic!("{problem}");
        }
        state.close();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn insert(&mut self, id: u64) {
        let (place, sequence) = (id >> SEQUENCE_BITS, id & ((1 << SEQUENCE_BITS) - 1));
        let tick = tick_of(place);
        self.issued += 1;
        self.newest_tick = self.newest_tick.max(tick);
        let bits = self
            .seen
            .entry(place)
            .or_insert_with(|| vec![0; WORDS].into());
        let word = &mut bits[usize::try_from(sequence / 64).unwrap()];
        let bit = 1 << (sequence % 64);
        if *word & bit != 0 {
            self.problem = Some(format!("{id} was issued twice"));
        } else if tick < self.closed_until {
            self.problem = Some(format!("{id} came {KEPT_TICKS} s after its time"));
        }
        *word |= bit;
    }

    fn close(&mut self) {
        let until = self.newest_tick.saturating_sub(KEPT_TICKS);
        self.closed_until = until;
        self.seen.retain(|place, _| tick_of(*place) >= until);
    }
}

/// Of a tick and node id.
fn tick_of(place: u64) -> u64 {
    place >> (TICK_SHIFT - SEQUENCE_BITS)
}

/// So that a soak that finds nothing says something.
pub(crate) fn sees_what_repeats() {
    let problem = |ids: &[(u64, u64)]| {
        let mut state = State::default();
        for &(tick, sequence) in ids {
            state.insert(tick << TICK_SHIFT | 3 << SEQUENCE_BITS | sequence);
            state.close();
        }
        state.problem
    };
    assert_eq!(
        problem(&[(500, 0), (500, 1), (501, 0), (500, 131_071)]),
        None
    );
    let twice = problem(&[(500, 1), (501, 0), (500, 1)]);
    assert!(twice.unwrap().contains("twice"));
    let late = problem(&[(500, 1), (621, 0), (500, 2)]);
    assert!(late.unwrap().contains("after its time"));
}
