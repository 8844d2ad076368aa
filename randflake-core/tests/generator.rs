//! A generator at the edges of its lease: begin, end, extend, close.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::sync::atomic::{AtomicU32, AtomicU64};
use core::time::Duration;

use randflake_core::{
    AtomicWord, Clock, ExtendError, Field, GenerateError, Generator, Layout, LayoutFields,
    LayoutSpec, Lease, LocalWord, ManualClock, Parts, Plain, Sequencer,
};

/// Four ids a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Slow;

impl Layout for Slow {
    type Permutation = Plain;
    const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields {
        timestamp: Field {
            bits: 40,
            shift: 10,
        },
        node_id: Field { bits: 8, shift: 0 },
        sequence: Field { bits: 2, shift: 8 },
        epoch_unix_ms: 0,
        tick_ms: 1_000,
    });
}

fn lease(start: u64, end: u64) -> Lease<Slow> {
    Lease::new(Slow, 7, start, end).unwrap()
}

fn parts(tick: u64, sequence: u32) -> Parts {
    Parts {
        tick,
        node_id: 7,
        sequence,
    }
}

/// A test that both widths of word pass.
macro_rules! with_both_words {
    ($($name:ident: $scenario:ident;)*) => {$(
        #[test]
        fn $name() {
            $scenario::<AtomicU64>();
            $scenario::<AtomicU32>();
            $scenario::<LocalWord<u64>>();
            $scenario::<LocalWord<u32>>();
        }
    )*};
}

with_both_words! {
    a_lease_is_half_open: half_open;
    an_extension_moves_the_end_on: extension;
    a_foreign_or_late_extension_is_refused: refused_extensions;
    closing_gives_the_first_unused_tick: closing;
    tolerance_is_the_clock_policy: tolerance;
    nothing_is_known_without_a_clock: unknown_clock;
    a_close_is_known_without_a_clock: closed_without_a_clock;
}

fn half_open<W: AtomicWord>() {
    let clock = ManualClock::at_unix_ms(99_999);
    let generator = Generator::<Slow, W, _>::new(lease(100, 102), &clock, Plain).unwrap();
    let behind = GenerateError::ClockBehind { behind_ms: 1 };
    assert_eq!(generator.generate(), Err(behind), "before the lease");
    clock.set_unix_ms(100_000);
    assert_eq!(
        generator.generate().map(|id| generator.inspect(id)),
        Ok(parts(100, 0))
    );
    clock.set_unix_ms(101_999);
    for sequence in 0..4 {
        let id = generator.generate().unwrap();
        assert_eq!(generator.inspect(id), parts(101, sequence));
    }
    let exhausted = GenerateError::SequenceExhausted { retry_in_ms: 1 };
    assert_eq!(
        generator.generate(),
        Err(exhausted),
        "the last tick is used up"
    );
    clock.set_unix_ms(102_000);
    let over = GenerateError::LeaseOver { since_ms: 0 };
    assert_eq!(
        generator.generate(),
        Err(over),
        "the end is not of the lease"
    );
    clock.set_unix_ms(u64::MAX - 1);
    let since_ms = u64::MAX - 1 - 102_000;
    assert_eq!(
        generator.generate(),
        Err(GenerateError::LeaseOver { since_ms })
    );
    clock.set_unix_ms(0);
    let behind = GenerateError::ClockBehind { behind_ms: 102_000 };
    assert_eq!(generator.generate(), Err(behind));
}

fn extension<W: AtomicWord>() {
    let clock = ManualClock::at_unix_ms(101_000);
    let generator = Generator::<Slow, W, _>::new(lease(100, 102), &clock, Plain).unwrap();
    assert_eq!(generator.extend(lease(100, 104)), Ok(()));
    assert_eq!(generator.lease(), lease(100, 104));
    assert_eq!(
        generator.extend(lease(100, 103)),
        Ok(()),
        "no news is no error"
    );
    assert_eq!(generator.extend(lease(100, 104)), Ok(()));
    assert_eq!(generator.lease(), lease(100, 104), "it never gets shorter");
    clock.set_unix_ms(103_999);
    assert_eq!(
        generator.generate().map(|id| generator.inspect(id)),
        Ok(parts(103, 0))
    );
    assert_eq!(
        generator.extend(lease(100, 105)),
        Ok(()),
        "in the last tick"
    );
    clock.set_unix_ms(104_000);
    assert_eq!(
        generator.generate().map(|id| generator.inspect(id)),
        Ok(parts(104, 0))
    );
}

