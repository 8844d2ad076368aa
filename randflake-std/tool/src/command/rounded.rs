//! Decimal numbers that a floating-point number has passed through: each still reads as an id, of
//! another time and node.

use crate::failure::Failure;
use randflake_common::form::TextFormat;
use randflake_common::layout::IdEncryption;

/// With 18 digits or more: a spreadsheet keeps 15, a `float64` at most 17.
const LONG: u64 = 100_000_000_000_000_000;
/// With 16 digits, the most that ids of 53 bits have: a `float64` keeps all of them, a spreadsheet
/// does not.
const LONG_53: u64 = 1_000_000_000_000_000;
/// So many cannot all look so by chance: of ids of 64 bits one in some hundred does, of 53 bits one
/// in ten.
const FEWEST: u64 = 8;
/// Fewer 53-bit ids than these say nothing.
const FEWEST_53: u64 = 3;
/// Bits of the sequence of a Snowflake. Most ids of a service that is seldom asked have the
/// sequence 0, so they end in as many bits of zero and a `float64` keeps them as they are.
const SEQUENCE_BITS: u32 = 12;

/// The option of commands that read decimal ids.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct RoundedArgs {
    /// Take decimal ids as they are, although all of them look as if a floating-point number had
    /// rounded them
    #[arg(long)]
    not_rounded: bool,
}

impl RoundedArgs {
    /// `ids` is the form of the ids, where it is known.
    pub(crate) fn check(self, form: TextFormat, ids: Option<IdEncryption>) -> Rounded {
        let is_decimal = matches!(form, TextFormat::Int | TextFormat::Uint | TextFormat::Bytes);
        Rounded {
            form,
            ids,
            is_watching: is_decimal && !self.not_rounded,
            count: 0,
            first: 0,
        }
    }
}

/// Watches the ids of an input until one of them shows that none was rounded.
#[derive(Debug)]
pub(crate) struct Rounded {
    form: TextFormat,
    ids: Option<IdEncryption>,
    is_watching: bool,
    /// Ids so far that look rounded.
    count: u64,
    first: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Rounded,
    /// Nothing that rounds would have kept these digits.
    Whole,
    /// Nothing would have changed it, so it says nothing.
    Neither,
}

impl Rounded {
    /// How the ids are written.
    pub(crate) fn form(&self) -> TextFormat {
        self.form
    }

    /// Fails once all of the first ids look rounded, and there are enough of them.
    pub(crate) fn watch(&mut self, numbers: impl IntoIterator<Item = u64>) -> Result<(), Failure> {
        for number in numbers {
            if !self.is_watching {
                break;
            }
            match self.look(number) {
                Look::Rounded => {
                    if self.count == 0 {
                        self.first = number;
                    }
                    self.count += 1;
                }
                Look::Whole => self.is_watching = false,
                Look::Neither => {}
            }
            if self.count == FEWEST {
                return Err(self.refusal());
            }
        }
        Ok(())
    }

    /// A warning of an input that ended before there were enough ids to refuse it.
    pub(crate) fn warning(&self) -> Option<String> {
        let least = match self.ids {
            Some(IdEncryption::Bits53) => FEWEST_53,
            _ => 1,
        };
        if !self.is_watching || self.count < least {
            return None;
        }
        Some(match self.count {
            1 => self.warning_of(self.first),
            count => format!(
                "warning: all {count} long ids {}: {}",
                self.looks(self.first),
                self.consequence()
            ),
        })
    }

    /// A warning of one id by itself.
    pub(crate) fn warning_alone(&self, number: u64) -> Option<String> {
        let is_told = self.is_watching && self.ids != Some(IdEncryption::Bits53);
        (is_told && self.look(number) == Look::Rounded).then(|| self.warning_of(number))
    }

    fn warning_of(&self, number: u64) -> String {
        format!(
            "warning: {} is written as a floating-point number is: if JavaScript, jq, pandas or a spreadsheet had it, its last \
             digits are probably lost, and this is another id; one id in some hundred looks so by chance",
            self.written(number)
        )
    }

    fn refusal(&self) -> Failure {
        Failure::usage(format!(
            "the first {FEWEST} long ids {}: {}; if they are right, --not-rounded takes them",
            self.looks(self.first),
            self.consequence()
        ))
    }

    fn looks(&self, number: u64) -> String {
        let number = self.written(number);
        match self.ids {
            Some(IdEncryption::Bits53) => {
                format!("end in 0, as a spreadsheet rounds them (such as {number})")
            }
            _ => format!("are written as floating-point numbers are (such as {number})"),
        }
    }

