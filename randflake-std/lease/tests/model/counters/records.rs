//! Records of a counter, in a few bytes; and as the shipped rules see it.

use core::time::Duration;

use randflake_lease::unstable::rules::{CounterRecord, Form};
use randflake_lease::{CounterTerms, DatedNumbers, Period};

use crate::records::small;

/// 2026-11-27T00:00:00Z
const FIRST_DAY: Duration = Duration::from_secs(1_795_737_600);
const DAY: Duration = Duration::from_secs(86_400);
/// Digits of the dates.
const DAYS: [u64; 2] = [20_261_127, 20_261_128];

/// What a clock shows that was never set.
pub(crate) const NOT_SET: Duration = Duration::ZERO;
/// Noon of each day.
pub(crate) const NOONS: [Duration; 2] = [
    Duration::from_secs(FIRST_DAY.as_secs() + DAY.as_secs() / 2),
    Duration::from_secs(FIRST_DAY.as_secs() + DAY.as_secs() * 3 / 2),
];
/// Before the second day, by less than the skew that is allowed.
pub(crate) const BEFORE_MIDNIGHT: Duration =
    Duration::from_secs(FIRST_DAY.as_secs() + DAY.as_secs() - 5);

/// When a day begins.
pub(crate) fn begin_of(date: u64) -> Duration {
    let days = u32::try_from(date.saturating_sub(DAYS[0])).unwrap();
    FIRST_DAY + DAY * days
}

/// How a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Counts {
    Plain,
    /// From 2 in steps of 5.
    Fives,
    /// From 3 in steps of 5.
    OtherFives,
    /// Anew each day, with one digit.
    Daily,
}

impl Counts {
    const ALL: [Self; 4] = [Self::Plain, Self::Fives, Self::OtherFives, Self::Daily];

    pub(crate) fn terms(self) -> CounterTerms {
        match self {
            Self::Plain => CounterTerms::default(),
            Self::Fives => CounterTerms::stepped(2, 5).unwrap(),
            Self::OtherFives => CounterTerms::stepped(3, 5).unwrap(),
            Self::Daily => CounterTerms::dated(DatedNumbers::new(Period::Day, 1).unwrap()),
        }
    }

    pub(crate) fn of(terms: CounterTerms) -> Self {
        let mut all = Self::ALL.into_iter();
        all.find(|counts| counts.terms() == terms).unwrap()
    }

    /// The digits of the dates that numbers may have.
    pub(crate) fn days(self) -> &'static [u64] {
        if self == Self::Daily { &DAYS } else { &[] }
    }

    /// The date of a number; 0 if it has none.
    pub(crate) fn date(self, number: u64) -> u64 {
        let dates = self.terms().dates();
        dates.map_or(0, |dates| dates.date_and_count(number).0)
    }

    /// The first number of a day, the first or the last one; 1 if there are no days.
    pub(crate) fn first_of(self, day: usize) -> u64 {
        self.days().get(day).map_or(1, |date| date * 10 + 1)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Record {
    pub(crate) next: u64,
    pub(crate) terms: Counts,
    pub(crate) counter_nonce: u64,
    /// `None` is the mark of a loss.
    pub(crate) vouched: Option<u8>,
    pub(crate) nonce: u8,
}

impl Record {
    /// One that was declared new.
    pub(crate) fn begun(terms: Counts, counter_nonce: u64) -> Self {
        Self {
            next: terms.terms().first(),
            terms,
            counter_nonce,
            vouched: Some(0),
            nonce: 0,
        }
    }

    pub(crate) fn of(record: &CounterRecord) -> Self {
        Self {
            next: record.next,
            terms: Counts::of(record.terms),
            counter_nonce: record.counter_nonce,
            vouched: record.vouched.parse().ok(),
            nonce: small(record.nonce),
        }
    }

    pub(crate) fn shown(self) -> CounterRecord {
        CounterRecord {
            next: self.next,
            terms: self.terms.terms(),
            counter_nonce: self.counter_nonce,
            vouched: self.vouched.map(fingerprint).unwrap_or_default(),
            nonce: self.nonce.into(),
            form: Form::default(),
        }
    }
}

pub(crate) fn fingerprint(number: u8) -> String {
    number.to_string()
}
