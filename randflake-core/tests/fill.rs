//! Ids in bulk: the same ids as one at a time, as many as there are, nothing lost.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::sync::atomic::{AtomicU32, AtomicU64};
use std::collections::HashSet;

use proptest::prelude::*;
use randflake_core::internal::first_ready_within;
use randflake_core::{
    AtomicWord, Codec, GenerateError, Generator, Id, Lease, ManualClock, Plain, Randflake,
    Sequencer, Snowflake, Sonyflake, Sparx64,
};

const PER_TICK: usize = 4096;
/// Ids of one buffer.
const MOST: usize = if cfg!(miri) { 100 } else { 3_000 };
const NONE: Id = Id::from_u64(0);

fn clock() -> ManualClock {
    ManualClock::at_unix_ms(1_288_834_974_657)
}

fn generator<W: AtomicWord>(clock: &ManualClock) -> Generator<Snowflake, W, &ManualClock> {
    Generator::new(Lease::new(Snowflake, 7, 0, 100).unwrap(), clock, Plain).unwrap()
}

fn same_as_one_at_a_time<W: AtomicWord>(lengths: &[usize]) {
    let clock = clock();
    let (one_by_one, in_bulk) = (generator::<W>(&clock), generator::<W>(&clock));
    for &length in lengths {
        let mut ids = vec![NONE; length];
        match in_bulk.fill(&mut ids) {
            Ok(filled) => {
                let expected: Vec<_> = (0..filled)
                    .map(|_| one_by_one.generate().unwrap())
                    .collect();
                assert_eq!(ids[..filled], expected);
                assert!(
                    ids[filled..].iter().all(|&id| id == NONE),
                    "the rest is left alone"
                );
                if filled < length {
                    assert_eq!(in_bulk.generate(), one_by_one.generate());
                    assert!(in_bulk.generate().is_err(), "there were no more to be had");
                }
            }
            Err(error) => {
                assert_eq!(one_by_one.generate(), Err(error));
                clock.advance_ms(1);
            }
        }
    }
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: if cfg!(miri) { 1 } else { 256 },
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn bulk_is_the_same_as_one_at_a_time(lengths in prop::collection::vec(0..MOST, 1..20)) {
        same_as_one_at_a_time::<AtomicU64>(&lengths);
        same_as_one_at_a_time::<AtomicU32>(&lengths);
    }
}

#[test]
fn encrypted_ids_come_in_the_order_of_their_sequences() {
    let clock = ManualClock::at_unix_ms(1_730_000_000_000);
    let lease = Lease::new(Randflake, 131_071, 0, 10).unwrap();
    let cipher = Sparx64::new(&[7; 16]);
    let generator = Generator::<Randflake, AtomicU64, _>::new(lease, &clock, cipher).unwrap();
    let mut ids = vec![NONE; 1000];
    assert_eq!(generator.fill(&mut ids), Ok(1000));
    for (sequence, id) in (0..).zip(ids) {
        let parts = generator.inspect(id);
        assert_eq!(
            (parts.tick, parts.node_id, parts.sequence),
            (0, 131_071, sequence)
        );
    }
}

#[test]
fn sequence_above_the_node_id_does_not_carry() {
    let clock = ManualClock::at_unix_ms(1_409_529_600_000);
    let lease = Lease::new(Sonyflake, 65_535, 0, 10).unwrap();
    let generator = Generator::<Sonyflake, AtomicU64, _>::new(lease, &clock, Plain).unwrap();
    let mut ids = [NONE; 300];
    assert_eq!(generator.fill(&mut ids), Ok(256));
    assert!(
        ids[..256]
            .iter()
            .all(|&id| generator.inspect(id).node_id == 65_535)
    );
    assert_eq!(
        generator.fill(&mut ids),
        Err(GenerateError::SequenceExhausted { retry_in_ms: 10 })
    );
}

#[test]
#[cfg_attr(miri, ignore = "uses up several ticks of 4,096 ids")]
fn a_tolerance_lets_a_buffer_cross_ticks() {
    let clock = clock();
    let generator = generator::<AtomicU64>(&clock).with_tolerance(2);
    let mut ids = vec![NONE; 4 * PER_TICK];
    assert_eq!(generator.fill(&mut ids), Ok(3 * PER_TICK));
    assert_eq!(generator.inspect(ids[3 * PER_TICK - 1]).tick, 2);
    assert_eq!(
        ids[..3 * PER_TICK].iter().collect::<HashSet<_>>().len(),
        3 * PER_TICK
    );
}

#[test]
fn an_empty_buffer_consumes_nothing_and_is_no_error() {
    let clock = clock();
    let generator = generator::<AtomicU64>(&clock);
    generator.close();
    assert_eq!(generator.fill(&mut []), Ok(0));
    assert_eq!(generator.fill(&mut [NONE]), Err(GenerateError::Closed));
}

#[test]
#[cfg_attr(miri, ignore = "uses up several ticks of 4,096 ids")]
fn a_pool_fills_from_one_member_after_another() {
    let clock = clock();
    let sequencer = |node_id| {
        Sequencer::<Snowflake, AtomicU64>::new(Lease::new(Snowflake, node_id, 0, 10).unwrap())
            .unwrap()
    };
    let (members, cursor) = ([sequencer(1), sequencer(2)], AtomicU64::new(0));
    let codec = Codec::new(Snowflake, Plain);
    let fill = |ids: &mut [Id]| {
        codec.fill_with(ids, |most| {
            first_ready_within(&members, &cursor, 0, |member, ticks| {
                member.take_run(most, &clock, ticks)
            })
        })
    };
    let mut ids = vec![NONE; 3 * PER_TICK];
    assert_eq!(fill(&mut ids[..PER_TICK / 2]), Ok(PER_TICK / 2));
    assert_eq!(fill(&mut ids[PER_TICK / 2..]), Ok(3 * PER_TICK / 2));
    assert_eq!(
        ids[..2 * PER_TICK].iter().collect::<HashSet<_>>().len(),
        2 * PER_TICK
    );
    let nodes: HashSet<_> = ids[..2 * PER_TICK]
        .iter()
        .map(|&id| codec.inspect(id).node_id)
        .collect();
    assert_eq!(nodes, HashSet::from([1, 2]));
    assert_eq!(
        fill(&mut ids),
        Err(GenerateError::SequenceExhausted { retry_in_ms: 1 })
    );
}
