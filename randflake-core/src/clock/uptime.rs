//! Extends a free-running 32-bit counter to a time that does not wrap.

use core::fmt::{self, Debug, Formatter};
use core::time::Duration;

use super::Monotonic;
use crate::{AtomicWord, ConstWord};

#[cfg(not(all(target_arch = "arm", not(target_has_atomic = "32"))))]
use native::Divisor;
#[cfg(all(target_arch = "arm", not(target_has_atomic = "32")))]
use reciprocal::Divisor;

/// Time counted by a wrapping 32-bit timer of `HZ` ticks per second, extended by one word of whole
/// seconds. It is exact for any `HZ`, and needs no 64-bit number that an interrupt could find half
/// written.
///
/// `uptime` may be called from interrupts. It **must be called more often than the counter wraps**:
/// at least once in `2^32 - HZ` ticks, which is 71 minutes at 1 MHz, 36 hours at 32,768 Hz and 67 s
/// at 64 MHz. If one turn is missed, time is behind by that turn, which makes ids old or refused,
/// never repeated. It counts milliseconds for 136 years. No `HZ` needs a division on a Cortex-M0; a
/// power of two needs the fewest instructions.
///
/// ```
/// use core::cell::Cell;
/// use core::time::Duration;
/// use randflake_core::{LocalWord, Monotonic, Uptime};
///
/// let counter = Cell::new(u32::MAX - 999);
/// let uptime = Uptime::<1_000, _, LocalWord<u32>>::new(|| counter.get());
/// counter.set(2_500); // it has wrapped
/// assert_eq!(uptime.uptime(), Duration::from_millis(3_500));
/// ```
pub struct Uptime<const HZ: u32, F, W> {
    count: F,
    /// Value of the counter at second 0.
    first_count: u32,
    /// Whole seconds counted so far: `first_count + seconds * HZ`, wrapping, was the counter when
    /// the last of them began.
    seconds: W,
}

impl<const HZ: u32, F, W> Uptime<HZ, F, W> {
    const CHECK: () = assert!(HZ > 0, "a counter counts at least once in a second");
}

impl<const HZ: u32, F, W> Uptime<HZ, F, W>
where
    F: Fn() -> u32,
    W: AtomicWord<Value = u32>,
{
    /// Starts counting now. `count` reads the counter; it never fails and never goes back, other
    /// than from its last value to 0.
    ///
    /// An `HZ` of 0 does not compile.
    pub fn new(count: F) -> Self {
        const { Self::CHECK };
        let first_count = count();
        Self {
            count,
            first_count,
            seconds: W::new(0),
        }
    }
}

impl<const HZ: u32, F, W> Uptime<HZ, F, W>
where
    F: Fn() -> u32,
    W: ConstWord<Value = u32>,
{
    /// Starts counting when the counter was 0, less than a turn ago: for a timer that the program
    /// starts. It can be a `static` before the timer runs: see [`ConstWord`]. Otherwise as
    /// [`new`](Self::new).
    pub const fn since_zero(count: F) -> Self {
        const { Self::CHECK };
        Self {
            count,
            first_count: 0,
            seconds: W::ZERO,
        }
    }
}

impl<const HZ: u32, F, W> Monotonic for Uptime<HZ, F, W>
where
    F: Fn() -> u32,
    W: AtomicWord<Value = u32>,
{
    #[inline]
    fn uptime(&self) -> Duration {
        loop {
            let seconds = self.seconds.load();
            // Wrapping on purpose: the difference of two counter values is right across a wrap, as
            // long as it is less than a turn.
            let begun = self.first_count.wrapping_add(seconds.wrapping_mul(HZ));
            let ticks = (self.count)().wrapping_sub(begun);
            let (whole, ticks) = Rate::<HZ>::SECOND.divide(ticks);
            let now = seconds.wrapping_add(whole);
            // A caller that was interrupted after the first load finds the word changed, and reads
            // both again. Within the same second nothing is written: most calls only load.
            let is_current = if whole == 0 {
                self.seconds.load() == seconds
            } else {
                self.seconds.compare_exchange(seconds, now)
            };
            if is_current {
                return duration(now, Rate::<HZ>::ms(ticks));
            }
        }
    }
}

struct Rate<const HZ: u32>;

impl<const HZ: u32> Rate<HZ> {
    const SECOND: Divisor = Divisor::new(HZ);
    // Milliseconds per tick of a fast counter; exact where `HZ` is a multiple of 1,000, else off by
    // less than a millisecond in a second.
    const MS: Divisor = Divisor::new(if HZ < 1_000 { 1 } else { HZ / 1_000 });
    /// Fastest counter whose ticks per second times 1,000 fit in 32 bits.
    const MOST_EXACT: u32 = u32::MAX / 1_000;

