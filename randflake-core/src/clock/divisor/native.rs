//! Where the processor divides, or has the upper half of a product, by which the compiler divides.

/// A divisor, above 0.
#[derive(Clone, Copy)]
pub(crate) struct Divisor(u32);

impl Divisor {
    pub(crate) const fn new(divisor: u32) -> Self {
        Self(divisor)
    }

    /// The quotient and the rest.
    #[inline]
    pub(crate) fn divide(self, number: u32) -> (u32, u32) {
        // The divisor is not zero: checked division leaves no panic in the code.
        let quotient = number.checked_div(self.0).unwrap_or_default();
        (quotient, number.wrapping_sub(quotient.wrapping_mul(self.0)))
    }

    /// The quotient, which is below 2^15.
    #[inline]
    pub(crate) fn divide_small(self, number: u32) -> u32 {
        self.divide(number).0
    }
}
