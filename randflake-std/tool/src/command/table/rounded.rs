//! Ids whose last digits somebody has rounded away: each still reads as an id, of another time and node.

use crate::form::TextForm;

/// With 18 digits or more: a spreadsheet keeps 15, a `float64` at most 17.
const LONG: u64 = 100_000_000_000_000_000;
/// So many cannot all be so by chance: one random id in 1,000 ends in three zeros, one in some hundred is a `float64`.
const FEWEST: u64 = 8;

/// Counts ids that look rounded.
pub(super) struct Rounded {
    form: TextForm,
    /// Whether all ids are encrypted: of others many end in bits of zero.
    are_random: bool,
    long: u64,
    zeros: u64,
    floats: u64,
}

impl Rounded {
    pub(super) fn new(form: TextForm, are_random: bool) -> Self {
        Self {
            form,
            are_random,
            long: 0,
            zeros: 0,
            floats: 0,
        }
    }

    pub(super) fn count(&mut self, numbers: &[u64]) {
        for number in numbers {
            let digits = match self.form {
                TextForm::Int => number.cast_signed().unsigned_abs(),
                TextForm::Uint => *number,
                // Letters are not rounded.
                _ => return,
            };
            if digits >= LONG {
                self.long += 1;
                self.zeros += u64::from(digits.is_multiple_of(1_000));
                self.floats += u64::from(is_float(digits));
            }
        }
    }

    /// A warning if all of them do.
    pub(super) fn warning(&self) -> Option<String> {
        let look = match self.long {
            ..FEWEST => return None,
            long if self.zeros == long => "end in 000, as a spreadsheet rounds them",
            long if self.are_random && self.floats == long => "are numbers that a float64 keeps",
            _ => return None,
        };
        Some(format!(
            "warning: all ids of 18 digits or more {look}: the last digits are probably lost, and these are other ids; \
             read them from the source again, as text or as whole numbers"
        ))
    }
}

/// Whether the 53 bits of a `float64` have all of a number.
fn is_float(number: u64) -> bool {
    u64::BITS - number.leading_zeros() - number.trailing_zeros() <= f64::MANTISSA_DIGITS
}