    /// Converts less than a second of ticks to milliseconds, in 32-bit arithmetic.
    #[inline]
    fn ms(ticks: u32) -> u32 {
        let ms = if HZ.is_multiple_of(1_000) || HZ > Self::MOST_EXACT {
            Self::MS.divide_small(ticks)
        } else {
            // Less than a second of ticks: the product fits 32 bits, and the quotient is below
            // 1,000, which `divide_small` asks for.
            Self::SECOND.divide_small(ticks.wrapping_mul(1_000))
        };
        ms.min(999)
    }
}

/// Makes a duration; the bound shows the compiler that `ms` is below 1,000, which removes a
/// division and a panic.
#[inline]
fn duration(seconds: u32, ms: u32) -> Duration {
    Duration::new(seconds.into(), ms.min(999).wrapping_mul(1_000_000))
}

impl<const HZ: u32, F, W: Debug> Debug for Uptime<HZ, F, W> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Uptime")
            .field("hz", &HZ)
            .field("seconds", &self.seconds)
            .finish_non_exhaustive()
    }
}

// Division by a constant, in the way that suits the processor.

#[cfg(not(all(target_arch = "arm", not(target_has_atomic = "32"))))]
mod native {
    //! For processors with a division, or with the upper half of a product, which the compiler
    //! divides by.

    /// A constant divisor above 0.
    #[derive(Clone, Copy)]
    pub(super) struct Divisor(u32);

    impl Divisor {
        pub(super) const fn new(divisor: u32) -> Self {
            Self(divisor)
        }

        /// Returns quotient and remainder.
        #[inline]
        pub(super) fn divide(self, number: u32) -> (u32, u32) {
            // Never zero; checked division leaves no panic in the code.
            let quotient = number.checked_div(self.0).unwrap_or_default();
            (quotient, number.wrapping_sub(quotient.wrapping_mul(self.0)))
        }

        /// Returns the quotient, which must be below 2^15.
        #[inline]
        pub(super) fn divide_small(self, number: u32) -> u32 {
            self.divide(number).0
        }
    }
}

#[cfg(any(test, all(target_arch = "arm", not(target_has_atomic = "32"))))]
mod reciprocal {
    //! Division on Armv6-M, which has neither a division nor the upper half of a product. The
    //! compiler's library takes 452 bytes and subtracts 32 times; an estimate here takes two
    //! multiplications and is too small by at most one, unless the quotient is large.

    /// A constant divisor above 0, with its reciprocal.
    #[derive(Clone, Copy)]
    pub(super) struct Divisor {
        by: u32,
        /// `2^(16 + shift) / divisor`, rounded down: at most 16 bits.
        reciprocal: u32,
        shift: u32,
        /// Number of estimates that reach the exact quotient for any dividend.
        passes: u32,
    }