    fn consequence(&self) -> &'static str {
        match self.ids {
            Some(IdEncryption::Bits53) => {
                "the last digits are probably lost, and these are other ids; read them from the source again, as text"
            }
            _ => {
                "JavaScript, jq, pandas or a spreadsheet had them, the last digits are probably lost, and these are other ids; \
                 read them from the source again, as text or as whole numbers"
            }
        }
    }

    fn written(&self, number: u64) -> String {
        let mut text = String::new();
        self.form
            .append(randflake_std::Id::from_u64(number), &mut text);
        text
    }

    fn look(&self, number: u64) -> Look {
        let digits = match self.form {
            TextFormat::Int => number.cast_signed().unsigned_abs(),
            _ => number,
        };
        if self.ids == Some(IdEncryption::Bits53) {
            return match digits {
                ..LONG_53 => Look::Neither,
                _ if digits.is_multiple_of(10) => Look::Rounded,
                _ => Look::Whole,
            };
        }
        if digits < LONG {
            return Look::Neither;
        }
        let is_float = is_float(digits);
        match self.ids {
            // Plain or encrypted: as a `float64` keeps it, only an encrypted one can have been
            // rounded.
            None if is_float && digits.trailing_zeros() >= SEQUENCE_BITS => Look::Neither,
            // Of plain ids many end in bits of zero, and some of these also in zeros in decimal.
            Some(IdEncryption::Plain) if is_float => Look::Neither,
            _ if is_float || is_printed(digits) => Look::Rounded,
            _ => Look::Whole,
        }
    }
}

/// Whether the 53 bits of a `float64` have all of a number, as programs print that convert to
/// integers (pandas, numpy).
fn is_float(number: u64) -> bool {
    u64::BITS - number.leading_zeros() - number.trailing_zeros() <= f64::MANTISSA_DIGITS
}

/// Whether a number ends as programs write a `float64` that do not print all of its digits.
#[expect(clippy::cast_precision_loss, reason = "the loss is what is looked for")]
fn is_printed(number: u64) -> bool {
    let float = number as f64;
    // 15 digits: spreadsheets.
    number.is_multiple_of(1_000)
        // The shortest digits that read as the same float: JavaScript, jq, DuckDB.
        || number.to_string() == float.to_string()
        // 17 digits: jq 1.7, `%.17g`.
        || Some(number) == with_17_digits(float)
}

fn with_17_digits(float: f64) -> Option<u64> {
    let text = format!("{float:.16e}");
    let (digits, exponent) = text.split_once('e')?;
    let digits: u64 = digits.replace('.', "").parse().ok()?;
    let zeros = exponent.parse::<u32>().ok()?.checked_sub(16)?;
    digits.checked_mul(10_u64.checked_pow(zeros)?)
}

#[cfg(test)]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "what the programs do that are stood in for"
)]
mod tests {
    use super::*;

    fn rounded(ids: Option<IdEncryption>) -> Rounded {
        RoundedArgs { not_rounded: false }.check(TextFormat::Uint, ids)
    }

    /// Numbers as encrypted ids are.
    fn numbers() -> impl Iterator<Item = u64> {
        (1..=10_000_u64).map(|row| row.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 1)
    }

    #[test]
    fn whatever_prints_a_float_is_recognised() {
        let printers: [fn(u64) -> u64; 4] = [
            // pandas
            |number| number as f64 as u64,
            // JavaScript
            |number| (number as f64).to_string().parse().unwrap(),
            // C's %.17g
            |number| with_17_digits(number as f64).unwrap(),
            // a spreadsheet
            |number| {
                let unit = 10_u64.pow(number.ilog10() - 14);
                number / unit * unit
            },
        ];
        for (index, print) in printers.into_iter().enumerate() {
            let rounded = rounded(Some(IdEncryption::Bits64));
            for number in numbers().filter(|number| *number >= 2 * LONG) {
                let printed = print(number);
                assert_eq!(rounded.look(printed), Look::Rounded, "{index}: {printed}");
            }
        }
    }

    #[test]
    fn few_whole_numbers_look_rounded() {
        for ids in [None, Some(IdEncryption::Plain), Some(IdEncryption::Bits64)] {
            let rounded = rounded(ids);
            let looks = numbers().filter(|number| rounded.look(*number) == Look::Rounded);
            let count = looks.count();
            assert!((10..150).contains(&count), "{ids:?}: {count} of 10,000");
        }
    }

    /// The sequence is 0, so pandas keeps all bits, and JavaScript does not keep the digits.
    #[test]
    fn snowflakes_that_a_float_keeps_are_taken() {
        let snowflakes = (0..1_000).map(|ms| 1_800_000_123_456_u64 + 977 * ms);
        let ids: Vec<u64> = snowflakes
            .map(|ms| (ms - 1_288_834_974_657) << 22 | 3 << 12)
            .collect();
        for form in [None, Some(IdEncryption::Plain)] {
            let taken = ids.iter().map(|id| rounded(form).look(*id));
            assert_eq!(taken.filter(|look| *look == Look::Rounded).count(), 0);
            rounded(form).watch(ids.iter().copied()).unwrap();
            let digits = ids.iter().map(|id| (*id as f64).to_string());
            let printed = digits.map(|digits| digits.parse().unwrap());
            rounded(form).watch(printed).unwrap_err();
        }
    }
}
