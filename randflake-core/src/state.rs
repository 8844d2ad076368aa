//! The generator's step: a pure function of what it has read, for any width of word.
//!
//! A *position* is `(tick - start) << sequence_bits | sequence`, so the carry out of the sequence is
//! the next tick. The word holds the next position that was not issued yet.

use crate::Word;

/// What a step depends on beside the word and the time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms<V> {
    /// The lease's first tick.
    pub(crate) start: u64,
    /// The lease's ticks.
    pub(crate) length: V,
    /// How many ticks an id may be ahead of the clock.
    pub(crate) tolerance: u32,
    /// Width of the layout's sequence.
    pub(crate) sequence_bits: u32,
}

/// Why there is no position to issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The next position is in this tick, further ahead of the clock than the tolerance allows.
    Ahead { tick: u64 },
    /// The next position is past the lease.
    Over,
}

/// The position to issue when the word holds `next`, at the tick `now` (`None`: before tick 0).
///
/// Whatever the clock shows, the result is at least `next`, so nothing is issued twice. It refuses a
/// word that is all ones: see [`max_length`].
#[inline]
pub(crate) fn step<V: Word>(next: V, now: Option<u64>, terms: Terms<V>) -> Result<V, Refusal> {
    let elapsed = next.shr(terms.sequence_bits);
    // The usual case, which `step_on` would decide alike: the clock still shows the word's tick. The
    // processor foresees that, and need not have read the clock to go on.
    if let Some(now) = now {
        let ahead = terms.start.wrapping_add(elapsed.into()).wrapping_sub(now);
        if ahead <= u64::from(terms.tolerance) && elapsed < terms.length {
            return Ok(next);
        }
    }
    step_on(next, now, terms)
}

/// [`step`], in every case.
#[cold]
fn step_on<V: Word>(next: V, now: Option<u64>, terms: Terms<V>) -> Result<V, Refusal> {
    let Terms {
        start,
        length,
        tolerance,
        sequence_bits,
    } = terms;
    // Any time past the lease is alike, and its end is the last position that fits the word.
    let elapsed = now.unwrap_or(0).saturating_sub(start).min(length.into());
    let candidate = V::truncate(elapsed).shl(sequence_bits).max(next);
    let elapsed = candidate.shr(sequence_bits);
    let tick = start.saturating_add(elapsed.into());
    match now {
        Some(now) if tick <= now.saturating_add(u64::from(tolerance)) => {}
        _ => return Err(Refusal::Ahead { tick }),
    }
    if elapsed >= length {
        return Err(Refusal::Over);
    }
    Ok(candidate)
}

/// The most ticks that a lease may have: the position after the lease fits the word, and is not all
/// ones, which mean "sealed". It is 0 when one tick's sequences are too many for the word.
#[inline]
pub(crate) fn max_length<V: Word>(sequence_bits: u32) -> u64 {
    let max_position = V::MAX.into().saturating_sub(1);
    max_position.wrapping_shr(sequence_bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: Terms<u32> = Terms {
        start: 100,
        length: 10,
        tolerance: 0,
        sequence_bits: 2,
    };

    #[test]
    fn sequence_zero_comes_first_in_each_tick() {
        assert_eq!(step(0, Some(100), TERMS), Ok(0));
        assert_eq!(step(1, Some(100), TERMS), Ok(1));
        assert_eq!(step(1, Some(101), TERMS), Ok(4));
        assert_eq!(step(1, Some(109), TERMS), Ok(36));
    }

    #[test]
    fn an_exhausted_tick_refuses_until_the_next() {
        assert_eq!(step(4, Some(100), TERMS), Err(Refusal::Ahead { tick: 101 }));
        assert_eq!(step(4, Some(101), TERMS), Ok(4));
        assert_eq!(
            step(
                4,
                Some(100),
                Terms {
                    tolerance: 1,
                    ..TERMS
                }
            ),
            Ok(4)
        );
    }

    #[test]
    fn a_clock_behind_never_rewinds() {
        assert_eq!(step(9, Some(101), TERMS), Err(Refusal::Ahead { tick: 102 }));
        assert_eq!(
            step(
                9,
                Some(101),
                Terms {
                    tolerance: 1,
                    ..TERMS
                }
            ),
            Ok(9)
        );
        assert_eq!(step(9, Some(0), TERMS), Err(Refusal::Ahead { tick: 102 }));
        assert_eq!(
            step(
                9,
                None,
                Terms {
                    tolerance: u32::MAX,
                    ..TERMS
                }
            ),
            Err(Refusal::Ahead { tick: 102 })
        );
    }

    #[test]
    fn only_ticks_of_the_lease_are_issued() {
        assert_eq!(step(0, Some(99), TERMS), Err(Refusal::Ahead { tick: 100 }));
        assert_eq!(
            step(
                0,
                Some(99),
                Terms {
                    tolerance: 1,
                    ..TERMS
                }
            ),
            Ok(0)
        );
        assert_eq!(step(0, Some(110), TERMS), Err(Refusal::Over));
        assert_eq!(step(0, Some(u64::MAX), TERMS), Err(Refusal::Over));
        assert_eq!(step(40, Some(110), TERMS), Err(Refusal::Over));
    }

    #[test]
    fn the_position_after_the_longest_lease_fits_and_is_not_all_ones() {
        for sequence_bits in 0..=31 {
            let after = max_length::<u32>(sequence_bits) << sequence_bits;
            assert!(after < u64::from(u32::MAX), "{sequence_bits}");
            assert!(after + (1 << sequence_bits) >= u64::from(u32::MAX));
        }
        assert_eq!(max_length::<u32>(17), 32_767);
        assert_eq!(max_length::<u32>(32), 0);
        assert_eq!(max_length::<u64>(32), u64::from(u32::MAX));
        assert_eq!(max_length::<u64>(0), u64::MAX - 1);
    }

    /// Every word, time and tolerance of a small world: the result is what the prose says.
    #[test]
    fn a_slow_twin_agrees() {
        for next in 0..=40_u32 {
            for now in 95..=115_u64 {
                for tolerance in 0..4_u32 {
                    let terms = Terms { tolerance, ..TERMS };
                    let (from, at) = (i64::from(next), i64::try_from(now).unwrap());
                    let candidate = from.max((at.min(110) - 100) * 4);
                    let tick = u64::try_from(100 + candidate / 4).unwrap();
                    let expected = if tick > now + u64::from(tolerance) {
                        Err(Refusal::Ahead { tick })
                    } else if tick < 110 {
                        Ok(u32::try_from(candidate).unwrap())
                    } else {
                        Err(Refusal::Over)
                    };
                    assert_eq!(
                        step(next, Some(now), terms),
                        expected,
                        "{next} {now} {tolerance}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_word_that_is_all_ones_is_refused_at_any_time() {
        for sequence_bits in 0..=31 {
            for tolerance in [0, u32::MAX] {
                let terms = Terms {
                    start: 0,
                    length: u32::truncate(max_length::<u32>(sequence_bits)),
                    tolerance,
                    sequence_bits,
                };
                for now in [
                    None,
                    Some(0),
                    Some(u64::from(terms.length) - 1),
                    Some(u64::MAX),
                ] {
                    assert!(step(u32::MAX, now, terms).is_err(), "{terms:?} {now:?}");
                }
                let later = Terms {
                    start: 100,
                    ..terms
                };
                assert!(step(u32::MAX, Some(99), later).is_err(), "{later:?}");
            }
        }
    }
}
