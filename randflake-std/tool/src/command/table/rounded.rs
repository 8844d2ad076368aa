//! Ids whose last digits somebody has rounded away: each still reads as an id, of another time and node.

use crate::form::TextForm;
use crate::id_form::IdForm;

/// With 18 digits or more: a spreadsheet keeps 15, a `float64` at most 17.
const LONG: u64 = 100_000_000_000_000_000;
/// With 16 digits, the most that ids of 53 bits have: a `float64` keeps all of them, a spreadsheet does not.
const LONG_53: u64 = 1_000_000_000_000_000;
/// So many cannot all be so by chance: one random id in 1,000 ends in three zeros, one in some hundred is a `float64`. Of 53 bits
/// one in ten ends in a zero.
const FEWEST: u64 = 8;

/// Counts ids that look rounded.
pub(super) struct Rounded {
    form: TextForm,
    ids: IdForm,
    long: u64,
    zeros: u64,
    floats: u64,
}

impl Rounded {
    pub(super) fn new(form: TextForm, ids: IdForm) -> Self {
        Self {
            form,
            ids,
            long: 0,
            zeros: 0,
            floats: 0,
        }
    }

    pub(super) fn count(&mut self, numbers: &[u64]) {
        let (long, zeros) = match self.ids {
            IdForm::Bits53 => (LONG_53, 10),
            IdForm::Plain | IdForm::Bits64 => (LONG, 1_000),
        };
        for number in numbers {
            let digits = match self.form {
                TextForm::Int => number.cast_signed().unsigned_abs(),
                TextForm::Uint => *number,
                // Letters are not rounded.
                _ => return,
            };
            if digits >= long {
                self.long += 1;
                self.zeros += u64::from(digits.is_multiple_of(zeros));
                self.floats += u64::from(is_float(digits));
            }
        }
    }

    /// A warning if all of them do.
    pub(super) fn warning(&self) -> Option<String> {
        let is_random = self.ids == IdForm::Bits64;
        let (digits, look) = match self.long {
            ..FEWEST => return None,
            long if self.zeros == long => match self.ids {
                IdForm::Bits53 => ("16 digits", "end in 0, as a spreadsheet rounds them"),
                _ => (
                    "18 digits or more",
                    "end in 000, as a spreadsheet rounds them",
                ),
            },
            // Of plain ids many end in bits of zero.
            long if is_random && self.floats == long => {
                ("18 digits or more", "are numbers that a float64 keeps")
            }
            _ => return None,
        };
        Some(format!(
            "warning: all ids of {digits} {look}: the last digits are probably lost, and these are other ids; \
             read them from the source again, as text or as whole numbers"
        ))
    }
}

/// Whether the 53 bits of a `float64` have all of a number.
fn is_float(number: u64) -> bool {
    u64::BITS - number.leading_zeros() - number.trailing_zeros() <= f64::MANTISSA_DIGITS
}
