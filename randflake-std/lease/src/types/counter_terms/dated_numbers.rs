//! Numbers that begin anew with each period.

use core::fmt::{self, Display, Formatter};
use core::str::FromStr;
use core::time::Duration;

use super::CounterTermsError;

const DAY_S: i64 = 86_400;

/// When numbers begin anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// Each day: `20261128-000123`.
    Day,
    /// Each month: `202611-000123`.
    Month,
    /// Each year: `2026-000123`.
    Year,
}

/// By how much a place's clocks are ahead of UTC, the same all year: `UTC`, `+05:30`.
///
/// A day begins at midnight there. It is no time zone with a name: such zones change their offset
/// in summer, and their rules from year to year, and stores would disagree about them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UtcOffset {
    minutes: i16,
}

impl UtcOffset {
    /// UTC itself.
    pub const UTC: Self = Self { minutes: 0 };
}

/// `UTC`, `Z`, or hours and minutes: `+05:30`.
impl FromStr for UtcOffset {
    type Err = CounterTermsError;

    fn from_str(text: &str) -> Result<Self, CounterTermsError> {
        /// No place is further from UTC than 14 hours.
        const MOST: i16 = 14 * 60;

        if matches!(text, "UTC" | "Z") {
            return Ok(Self::UTC);
        }
        let read = || {
            let sign = match text.as_bytes().first()? {
                b'+' => 1,
                b'-' => -1,
                _ => return None,
            };
            let (hours, minutes) = text.get(1..)?.split_once(':')?;
            let two = |digits: &str| {
                let is_two = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
                digits.parse::<i16>().ok().filter(|_| is_two)
            };
            let (hours, minutes) = (two(hours)?, two(minutes).filter(|minutes| *minutes < 60)?);
            let all = hours * 60 + minutes;
            (all <= MOST).then_some(Self {
                minutes: sign * all,
            })
        };
        read().ok_or_else(|| CounterTermsError::Zone(text.to_owned()))
    }
}

impl Display for UtcOffset {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.minutes == 0 {
            return f.write_str("UTC");
        }
        let sign = if self.minutes < 0 { '-' } else { '+' };
        let minutes = self.minutes.unsigned_abs();
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

/// Numbers with a date, which begin at 1 with each period: `20261128-000123`.
///
/// A number is the date's digits followed by as many digits as chosen, so later numbers are higher,
/// and the text sorts as the number does. The date is that of the store's clock when the number was
/// reserved.
///
/// ```
/// use randflake_lease::{DatedNumbers, Period};
///
/// let numbers = DatedNumbers::new(Period::Day, 6)?.at("+01:00".parse()?);
/// assert_eq!(numbers.text(20261128000123), "20261128-000123");
/// assert_eq!(numbers.number("20261128-000123"), Some(20261128000123));
/// assert_eq!(numbers.date_and_count(20261128000123), (20261128, 123));
/// # Ok::<(), randflake_lease::CounterTermsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatedNumbers {
    period: Period,
    digits: u8,
    offset: UtcOffset,
}

/// A period at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PeriodAt {
    /// Digits of its date.
    pub(crate) date: u64,
    /// When the next one begins, in Unix time.
    pub(crate) end: Duration,
}

impl DatedNumbers {
    /// The most digits of a number behind its date: with those of a day, all fit 63 bits until the
    /// year 9223.
    pub const MAX_DIGITS: u8 = 10;

    /// Numbers of a period in UTC with so many digits behind the date: 6 let a period have 999,999
    /// numbers.
    ///
    /// # Errors
    ///
    /// [`CounterTermsError::Digits`] unless they are 1 to 10.
    pub fn new(period: Period, digits: u8) -> Result<Self, CounterTermsError> {
        if !(1..=Self::MAX_DIGITS).contains(&digits) {
            return Err(CounterTermsError::Digits { digits });
        }
        Ok(Self {
            period,
            digits,
            offset: UtcOffset::UTC,
        })
    }

    /// The same by the calendar of a place that is ahead of UTC.
    #[must_use]
    pub const fn at(mut self, offset: UtcOffset) -> Self {
        self.offset = offset;
        self
    }

    /// When numbers begin anew.
    #[must_use]
    pub const fn period(&self) -> Period {
        self.period
    }

    /// The number of digits behind the date.
    #[must_use]
    pub const fn digits(&self) -> u8 {
        self.digits
    }

    /// By whose calendar.
    #[must_use]
    pub const fn offset(&self) -> UtcOffset {
        self.offset
    }

    /// The number as text: `20261128-000123`.
    #[must_use]
    pub fn text(&self, number: u64) -> String {
        let (date, count) = self.date_and_count(number);
        let (dates, digits) = (self.period.digits(), usize::from(self.digits));
        format!("{date:0dates$}-{count:0digits$}")
    }

    /// The number of a text; `None` if it is none, or has another number of digits.
    #[must_use]
    pub fn number(&self, text: &str) -> Option<u64> {
        let (date, count) = text.split_once('-')?;
        let read = |digits: &str, len: usize| {
            let is_read = digits.len() == len && digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse::<u64>().ok().filter(|_| is_read)
        };
        let date = read(date, self.period.digits())?;
        let count = read(count, self.digits.into())?;
        date.checked_mul(self.in_period())?.checked_add(count)
    }

