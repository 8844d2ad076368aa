//! Terms of a counter: how it counts.

mod dated_numbers;

use core::error::Error;
use core::fmt::{self, Display, Formatter};

use randflake_core::segment::{MAX_NUMBER, ReserveError, Segment};

pub use self::dated_numbers::{DatedNumbers, Period, UtcOffset};

/// How a counter counts: fixed when it is begun, kept in its record, and compared with what clients
/// name.
///
/// ```
/// use randflake_lease::{CounterTerms, DatedNumbers, Period};
///
/// assert_eq!(CounterTerms::default().to_string(), "1, 2, 3, ...");
/// assert_eq!(CounterTerms::stepped(2, 5)?.to_string(), "from 2 in steps of 5");
/// let dated = CounterTerms::dated(DatedNumbers::new(Period::Day, 6)?);
/// assert_eq!(dated.to_string(), "anew each day (UTC), with 6 digits");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterTerms {
    first: u64,
    step: u64,
    dates: Option<DatedNumbers>,
}

impl Default for CounterTerms {
    /// 1, 2, 3, and so on.
    fn default() -> Self {
        Self {
            first: 1,
            step: 1,
            dates: None,
        }
    }
}

impl CounterTerms {
    /// The numbers `first`, `first + step`, `first + 2 * step`, and so on.
    ///
    /// Counters that know nothing of each other, in as many stores as the step, never issue the
    /// same number if each has another first number from 1 to the step.
    ///
    /// # Errors
    ///
    /// [`CounterTermsError::Numbers`] unless both are from 1 to [`MAX_NUMBER`], and at least one
    /// number follows.
    pub fn stepped(first: u64, step: u64) -> Result<Self, CounterTermsError> {
        Segment::stepped(first, 1, step)?;
        Ok(Self {
            first,
            step,
            dates: None,
        })
    }

    /// Numbers that begin anew with each day, month or year.
    #[must_use]
    pub const fn dated(numbers: DatedNumbers) -> Self {
        Self {
            first: 1,
            step: 1,
            dates: Some(numbers),
        }
    }

    /// The first number; 1 if numbers have dates.
    #[must_use]
    pub const fn first(&self) -> u64 {
        self.first
    }

    /// By how much each number is above the one before it.
    #[must_use]
    pub const fn step(&self) -> u64 {
        self.step
    }

    /// The dates of the numbers, if they have any.
    #[must_use]
    pub const fn dates(&self) -> Option<DatedNumbers> {
        self.dates
    }

    /// A number as text: digits, with its date in front if it has one.
    #[must_use]
    pub fn text(&self, number: u64) -> String {
        match &self.dates {
            Some(dates) => dates.text(number),
            None => number.to_string(),
        }
    }

    /// The number of a text: digits, or what [`text`](Self::text) returns.
    #[must_use]
    pub fn number(&self, text: &str) -> Option<u64> {
        let plain = || {
            let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|_| is_plain)
        };
        self.dates
            .and_then(|dates: DatedNumbers| dates.number(text))
            .or_else(plain)
    }

    /// The terms of stored words.
    pub(crate) fn of_words(first: u64, step: u64, dates: &str) -> Option<Self> {
        let terms = if dates.is_empty() {
            Self::stepped(first, step).ok()?
        } else {
            Self::dated(DatedNumbers::of_words(dates)?)
        };
        // Other words for the same terms are no record of this program's.
        (terms.first == first && terms.step == step).then_some(terms)
    }
}

/// As they follow the word "counts".
impl Display for CounterTerms {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (self.dates, self.first, self.step) {
            (Some(dates), ..) => Display::fmt(&dates, f),
            (None, 1, 1) => f.write_str("1, 2, 3, ..."),
            (None, first, step) => write!(f, "from {first} in steps of {step}"),
        }
    }
}

/// Error of making [`CounterTerms`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CounterTermsError {
    /// The first number or the step is out of range.
    Numbers(ReserveError),
    /// The number of digits is out of range.
    Digits {
        /// Number that was given.
        digits: u8,
    },
    /// The text is no time zone that is known here.
    Zone(String),
}

impl From<ReserveError> for CounterTermsError {
    fn from(error: ReserveError) -> Self {
        Self::Numbers(error)
    }
}

impl Display for CounterTermsError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Numbers(ReserveError::Exhausted { .. }) => {
                write!(
                    f,
                    "no number follows on the first one: {MAX_NUMBER} is the last"
                )
            }
            Self::Numbers(error) => Display::fmt(error, f),
            Self::Digits { digits } => write!(
                f,
                "{digits} digits are out of range: 1 to {} are allowed",
                DatedNumbers::MAX_DIGITS
            ),
            Self::Zone(zone) => write!(
                f,
                "{zone:?} is no offset from UTC: write UTC, or hours and minutes such as +05:30 or -03:00"
            ),
        }
    }
}

impl Error for CounterTermsError {}
