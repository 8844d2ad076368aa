//! Random histories of clock jumps, ids, extensions and closes, beside a generator that is written
//! down as plainly as possible: no position is repeated, none is outside the lease, none is lost.

use core::sync::atomic::{AtomicU32, AtomicU64};
use std::collections::HashSet;

use proptest::prelude::*;
use randflake_core::{
    AtomicWord, Codec, Field, GenerateError, Layout, LayoutFields, LayoutSpec, Lease, LocalWord,
    ManualClock, Parts, Plain, Sequencer,
};

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 1_024 },
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

const EPOCH_UNIX_MS: u64 = 1_000;
const MAX_TICK: u64 = 63;
const NODE_ID: u32 = 2;

/// Small layouts: `$sequence` bits of sequence, ticks of `$tick_ms`.
macro_rules! layout {
    ($name:ident, $sequence:literal, $tick_ms:literal) => {
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        struct $name;

        impl Layout for $name {
            type Permutation = Plain;
            const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields {
                timestamp: Field { bits: 6, shift: 2 },
                node_id: Field { bits: 2, shift: 0 },
                sequence: Field {
                    bits: $sequence,
                    shift: 8,
                },
                epoch_unix_ms: EPOCH_UNIX_MS,
                tick_ms: $tick_ms,
            });
        }
    };
}

layout!(NoSequence, 0, 1);
layout!(OneBit, 1, 3);
layout!(TwoBits, 2, 10);

#[derive(Clone, Copy, Debug)]
enum Step {
    SetClock(u64),
    Advance(u64),
    TurnBack(u64),
    Generate(usize),
    TakeRun(u32),
    Extend(u64),
    Close,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => (900..1_700_u64).prop_map(Step::SetClock),
        6 => (0..25_u64).prop_map(Step::Advance),
        3 => (0..25_u64).prop_map(Step::TurnBack),
        12 => (1..8_usize).prop_map(Step::Generate),
        4 => (0..6_u32).prop_map(Step::TakeRun),
        2 => (1..=MAX_TICK + 1).prop_map(Step::Extend),
        1 => Just(Step::Close),
    ]
}

/// The plain generator: the last issued (tick, sequence), and the rules as the docs say them.
struct Model {
    lease: core::ops::Range<u64>,
    last: Option<(u64, u32)>,
    closed: bool,
}

impl Model {
    fn generate<L: Layout>(&mut self, unix_ms: u64, tolerance: u32) -> Option<(u64, u32)> {
        let now = unix_ms.checked_sub(EPOCH_UNIX_MS)? / L::SPEC.tick_ms();
        let (tick, sequence) = match self.last {
            None => (now.max(self.lease.start), 0),
            Some((tick, _)) if now > tick => (now, 0),
            Some((tick, sequence)) if sequence == L::SPEC.max_sequence() => (tick + 1, 0),
            Some((tick, sequence)) => (tick, sequence + 1),
        };
        let in_time = tick <= now + u64::from(tolerance);
        if self.closed || !in_time || !self.lease.contains(&tick) {
            return None;
        }
        self.last = Some((tick, sequence));
        self.last
    }

    fn extend<L: Layout>(&mut self, unix_ms: u64, end: u64) -> bool {
        let end_unix_ms = EPOCH_UNIX_MS + self.lease.end * L::SPEC.tick_ms();
        let extended = !self.closed && unix_ms < end_unix_ms;
        if extended {
            self.lease.end = self.lease.end.max(end);
        }
        extended
    }

    fn close(&mut self) -> Option<u64> {
        let unused_from = self.last.map_or(self.lease.start, |(tick, _)| tick + 1);
        (!core::mem::replace(&mut self.closed, true)).then_some(unused_from)
    }
}

