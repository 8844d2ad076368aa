//! Lanes of one lease never issue the same id, whatever the clock does and in any order.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashSet;

use proptest::prelude::*;
use randflake_core::{
    Codec, ExtendError, GenerateError, Lane, Layout, Lease, LeaseError, ManualClock, Plain,
    Randflake, Snowflake, Sonyflake, Sparx64,
};

/// Which lane generates and how far the clock goes before, back or ahead.
type Moves = Vec<(usize, i64)>;

fn issue_distinct_ids<L: Layout<Permutation = Plain>, const N: usize>(moves: &Moves) {
    let begin = L::SPEC.unix_ms(1_000);
    let clock = ManualClock::at_unix_ms(begin);
    let lease = Lease::new(L::default(), 3, 1_000, 1_000 + 64).unwrap();
    let mut lanes: [_; N] = Lane::split(lease, &clock, Plain).unwrap();
    let codec = Codec::new(L::default(), Plain);
    let mut ids = HashSet::new();
    for (choice, ms) in moves {
        clock.step_ms(*ms);
        let lane = choice % N;
        if let Ok(id) = lanes[lane].generate() {
            assert!(ids.insert(id), "{id} twice");
            let parts = codec.inspect(id);
            assert_eq!(parts.node_id, 3);
            assert!((lease.start()..lease.end()).contains(&parts.tick));
            let share = (u64::from(L::SPEC.max_sequence()) + 1) / N as u64;
            assert_eq!(u64::from(parts.sequence) / share, lane as u64);
        }
    }
}