    impl Divisor {
        #[expect(
            clippy::arithmetic_side_effects,
            clippy::cast_possible_truncation,
            reason = "evaluated when the program is compiled"
        )]
        pub(super) const fn new(divisor: u32) -> Self {
            let (shift, passes) = match divisor {
                // The smaller the divisor, the larger the quotient and the error of an estimate: so
                // small divisors take more passes.
                0x1_0000.. => (16, 1),
                4.. => (divisor.ilog2(), 2),
                _ => (divisor.ilog2(), 3),
            };
            Self {
                by: divisor,
                reciprocal: ((1_u64 << (16 + shift)) / divisor as u64) as u32,
                shift,
                passes,
            }
        }

        /// Returns quotient and remainder.
        #[inline]
        pub(super) fn divide(self, number: u32) -> (u32, u32) {
            self.divide_in(self.passes, number)
        }

        /// Returns the quotient, which must be below 2^15.
        #[inline]
        pub(super) fn divide_small(self, number: u32) -> u32 {
            self.divide_in(1, number).0
        }

        #[inline]
        fn divide_in(self, passes: u32, number: u32) -> (u32, u32) {
            if self.by.is_power_of_two() {
                let rest = number & self.by.wrapping_sub(1);
                return (number >> self.by.trailing_zeros(), rest);
            }
            let (mut quotient, mut rest) = (0_u32, number);
            // The reciprocal is too small by less than 2^-15 of itself, and so is each estimate:
            // every pass leaves at most that fraction.
            for _pass in 0..passes {
                let part = self.estimate(rest);
                quotient = quotient.wrapping_add(part);
                rest = rest.wrapping_sub(part.wrapping_mul(self.by));
            }
            if rest < self.by {
                (quotient, rest)
            } else {
                (quotient.wrapping_add(1), rest.wrapping_sub(self.by))
            }
        }

        /// Estimates the quotient from below. The partial sums fit in 32 bits.
        #[inline]
        fn estimate(self, number: u32) -> u32 {
            let upper = (number >> 16).wrapping_mul(self.reciprocal);
            let lower = (number & 0xffff).wrapping_mul(self.reciprocal) >> 16;
            upper.wrapping_add(lower) >> self.shift
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        #[cfg_attr(miri, ignore = "arithmetic, thousands of times over")]
        fn it_is_division() {
            let powers = (0..32).map(|bit| 1_u32 << bit);
            let rates = [3, 1_000, 32_768, 48_000, 1_000_000, 64_000_000, 4_294_967];
            let near = |n: u32| [n.wrapping_sub(1), n, n.wrapping_add(1)];
            let numbers = || {
                powers
                    .clone()
                    .chain([1_000_000, 0xcccc_cccc])
                    .flat_map(near)
            };
            let divisors = rates.into_iter().chain(numbers()).filter(|&d| d > 0);
            for divisor in divisors {
                let by = Divisor::new(divisor);
                let multiples = numbers().map(|n| n / divisor * divisor).flat_map(near);
                for number in numbers().chain(multiples) {
                    let expected = (number / divisor, number % divisor);
                    assert_eq!(by.divide(number), expected, "{number} / {divisor}");
                    if expected.0 < 1 << 15 {
                        assert_eq!(by.divide_small(number), expected.0, "{number} / {divisor}");
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::arithmetic_side_effects, reason = "a test fails by panicking")]

    use core::cell::Cell;
    use core::sync::atomic::AtomicU32;

    use super::*;
    use crate::LocalWord;

    fn agrees_with_a_64_bit_counter<const HZ: u32>(from: u64, step: u64, steps: u64) {
        let total = Cell::new(from);
        #[expect(clippy::cast_possible_truncation, reason = "a 32-bit counter wraps")]
        let uptime = Uptime::<HZ, _, LocalWord<u32>>::new(|| total.get() as u32);
        for _ in 0..steps {
            total.set(total.get() + step);
            let ticks = total.get() - from;
            let (seconds, ticks) = (ticks / u64::from(HZ), ticks % u64::from(HZ));
            let shown = uptime.uptime();
            assert_eq!(shown.as_secs(), seconds, "{HZ} {from} {step}");
            assert_eq!(
                u64::from(shown.subsec_millis()),
                ticks * 1_000 / u64::from(HZ)
            );
        }
    }

    #[test]
    fn it_is_exact_over_many_turns() {
        let steps = if cfg!(miri) { 20 } else { 500 };
        for from in [0, 1, 0xffff_fff0, 0x7fff_ffff] {
            // The longest step that is allowed, one that is short, one that is odd.
            for share in [1, 7, 1 << 20] {
                let step = |hz: u64| ((1 << 32) - hz) / share;
                agrees_with_a_64_bit_counter::<1_000>(from, step(1_000), steps);
                agrees_with_a_64_bit_counter::<32_768>(from, step(32_768), steps);
                agrees_with_a_64_bit_counter::<1_000_000>(from, step(1_000_000), steps);
                agrees_with_a_64_bit_counter::<64_000_000>(from, step(64_000_000), steps);
            }
        }
    }

    #[test]
    fn counter_from_zero_can_be_static() {
        static UPTIME: Uptime<1_000, fn() -> u32, AtomicU32> = Uptime::since_zero(|| 2_500);
        assert_eq!(UPTIME.uptime(), Duration::from_millis(2_500));
        assert_eq!(UPTIME.uptime(), Duration::from_millis(2_500));
    }

    #[test]
    fn an_overtaken_call_reads_word_and_counter_again() {
        let (count, depth) = (Cell::new(0_u32), Cell::new(0));
        let uptime = Cell::new(None::<&Uptime<10, &dyn Fn() -> u32, LocalWord<u32>>>);
        let read = || {
            // An interrupt: it comes after the word was read, and takes the time itself.
            if depth.replace(depth.get() + 1) == 0 {
                count.set(count.get() + 25);
                let seen = uptime.get().map(Monotonic::uptime);
                assert!(seen.is_none_or(|seen| seen == Duration::from_millis(2_500)));
            }
            count.get()
        };
        depth.set(1);
        let clock = Uptime::new(&read as &dyn Fn() -> u32);
        uptime.set(Some(&clock));
        depth.set(0);
        assert_eq!(clock.uptime(), Duration::from_millis(2_500));
    }
}