    /// The digits of a number's date, and its place among those of the date.
    #[must_use]
    pub const fn date_and_count(&self, number: u64) -> (u64, u64) {
        let in_period = self.in_period();
        (number / in_period, number % in_period)
    }

    /// One more than the highest number of a period without its date.
    pub(crate) const fn in_period(self) -> u64 {
        10_u64.pow(self.digits as u32)
    }

    /// The period at a time of the store's clock; `None` after the year 9222, when numbers would
    /// not fit.
    pub(crate) fn period_at(self, now: Duration) -> Option<PeriodAt> {
        let local = self.local(now)?;
        let date = self.period.begin(Date::of_days(local.div_euclid(DAY_S)));
        (date.year <= 9_222).then_some(())?;
        let next = self.period.next(date);
        Some(PeriodAt {
            date: self.period.number(date),
            end: self.begins(next),
        })
    }

    /// When the period with these digits begins, in Unix time; `None` if there is no such date.
    pub(crate) fn begin_of(self, digits: u64) -> Option<Duration> {
        let date = self.period.date(digits)?;
        Some(self.begins(date))
    }

    fn local(self, unix: Duration) -> Option<i64> {
        let unix = i64::try_from(unix.as_secs()).ok()?;
        unix.checked_add(self.offset_s())
    }

    fn offset_s(self) -> i64 {
        i64::from(self.offset.minutes) * 60
    }

    fn begins(self, date: Date) -> Duration {
        let unix = date.days().saturating_mul(DAY_S) - self.offset_s();
        Duration::from_secs(u64::try_from(unix).unwrap_or_default())
    }

    /// As a counter's record has them.
    pub(crate) fn words(self) -> String {
        format!("{} {} {}", self.period, self.digits, self.offset)
    }

    pub(crate) fn of_words(words: &str) -> Option<Self> {
        let mut words = words.split(' ');
        let period = words.next()?.parse().ok()?;
        let digits = words.next()?.parse().ok()?;
        let numbers = Self::new(period, digits).ok()?;
        let offset = words.next()?.parse().ok()?;
        words.next().is_none().then(|| numbers.at(offset))
    }
}

/// As they follow the word "counts".
impl Display for DatedNumbers {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            period,
            digits,
            offset,
        } = self;
        let s = if *digits == 1 { "" } else { "s" };
        write!(f, "anew each {period} ({offset}), with {digits} digit{s}")
    }
}

impl Period {
    /// Number of digits of a date.
    const fn digits(self) -> usize {
        match self {
            Self::Day => 8,
            Self::Month => 6,
            Self::Year => 4,
        }
    }

    /// The first day of the period of a date.
    const fn begin(self, date: Date) -> Date {
        match self {
            Self::Day => date,
            Self::Month => Date { day: 1, ..date },
            Self::Year => Date {
                month: 1,
                day: 1,
                ..date
            },
        }
    }

    /// The first day of the period after that which begins on a date.
    const fn next(self, date: Date) -> Date {
        let Date { year, month, .. } = date;
        match self {
            Self::Day => Date::of_days(date.days() + 1),
            Self::Month if month < 12 => Date {
                month: month + 1,
                ..date
            },
            Self::Month | Self::Year => Date {
                year: year + 1,
                month: 1,
                day: 1,
            },
        }
    }

    /// The digits of a date.
    fn number(self, date: Date) -> u64 {
        let Date { year, month, day } = date;
        let digits = match self {
            Self::Day => (year * 100 + month) * 100 + day,
            Self::Month => year * 100 + month,
            Self::Year => year,
        };
        u64::try_from(digits).unwrap_or_default()
    }

    /// The first day of the period with these digits.
    fn date(self, digits: u64) -> Option<Date> {
        let digits = i64::try_from(digits).ok()?;
        let (year, month, day) = match self {
            Self::Day => (digits / 10_000, digits / 100 % 100, digits % 100),
            Self::Month => (digits / 100, digits % 100, 1),
            Self::Year => (digits, 1, 1),
        };
        // No clock of a store shows an earlier year.
        let is_date = (1970..=9_999).contains(&year) && (1..=12).contains(&month);
        let date = Date { year, month, day };
        // A day that the month does not have becomes another one.
        (is_date && Date::of_days(date.days()) == date).then_some(date)
    }
}

impl FromStr for Period {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "day" => Ok(Self::Day),
            "month" => Ok(Self::Month),
            "year" => Ok(Self::Year),
            _ => Err(()),
        }
    }
}

impl Display for Period {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Day => "day",
            Self::Month => "month",
            Self::Year => "year",
        })
    }
}

/// Years, months and days of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Date {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
}

