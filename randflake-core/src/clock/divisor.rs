//! Division by a constant, in the way that suits the processor.

#[cfg(not(all(target_arch = "arm", not(target_has_atomic = "32"))))]
mod native {
    //! For processors with a division, or with the upper half of a product, which the compiler
    //! divides by.

    /// A constant divisor above 0.
    #[derive(Clone, Copy)]
    pub(crate) struct Divisor(u32);

    impl Divisor {
        pub(crate) const fn new(divisor: u32) -> Self {
            Self(divisor)
        }

        /// Returns quotient and remainder.
        #[inline]
        pub(crate) fn divide(self, number: u32) -> (u32, u32) {
            // Never zero; checked division leaves no panic in the code.
            let quotient = number.checked_div(self.0).unwrap_or_default();
            (quotient, number.wrapping_sub(quotient.wrapping_mul(self.0)))
        }

        /// Returns the quotient, which must be below 2^15.
        #[inline]
        pub(crate) fn divide_small(self, number: u32) -> u32 {
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
    pub(crate) struct Divisor {
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
        pub(crate) const fn new(divisor: u32) -> Self {
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
        pub(crate) fn divide(self, number: u32) -> (u32, u32) {
            self.divide_in(self.passes, number)
        }

        /// Returns the quotient, which must be below 2^15.
        #[inline]
        pub(crate) fn divide_small(self, number: u32) -> u32 {
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

#[cfg(not(all(target_arch = "arm", not(target_has_atomic = "32"))))]
pub(super) use native::Divisor;
#[cfg(all(target_arch = "arm", not(target_has_atomic = "32")))]
pub(super) use reciprocal::Divisor;