fn replay<L: Layout<Permutation = Plain>, W: AtomicWord>(
    (start, length): (u64, u64),
    tolerance: u32,
    steps: &[Step],
) -> Result<(), TestCaseError> {
    let end = (start + length).min(MAX_TICK + 1);
    let lease = |end| Lease::new(L::default(), NODE_ID, start, end);
    let sequencer = Sequencer::<L, W>::new(lease(end)?)?;
    let mut model = Model {
        lease: start..end,
        last: None,
        closed: false,
    };
    let mut unix_ms = EPOCH_UNIX_MS;
    let mut issued = HashSet::new();
    let codec = Codec::new(L::default(), Plain);
    for &step in steps {
        match step {
            Step::SetClock(ms) => unix_ms = ms,
            Step::Advance(ms) => unix_ms += ms,
            Step::TurnBack(ms) => unix_ms -= ms.min(unix_ms),
            Step::Generate(count) => {
                let clock = ManualClock::at_unix_ms(unix_ms);
                for _ in 0..count {
                    let result = sequencer.take(&clock, tolerance);
                    let parts = result.ok().map(|raw| codec.inspect(codec.id(raw)));
                    let expected =
                        model
                            .generate::<L>(unix_ms, tolerance)
                            .map(|(tick, sequence)| Parts {
                                tick,
                                node_id: NODE_ID,
                                sequence,
                            });
                    prop_assert_eq!(parts, expected);
                    if let Ok(raw) = result {
                        prop_assert!(issued.insert(raw), "{} twice", raw);
                    }
                    let closed = result == Err(GenerateError::Closed);
                    prop_assert_eq!(closed, model.closed);
                }
            }
            // As many as wanted, at least one, that the model issues in one tick.
            Step::TakeRun(most) => {
                let clock = ManualClock::at_unix_ms(unix_ms);
                let run = sequencer.take_run(most, &clock, tolerance);
                let expected = model.generate::<L>(unix_ms, tolerance);
                prop_assert_eq!(run.is_ok(), expected.is_some());
                if let (Ok(run), Some((tick, sequence))) = (run, expected) {
                    let left_in_tick = L::SPEC.max_sequence() - sequence;
                    let more = most.saturating_sub(1).min(left_in_tick);
                    prop_assert_eq!(run.len(), more as usize + 1);
                    let first = codec.inspect(codec.id(run.first()));
                    prop_assert_eq!((first.tick, first.sequence), (tick, sequence));
                    prop_assert!(issued.insert(run.first()));
                    for _ in 0..more {
                        let Some((tick, sequence)) = model.generate::<L>(unix_ms, tolerance) else {
                            return Err(TestCaseError::fail("the run left its tick"));
                        };
                        let next = Parts {
                            tick,
                            node_id: NODE_ID,
                            sequence,
                        };
                        let raw = codec.compose(next).map(|id| codec.raw(id))?;
                        prop_assert!(issued.insert(raw), "{} twice", raw);
                    }
                }
            }
            Step::Extend(end) if end > start => {
                let clock = ManualClock::at_unix_ms(unix_ms);
                let extended = sequencer.extend(lease(end)?, &clock).is_ok();
                prop_assert_eq!(extended, model.extend::<L>(unix_ms, end));
                prop_assert_eq!(sequencer.lease().end(), model.lease.end);
            }
            Step::Extend(_) => {}
            Step::Close => prop_assert_eq!(sequencer.close(), model.close()),
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_history_repeats_an_id_or_leaves_the_lease(
        lease in (0..60_u64, 1..20_u64),
        tolerance in prop_oneof![3 => Just(0), 2 => 1..4_u32, 1 => Just(u32::MAX)],
        steps in prop::collection::vec(any_step(), 1..60),
    ) {
        replay::<NoSequence, AtomicU64>(lease, tolerance, &steps)?;
        replay::<OneBit, AtomicU32>(lease, tolerance, &steps)?;
        replay::<OneBit, LocalWord<u64>>(lease, tolerance, &steps)?;
        replay::<TwoBits, LocalWord<u32>>(lease, tolerance, &steps)?;
    }
}