fn refused_extensions<W: AtomicWord>() {
    let clock = ManualClock::at_unix_ms(100_000);
    let sequencer = Sequencer::<Slow, W>::new(lease(100, 102)).unwrap();
    let extend = |extended| sequencer.extend(extended, &clock);
    let other_node = Lease::new(Slow, 8, 100, 110).unwrap();
    assert_eq!(extend(other_node), Err(ExtendError::Foreign));
    assert_eq!(extend(lease(99, 110)), Err(ExtendError::Foreign));
    assert_eq!(extend(lease(101, 110)), Err(ExtendError::Foreign));
    clock.set_unix_ms(101_999);
    assert_eq!(extend(lease(100, 102)), Ok(()), "just in time");
    clock.set_unix_ms(102_001);
    let expired = Err(ExtendError::Expired { since_ms: 1 });
    assert_eq!(extend(lease(100, 110)), expired);
    assert_eq!(extend(lease(100, 102)), expired);
    assert_eq!(sequencer.close(), Some(100));
    assert_eq!(extend(lease(100, 110)), Err(ExtendError::Closed));
    assert_eq!(sequencer.lease(), lease(100, 102), "nothing has changed");
}

fn closing<W: AtomicWord>() {
    // Issued ids, and the first tick from which on the lease was not used.
    for (issued, unused_from) in [(0, 100), (1, 101), (3, 101), (4, 101), (5, 102), (8, 102)] {
        let clock = ManualClock::at_unix_ms(100_000);
        let sequencer = Sequencer::<Slow, W>::new(lease(100, 110)).unwrap();
        for _ in 0..issued {
            sequencer.take(&clock, 1).unwrap();
        }
        assert_eq!(sequencer.close(), Some(unused_from), "{issued} issued");
        assert_eq!(sequencer.close(), None, "closed before");
        for unix_ms in [0, 100_000, 105_000, 200_000] {
            clock.set_unix_ms(unix_ms);
            assert_eq!(sequencer.take(&clock, u32::MAX), Err(GenerateError::Closed));
        }
    }
    let clock = ManualClock::at_unix_ms(107_000);
    let sequencer = Sequencer::<Slow, W>::new(lease(100, 110)).unwrap();
    sequencer.take(&clock, 0).unwrap();
    assert_eq!(
        sequencer.close(),
        Some(108),
        "ticks passed over count as used"
    );
}

/// A step back of up to `n` ticks, and `n` ticks of ids ahead, but none past the lease.
fn tolerance<W: AtomicWord>() {
    for ticks in 0..=3 {
        let clock = ManualClock::at_unix_ms(103_000);
        let generator = Generator::<Slow, W, _>::new(lease(100, 106), &clock, Plain)
            .unwrap()
            .with_tolerance(ticks);
        generator.generate().unwrap();
        clock.step_ms(-1_000 * i64::from(ticks));
        generator.generate().unwrap();
        clock.step_ms(-1_000);
        let behind = GenerateError::ClockBehind { behind_ms: 1_000 };
        assert_eq!(generator.generate(), Err(behind));

        clock.set_unix_ms(103_000);
        let until = (103 + u64::from(ticks)).min(105);
        let mut last = parts(103, 1);
        while let Ok(id) = generator.generate() {
            let next = generator.inspect(id);
            assert_eq!(
                next.tick * 4 + u64::from(next.sequence),
                last.tick * 4 + u64::from(last.sequence) + 1
            );
            last = next;
        }
        assert_eq!(last, parts(until, 3));
        let error = if ticks == 3 {
            GenerateError::LeaseOver { since_ms: 0 }
        } else {
            GenerateError::SequenceExhausted { retry_in_ms: 1_000 }
        };
        assert_eq!(generator.generate(), Err(error), "{ticks}");
    }
}

fn unknown_clock<W: AtomicWord>() {
    let clock = ManualClock::unknown();
    clock.advance_ms(1);
    assert_eq!(clock.now(), None::<Duration>);
    let generator = Generator::<Slow, W, _>::new(lease(0, 10), &clock, Plain).unwrap();
    assert_eq!(generator.generate(), Err(GenerateError::ClockUnknown));
    assert_eq!(
        generator.extend(lease(0, 20)),
        Err(ExtendError::ClockUnknown)
    );
    clock.set_unix_ms(0);
    assert_eq!(
        generator.generate().map(|id| generator.inspect(id)),
        Ok(parts(0, 0))
    );
}

/// Waiting for the clock would be in vain.
fn closed_without_a_clock<W: AtomicWord>() {
    let clock = ManualClock::unknown();
    let sequencer = Sequencer::<Slow, W>::new(lease(100, 110)).unwrap();
    assert_eq!(sequencer.take(&clock, 0), Err(GenerateError::ClockUnknown));
    assert_eq!(sequencer.close(), Some(100));
    assert_eq!(sequencer.take(&clock, 0), Err(GenerateError::Closed));
}

mod width {
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
        assert_eq!(generator.close(), Some(32_767));
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
        assert_eq!(sequencer.close(), Some(5 + max));
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
        assert_eq!(sequencer.close(), Some(max));
        let whole = Lease::new(WideSequence, 0, 0, max + 1).unwrap();
        assert!(Sequencer::<WideSequence, AtomicU64>::new(whole).is_err());
    }
}