fn moves() -> impl Strategy<Value = Moves> {
    proptest::collection::vec(
        (0..256_usize, prop_oneof![8 => Just(0), 1 => -30..30_i64]),
        0..3_000,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn lanes_never_collide(moves in moves()) {
        issue_distinct_ids::<Snowflake, 1>(&moves);
        issue_distinct_ids::<Snowflake, 4>(&moves);
        issue_distinct_ids::<Sonyflake, 8>(&moves);
        // Two sequences in each lane, and one.
        issue_distinct_ids::<Sonyflake, 128>(&moves);
        issue_distinct_ids::<Sonyflake, 256>(&moves);
    }
}

#[test]
fn all_lanes_together_issue_each_sequence_of_a_tick() {
    let clock = ManualClock::at_unix_ms(Randflake::SPEC.unix_ms(50));
    let key = Sparx64::new(&[7; 16]);
    let codec = Codec::new(Randflake, key.clone());
    let lease = Lease::new(Randflake, 1, 50, 60).unwrap();
    let mut lanes: [_; 4] = Lane::split(lease, &clock, &key).unwrap();
    let mut sequences = Vec::new();
    for lane in &mut lanes {
        while let Ok(id) = lane.generate() {
            sequences.push(codec.inspect(id).sequence);
        }
        let refused = lane.generate();
        assert_eq!(
            refused,
            Err(GenerateError::SequenceExhausted { retry_in_ms: 1_000 })
        );
    }
    assert!(sequences.into_iter().eq(0..131_072));
    clock.advance_ms(10_000);
    assert_eq!(
        lanes[3].generate(),
        Err(GenerateError::LeaseOver { since_ms: 0 })
    );
    clock.step_ms(-12_000);
    assert_eq!(
        lanes[0].generate(),
        Err(GenerateError::ClockBehind { behind_ms: 3_000 })
    );
}

#[test]
fn a_lane_is_extended_by_itself() {
    let clock = ManualClock::at_unix_ms(Randflake::SPEC.unix_ms(50));
    let lease = Lease::new(Randflake, 1, 50, 60).unwrap();
    let key = Sparx64::new(&[7; 16]);
    let [mut first, mut second] = Lane::split(lease, &clock, &key).unwrap();
    let longer = Lease::new(Randflake, 1, 50, 70).unwrap();
    assert_eq!(first.extend(longer), Ok(()));
    assert_eq!(first.extend(lease), Ok(()), "never shorter");
    assert_eq!((first.lease(), second.lease()), (longer, lease));
    assert_eq!(
        first.extend(Lease::new(Randflake, 2, 50, 80).unwrap()),
        Err(ExtendError::Foreign)
    );
    let too_long = first.extend(Lease::new(Randflake, 1, 50, 50 + 65_536).unwrap());
    assert_eq!(
        too_long,
        Err(ExtendError::TooLong {
            ticks: 65_536,
            max: 65_535
        })
    );
    clock.advance_ms(15_000);
    assert!(first.generate().is_ok());
    assert_eq!(
        second.extend(longer),
        Err(ExtendError::Expired { since_ms: 5_000 })
    );
}

#[test]
fn a_lease_that_32_bits_cannot_count_is_refused() {
    let clock = ManualClock::unknown();
    let lease = Lease::new(Randflake, 1, 0, 65_536).unwrap();
    let key = Sparx64::new(&[7; 16]);
    let split = Lane::split::<2>(lease, &clock, &key);
    assert_eq!(
        split.unwrap_err(),
        LeaseError::TooLong {
            ticks: 65_536,
            max: 65_535
        }
    );
    let [mut lane, _, _, _] = Lane::split(lease, &clock, &key).unwrap();
    assert_eq!(lane.generate(), Err(GenerateError::ClockUnknown));
    let longer = Lease::new(Randflake, 1, 0, 65_537).unwrap();
    assert_eq!(lane.extend(longer), Err(ExtendError::ClockUnknown));
    assert_eq!(lane.lease(), lease, "nothing has changed");
}

#[test]
fn lane_counts_up_to_the_longest_lease() {
    let clock = ManualClock::at_unix_ms(Randflake::SPEC.unix_ms(0));
    let key = Sparx64::new(&[7; 16]);
    let longest = Lease::new(Randflake, 1, 0, 65_535).unwrap();
    let [first, _] = Lane::split(longest, &clock, &key).unwrap();
    assert_eq!(first.lease(), longest);
    let short = Lease::new(Randflake, 1, 0, 10).unwrap();
    let [mut first, _] = Lane::split(short, &clock, &key).unwrap();
    assert_eq!(first.extend(longest), Ok(()));
    assert_eq!(first.lease(), longest);
}

#[test]
fn a_lane_is_extended_before_its_end_and_not_at_it() {
    let clock = ManualClock::at_unix_ms(0);
    let key = Sparx64::new(&[7; 16]);
    let lease = |end| Lease::new(Randflake, 1, 50, end).unwrap();
    let [mut lane, _] = Lane::split(lease(60), &clock, &key).unwrap();
    assert_eq!(lane.extend(lease(61)), Ok(()), "before the epoch");
    clock.set_unix_ms(Randflake::SPEC.unix_ms(61) - 1);
    assert_eq!(lane.extend(lease(62)), Ok(()), "in the last tick");
    clock.set_unix_ms(Randflake::SPEC.unix_ms(62));
    let expired = Err(ExtendError::Expired { since_ms: 0 });
    assert_eq!(lane.extend(lease(63)), expired);
    assert_eq!(lane.lease(), lease(62), "nothing has changed");
}

/// A lane with a tolerance goes ahead of the clock by so many ticks, and stays within its lease.
#[test]
fn a_tolerant_lane_borrows_ticks() {
    let clock = ManualClock::at_unix_ms(Sonyflake::SPEC.unix_ms(50));
    let lease = Lease::new(Sonyflake, 3, 50, 60).unwrap();
    let [strict, _]: [_; 2] = Lane::split(lease, &clock, Plain).unwrap();
    let mut lane = strict.with_tolerance(2);
    let codec = Codec::new(Sonyflake, Plain);
    let mut ticks = Vec::new();
    while let Ok(id) = lane.generate() {
        ticks.push(codec.inspect(id).tick);
    }
    // 128 sequences of each.
    let expected: Vec<u64> = (50..53).flat_map(|tick| [tick; 128]).collect();
    assert_eq!(ticks, expected);
}
