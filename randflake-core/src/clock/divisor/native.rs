//! For processors with a division, or with the upper half of a product, which the compiler divides by.

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