impl Date {
    /// The date that is so many days after 1970-01-01.
    // Years that begin in March, so that a leap day is the last one: Howard Hinnant,
    // "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
    pub(super) const fn of_days(days: i64) -> Self {
        let days = days + 719_468;
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let month = if month_from_march < 10 {
            month_from_march + 3
        } else {
            month_from_march - 9
        };
        let is_after_turn = month <= 2;
        Self {
            year: year_of_era + era * 400 + is_after_turn as i64,
            month,
            day: day_of_year - (153 * month_from_march + 2) / 5 + 1,
        }
    }

    /// Days since 1970-01-01: `days_from_civil` of the same work.
    pub(super) const fn days(self) -> i64 {
        let Self { year, month, day } = self;
        let year = year - (month <= 2) as i64;
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let month_from_march = (month + 9) % 12;
        let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        era * 146_097 + day_of_era - 719_468
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(period: Period, offset: &str) -> DatedNumbers {
        let numbers = DatedNumbers::new(period, 6).unwrap();
        numbers.at(offset.parse().unwrap())
    }

    fn at(numbers: DatedNumbers, unix_s: u64) -> (u64, u64) {
        let at = numbers.period_at(Duration::from_secs(unix_s)).unwrap();
        (at.date, at.end.as_secs())
    }

    #[test]
    fn a_period_is_that_of_a_place() {
        // 2026-12-31T18:30:00Z, and the second before it.
        const TURN: u64 = 1_798_741_800;
        const DAY: u64 = 86_400;
        for (period, before, after, end) in [
            (Period::Day, 20_261_231, 20_270_101, TURN + DAY),
            (Period::Month, 202_612, 202_701, TURN + 31 * DAY),
            (Period::Year, 2_026, 2_027, TURN + 365 * DAY),
        ] {
            let numbers = numbers(period, "+05:30");
            assert_eq!(at(numbers, TURN - 1), (before, TURN));
            assert_eq!(at(numbers, TURN), (after, end));
            assert_eq!(numbers.begin_of(after).unwrap().as_secs(), TURN);
        }
        let utc = numbers(Period::Day, "UTC");
        assert_eq!(at(utc, TURN), (20_261_231, TURN + 5 * 3_600 + 1_800));
        let west = numbers(Period::Day, "-03:00");
        assert_eq!(at(west, TURN), (20_261_231, TURN + 8 * 3_600 + 1_800));
        assert_eq!(utc.period_at(Duration::MAX), None);
    }

    #[test]
    fn texts_have_all_digits() {
        let day = numbers(Period::Day, "UTC");
        assert_eq!(day.text(20_261_128_000_001), "20261128-000001");
        for text in [
            "20261128-1",
            "20261128000001",
            "2026-11-28",
            "20261128-00000a",
            "+0261128-000001",
            "20261128-0000001",
        ] {
            assert_eq!(day.number(text), None, "{text}");
        }
        let year = numbers(Period::Year, "UTC");
        assert_eq!(year.number("2026-000001"), Some(2_026_000_001));
        for digits in [0, 11] {
            let refused = DatedNumbers::new(Period::Day, digits).unwrap_err();
            assert!(refused.to_string().contains("1 to 10"), "{refused}");
        }
    }

    #[test]
    fn what_is_no_date_or_offset_is_refused() {
        let day = numbers(Period::Day, "UTC");
        for date in [20_260_229, 20_261_300, 20_261_131, 124, 0, 19_691_231] {
            assert_eq!(day.begin_of(date), None, "{date}");
        }
        assert!(day.begin_of(20_280_229).is_some());
        for text in [
            "",
            "+5",
            "+24:00",
            "+14:01",
            "05:30",
            "+05:60",
            "Europe/Berlin",
            "+é:00",
        ] {
            assert!(text.parse::<UtcOffset>().is_err(), "{text}");
        }
        for text in ["UTC", "+05:30", "-03:00", "+14:00"] {
            assert_eq!(text.parse::<UtcOffset>().unwrap().to_string(), text);
        }
        assert_eq!("+00:00".parse(), Ok(UtcOffset::UTC));
    }

    #[test]
    fn words_are_read_as_they_were_written() {
        let numbers = numbers(Period::Month, "-03:30");
        assert_eq!(numbers.words(), "month 6 -03:30");
        assert_eq!(DatedNumbers::of_words("month 6 -03:30"), Some(numbers));
        for words in ["", "month", "week 6 UTC", "day 11 UTC", "day 6 UTC more"] {
            assert_eq!(DatedNumbers::of_words(words), None, "{words}");
        }
    }

    #[test]
    fn days_and_dates_agree() {
        for (days, date) in [
            (0, (1970, 1, 1)),
            (11_016, (2000, 2, 29)),
            (20_785, (2026, 11, 28)),
            (2_932_896, (9999, 12, 31)),
        ] {
            let Date { year, month, day } = Date::of_days(days);
            assert_eq!((year, month, day), date);
        }
        let mut before = Date::of_days(-1);
        for days in 0..200_000 {
            let date = Date::of_days(days);
            assert_eq!(date.days(), days);
            let follows = date.day == before.day + 1
                || (date.day == 1 && date.month == before.month + 1)
                || (date.day == 1 && date.month == 1 && date.year == before.year + 1);
            assert!(follows, "{date:?} after {before:?}");
            before = date;
        }
    }
}
