//! The generator's step: a pure function of what it has read, for any width of word.
//!
//! A *position* is `(tick - start) << sequence_bits | sequence`, so the carry out of the sequence
//! is the next tick. The word holds the next position that was not issued yet.

use core::time::Duration;

use crate::{LayoutSpec, Word};

/// Inputs of a step besides the word and the time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepTerms<V> {
    /// First tick of the lease.
    pub(crate) start: u64,
    /// Number of ticks of the lease.
    pub(crate) length: V,
    /// Number of ticks that an id may be ahead of the clock.
    pub(crate) tolerance: u32,
    /// Width of the layout's sequence.
    pub(crate) sequence_bits: u32,
}

/// Reason why a position is not issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepRefusal {
    /// The position is further ahead of the clock than the tolerance allows.
    ClockBehind,
    /// The same, but only because the current tick is used up.
    SequenceExhausted,
    /// The position is past the end of the lease.
    LeaseOver,
}

/// The position to issue when the word holds `next`.
///
/// Whatever the clock shows, the result is at least `next`, so nothing is issued twice. It refuses
/// a word that is all ones: see [`max_length`].
#[inline]
pub(crate) fn step<V: Word>(
    spec: LayoutSpec,
    next: V,
    now: Duration,
    terms: &StepTerms<V>,
) -> Result<V, StepRefusal> {
    // Before the lease, by more than the tolerance: the same as a clock that went back, and it
    // passes in the same way.
    let Some(last) = last_tick(spec, now, terms) else {
        return Err(StepRefusal::ClockBehind);
    };
    // Saturated: a tick that the word cannot count is past the lease, and is refused as such below.
    let current = V::saturate(last.saturating_sub(terms.tolerance.into()));
    // In every branch the result is `next` or a later position: so the word only grows, and no
    // position comes twice.
    let mut position = next;
    let mut elapsed = next.shr(terms.sequence_bits);
    // Two bounds: a position may stand as far ahead as `last`, but a new tick begins at the clock's
    // own. So the tolerance is used only by a burst or a clock that stepped back.
    let last = V::saturate(last);
    if elapsed > last {
        // The last position issued is of the clock's tick, which is used up. Otherwise the clock is
        // behind.
        let is_used_up = next
            .previous()
            .is_some_and(|issued| issued.shr(terms.sequence_bits) == last);
        return Err(if is_used_up {
            StepRefusal::SequenceExhausted
        } else {
            StepRefusal::ClockBehind
        });
    }
    if elapsed < current {
        elapsed = current;
        position = current.shl(terms.sequence_bits);
    }
    // Compared last: an expired lease is reported whatever the clock and the word show.
    if elapsed < terms.length {
        Ok(position)
    } else {
        Err(StepRefusal::LeaseOver)
    }
}

/// The last tick that may be issued at a time, counted from the lease's start; `None` before that.
#[inline]
fn last_tick<V>(spec: LayoutSpec, now: Duration, terms: &StepTerms<V>) -> Option<u64> {
    if terms.tolerance == 0 {
        // The usual case has a shorter form: one subtraction where a tick is a second.
        return spec.ticks_since(terms.start, now);
    }
    let last = spec.tick_at(now)?.saturating_add(terms.tolerance.into());
    // After the tolerance was added: a clock that is behind the lease's start by less than that
    // issues from its first tick.
    last.checked_sub(terms.start)
}

