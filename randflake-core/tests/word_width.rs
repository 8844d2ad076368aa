//! Range of a word: it counts up to its last position and never wraps.

use core::sync::atomic::{AtomicU32, AtomicU64};

use randflake_core::{
    ExtendError, Field, GenerateError, Generator, Layout, LayoutFields, LayoutSpec, Lease,
    LeaseError, ManualClock, Parts, Plain, Randflake, Sequencer, Snowflake, Sparx64,
};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TickOnly;

impl Layout for TickOnly {
    type Permutation = Plain;
    const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields {
        timestamp: Field { bits: 40, shift: 0 },
        node_id: Field {
            bits: 10,
            shift: 40,
        },
        sequence: Field { bits: 0, shift: 64 },
        ..Snowflake::SPEC.fields()
    });
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct WideSequence;

impl Layout for WideSequence {
    type Permutation = Plain;
    const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields {
        timestamp: Field { bits: 32, shift: 0 },
        node_id: Field { bits: 0, shift: 0 },
        sequence: Field {
            bits: 32,
            shift: 32,
        },
        ..Snowflake::SPEC.fields()
    });
}

#[test]
fn word_of_32_bits_counts_32_767_seconds() {
    let new =
        |end| Sequencer::<Randflake, AtomicU32>::new(Lease::new(Randflake, 1, 0, end).unwrap());
    let (ticks, max) = (32_768, 32_767);
    assert_eq!(new(32_768).err(), Some(LeaseError::TooLong { ticks, max }));
    let sequencer = new(32_000).unwrap();
    let clock = ManualClock::at_unix_ms(1_730_000_000_000);
    let too_long = Err(ExtendError::TooLong { ticks, max });
    assert_eq!(
        sequencer.extend(Lease::new(Randflake, 1, 0, 32_768).unwrap(), &clock),
        too_long
    );
    assert_eq!(
        sequencer.extend(Lease::new(Randflake, 1, 0, 32_767).unwrap(), &clock),
        Ok(())
    );
    let long = Lease::new(Randflake, 1, 0, 1 << 30).unwrap();
    assert!(Sequencer::<Randflake, AtomicU64>::new(long).is_ok());
}

#[test]
#[cfg_attr(miri, ignore = "uses up a tick of 131,072 ids")]
fn a_32_bit_word_does_not_wrap_at_its_last_position() {
    let clock = ManualClock::at_unix_ms(1_730_000_000_000 + 32_766_000);
    let lease = Lease::new(Randflake, 1, 0, 32_767).unwrap();
    let generator =
        Generator::<Randflake, AtomicU32, _>::new(lease, &clock, Sparx64::new(&[7; 16]))
            .unwrap()
            .with_tolerance(u32::MAX);
    for sequence in 0..131_072 {
        let id = generator.generate().unwrap();
        assert_eq!(
            generator.inspect(id),
            Parts {
                tick: 32_766,
                node_id: 1,
                sequence
            }
        );
    }
    for unix_ms in [0, 1_730_000_000_000, 1_730_032_767_000, u64::MAX - 1] {
        clock.set_unix_ms(unix_ms);
        assert!(generator.generate().is_err());
    }
    assert_eq!(generator.seal(), Some(32_767));
}

/// Without a sequence each tick has one id, and each position of the word is a tick.
#[test]
fn layout_without_sequence_fills_the_word() {
    let max = u64::from(u32::MAX) - 1;
    let new = |ticks| {
        Sequencer::<TickOnly, AtomicU32>::new(Lease::new(TickOnly, 3, 5, 5 + ticks).unwrap())
    };
    let ticks = max + 1;
    assert_eq!(new(ticks).err(), Some(LeaseError::TooLong { ticks, max }));
    let sequencer = new(max).unwrap();
    let clock = ManualClock::at_unix_ms(TickOnly::SPEC.unix_ms(5 + max - 1));
    assert_eq!(sequencer.take(&clock, 0), Ok(3 << 40 | (5 + max - 1)));
    let exhausted = GenerateError::SequenceExhausted { retry_in_ms: 1 };
    assert_eq!(sequencer.take(&clock, 0), Err(exhausted));
    clock.advance_ms(1);
    assert_eq!(
        sequencer.take(&clock, 0),
        Err(GenerateError::LeaseOver { since_ms: 0 })
    );
    assert_eq!(sequencer.seal(), Some(5 + max));
}

#[test]
fn a_sequence_as_wide_as_the_word_leaves_it_no_tick() {
    let lease = Lease::new(WideSequence, 0, 0, 1).unwrap();
    let (ticks, max) = (1, 0);
    let refused = Sequencer::<WideSequence, AtomicU32>::new(lease);
    assert_eq!(refused.err(), Some(LeaseError::TooLong { ticks, max }));

    let max = u64::from(u32::MAX);
    let longest = Lease::new(WideSequence, 0, 0, max).unwrap();
    let sequencer = Sequencer::<WideSequence, AtomicU64>::new(longest).unwrap();
    let clock = ManualClock::at_unix_ms(WideSequence::SPEC.unix_ms(max - 1));
    assert_eq!(sequencer.take(&clock, 0), Ok(max - 1));
    assert_eq!(sequencer.take(&clock, 0), Ok(1 << 32 | (max - 1)));
    assert_eq!(sequencer.seal(), Some(max));
    let whole = Lease::new(WideSequence, 0, 0, max + 1).unwrap();
    assert!(Sequencer::<WideSequence, AtomicU64>::new(whole).is_err());
}