/// The most ticks that a lease may have: the position after the lease fits the word, and is not all
/// ones, which mean "closed". It is 0 when one tick's sequences are too many for the word.
#[inline]
pub(crate) fn max_length<V: Word>(sequence_bits: u32) -> u64 {
    let max_position = V::MAX.into().saturating_sub(1);
    max_position.wrapping_shr(sequence_bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LayoutFields;

    const TERMS: StepTerms<u32> = StepTerms {
        start: 100,
        length: 10,
        tolerance: 0,
        sequence_bits: 2,
    };

    /// A second, and a millisecond.
    const TICKS_MS: [u64; 2] = [1_000, 1];
    const EPOCH_MS: u64 = 7_000;

    /// The step at a tick, or before tick 0, which is the same however long a tick is.
    fn step<V: Word>(next: V, now: Option<u64>, terms: StepTerms<V>) -> Option<V> {
        let [seconds, milliseconds] = TICKS_MS.map(|tick_ms| {
            let spec = LayoutSpec::declare(LayoutFields::in_order([32, 0, 32], EPOCH_MS, tick_ms));
            let unix_ms = match now {
                Some(tick) => tick
                    .checked_mul(tick_ms)
                    .and_then(|ms| ms.checked_add(EPOCH_MS)),
                None => Some(EPOCH_MS - 1),
            };
            let now = unix_ms.map_or(Duration::MAX, Duration::from_millis);
            super::step(spec, next, now, &terms).ok()
        });
        assert_eq!(seconds, milliseconds, "{next:?} {now:?} {terms:?}");
        seconds
    }

    #[test]
    fn sequence_zero_comes_first_in_each_tick() {
        assert_eq!(step(0, Some(100), TERMS), Some(0));
        assert_eq!(step(1, Some(100), TERMS), Some(1));
        assert_eq!(step(1, Some(101), TERMS), Some(4));
        assert_eq!(step(1, Some(109), TERMS), Some(36));
    }

    #[test]
    fn an_exhausted_tick_refuses_until_the_next() {
        assert_eq!(step(4, Some(100), TERMS), None);
        assert_eq!(step(4, Some(101), TERMS), Some(4));
        assert_eq!(
            step(
                4,
                Some(100),
                StepTerms {
                    tolerance: 1,
                    ..TERMS
                }
            ),
            Some(4)
        );
    }

    #[test]
    fn a_clock_behind_never_rewinds() {
        assert_eq!(step(9, Some(101), TERMS), None);
        assert_eq!(
            step(
                9,
                Some(101),
                StepTerms {
                    tolerance: 1,
                    ..TERMS
                }
            ),
            Some(9)
        );
        assert_eq!(step(9, Some(0), TERMS), None);
        assert_eq!(
            step(
                9,
                None,
                StepTerms {
                    tolerance: u32::MAX,
                    ..TERMS
                }
            ),
            None
        );
    }

    #[test]
    fn only_ticks_of_the_lease_are_issued() {
        assert_eq!(step(0, Some(99), TERMS), None);
        assert_eq!(
            step(
                0,
                Some(99),
                StepTerms {
                    tolerance: 1,
                    ..TERMS
                }
            ),
            Some(0)
        );
        assert_eq!(step(0, Some(110), TERMS), None);
        assert_eq!(step(0, Some(u64::MAX), TERMS), None);
        assert_eq!(step(40, Some(110), TERMS), None);
    }

    #[test]
    fn longest_lease_leaves_room_for_closed() {
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
        for next in (0..=40_u32).step_by(if cfg!(miri) { 20 } else { 1 }) {
            for now in 95..=115_u64 {
                for tolerance in 0..4_u32 {
                    let terms = StepTerms { tolerance, ..TERMS };
                    let (from, at) = (i64::from(next), i64::try_from(now).unwrap());
                    let candidate = from.max((at.min(110) - 100) * 4);
                    let tick = u64::try_from(100 + candidate / 4).unwrap();
                    let expected = if tick > now + u64::from(tolerance) {
                        None
                    } else if tick < 110 {
                        Some(u32::try_from(candidate).unwrap())
                    } else {
                        None
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
                let terms = StepTerms {
                    start: 0,
                    length: u32::low_bits_of(max_length::<u32>(sequence_bits)),
                    tolerance,
                    sequence_bits,
                };
                for now in [
                    None,
                    Some(0),
                    Some(u64::from(terms.length) - 1),
                    Some(u64::MAX),
                ] {
                    assert!(step(u32::MAX, now, terms).is_none(), "{terms:?} {now:?}");
                }
                let later = StepTerms {
                    start: 100,
                    ..terms
                };
                assert!(step(u32::MAX, Some(99), later).is_none(), "{later:?}");
            }
        }
    }

    /// [`LayoutSpec::allows`] is the step in short: what it allows is issued, what it does not is
    /// not, but in the epoch's first second and after 292 million years, which it may leave to the
    /// step.
    #[test]
    #[cfg_attr(miri, ignore = "arithmetic, a million times over")]
    fn what_is_allowed_at_once_is_what_the_step_issues() {
        const EPOCH_S: u64 = 7;
        for (tick_ms, epoch_ms) in [
            (1, 0),
            (10, 0),
            (250, 600),
            (1_000, 0),
            (1_500, 1),
            (3_000, 0),
            (1 << 31, 0),
        ] {
            let epoch_unix_ms = EPOCH_S * 1_000 + epoch_ms;
            let spec =
                LayoutSpec::declare(LayoutFields::in_order([32, 0, 32], epoch_unix_ms, tick_ms));
            let moments = (0..=22 * 4).map(|quarter| {
                let ms = epoch_unix_ms.saturating_sub(2 * tick_ms) * 4 + quarter * tick_ms;
                Duration::from_micros(ms * 250)
            });
            let far = [0, u64::MAX / 1_000 - 7, u64::MAX / 1_000, 1 << 60, u64::MAX]
                .map(Duration::from_secs);
            for (now, start) in moments.chain(far).flat_map(|now| [(now, 0), (now, 5)]) {
                for (elapsed, tolerance) in
                    (0..=12_u64).flat_map(|e| [0, 1, 3, u32::MAX].map(|t| (e, t)))
                {
                    let terms = StepTerms {
                        start,
                        length: 10_u64,
                        tolerance,
                        sequence_bits: 2,
                    };
                    let next = elapsed << terms.sequence_bits | 1;
                    let begins = spec.begins(start);
                    let is_allowed = elapsed < 10 && spec.allows(begins, elapsed, tolerance, now);
                    let issued = super::step(spec, next, now, &terms);
                    let is_left = tolerance > 0 && !(EPOCH_S + 1..1 << 53).contains(&now.as_secs());
                    if is_allowed || !is_left {
                        assert_eq!(
                            is_allowed,
                            issued == Ok(next),
                            "{tick_ms} {start} {now:?} {elapsed} {tolerance}"
                        );
                    }
                }
            }
        }
    }
}
