//! Windows of numbers: those that a counter may reserve next, and where it may go on.

use core::time::Duration;

use randflake_core::segment::{MAX_NUMBER, ReserveError, Segment};

use super::{CounterRecord, CounterRefusal};
use crate::date::{span, utc};
use crate::types::{CounterTerms, DatedNumbers, MAX_SKEW};

/// Numbers that a counter may reserve next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Window {
    /// The next number, never below the record's.
    first: u64,
    /// Number of the period's last one plus 1, and how long until the next period; `None` without
    /// periods.
    period: Option<(u64, Duration)>,
}

/// Numbers that were reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// The numbers.
    pub segment: Segment,
    /// How their counter counts.
    pub terms: CounterTerms,
    /// How long until their period ends by the store's clock; `None` if they have none.
    pub lasts: Option<Duration>,
}

/// No clock that is set shows a time before it: this library is younger.
const OLDEST: Duration = Duration::from_secs(1_730_000_000);

impl Window {
    fn of(record: &CounterRecord, now: Duration) -> Result<Self, CounterRefusal> {
        let Some(dates) = record.terms.dates() else {
            return Ok(Self {
                first: record.next,
                period: None,
            });
        };
        if now < OLDEST {
            let now = utc(now);
            return Err(CounterRefusal::ClockNotSet(format!(
                "its clock shows {now}, so the date of a number is not known"
            )));
        }
        let at = dates.period_at(now).ok_or_else(|| {
            let now = utc(now);
            CounterRefusal::ClockNotSet(format!("its clock shows {now}, which is too late"))
        })?;
        let reached = reached_period(dates, record.next);
        let (date, end) = if reached > at.date {
            // Else a clock that is some seconds behind, as another server's is, would refuse for as
            // long at each turn.
            let begin = dates.begin_of(reached).unwrap_or(Duration::MAX);
            let passes_in = begin.saturating_sub(now);
            if passes_in > MAX_SKEW {
                return Err(ahead(dates, record, now, begin));
            }
            let end = dates.period_at(begin).map(|at| at.end);
            (reached, end.unwrap_or(Duration::MAX))
        } else {
            (at.date, at.end)
        };
        let begin = date.saturating_mul(dates.in_period());
        Ok(Self {
            first: record.next.max(begin.saturating_add(1)),
            period: Some((
                begin.saturating_add(dates.in_period()),
                end.saturating_sub(now),
            )),
        })
    }
}

/// Date of the last number that may have been reserved; 0 if none was.
fn reached_period(dates: DatedNumbers, next: u64) -> u64 {
    // Not of the next one: behind the last number of a period, that would be the first of no period
    // at all.
    dates.date_and_count(next.saturating_sub(1)).0
}

fn ahead(
    dates: DatedNumbers,
    record: &CounterRecord,
    now: Duration,
    begin: Duration,
) -> CounterRefusal {
    let next = dates.text(record.next);
    let (date, _) = dates.date_and_count(record.next.saturating_sub(1));
    let passes_in = begin.saturating_sub(now);
    CounterRefusal::Ahead {
        passes_in,
        message: format!(
            "numbers of {date} were reserved while the store's clock was ahead, and it shows {} now: no number is issued until \
             {} (in {}), since dates never go back, and those of {date} then go on at {next}. If that is too long, set the \
             clock right and begin another counter, of another namespace, above today's last number",
            utc(now),
            utc(begin),
            span(passes_in),
        ),
    }
}

fn segment(next: u64, count: u64, step: u64) -> Result<Segment, CounterRefusal> {
    Segment::stepped(next, count, step).map_err(|error| CounterRefusal::Invalid(error.to_string()))
}

/// The next numbers at a time of the engine's clock.
pub(super) fn reserved(
    record: &CounterRecord,
    now: Duration,
    count: u64,
) -> Result<Reservation, CounterRefusal> {
    let Window { first, period } = Window::of(record, now)?;
    if let (Some(dates), Some((end, passes_in))) = (record.terms.dates(), period) {
        let left = end.saturating_sub(first);
        if count > left {
            return Err(full(dates, end, count, left, passes_in));
        }
    }
    Ok(Reservation {
        segment: segment(first, count, record.terms.step())?,
        terms: record.terms,
        lasts: period.map(|(_, passes_in)| passes_in),
    })
}

fn full(
    dates: DatedNumbers,
    end: u64,
    count: u64,
    left: u64,
    passes_in: Duration,
) -> CounterRefusal {
    let last = dates.text(end.saturating_sub(1));
    let (date, most) = dates.date_and_count(end.saturating_sub(1));
    CounterRefusal::Full {
        left,
        passes_in,
        message: format!(
            "{count} numbers asked for: {date} has {left} of its {most} numbers left, the last of which is {last}. Those of the \
             next {} begin in {}; a counter of more digits is another one, of another namespace",
            dates.period(),
            span(passes_in),
        ),
    }
}

/// The first number of a counter that is not below another one.
pub(super) fn aligned(terms: &CounterTerms, number: u64) -> Result<u64, CounterRefusal> {
    let (first, step) = (terms.first(), terms.step());
    let steps = number.saturating_sub(first).div_ceil(step);
    let next = steps
        .checked_mul(step)
        .and_then(|sum| sum.checked_add(first));
    // One that has issued its last number stands behind it.
    next.filter(|next| *next <= MAX_NUMBER + 1).ok_or_else(|| {
        CounterRefusal::Invalid(format!(
            "there is no number from {number} on that counts {terms}"
        ))
    })
}

/// Refuses a number that a counter never stands at.
pub(super) fn resumable(
    terms: &CounterTerms,
    number: u64,
    now: Duration,
) -> Result<(), CounterRefusal> {
    let invalid = |error: ReserveError| CounterRefusal::Invalid(error.to_string());
    Segment::new(number, 1).map_err(invalid)?;
    let Some(dates) = terms.dates() else {
        return Ok(());
    };
    let (date, count) = dates.date_and_count(number);
    let begin = dates.begin_of(date).filter(|_| count > 0).ok_or_else(|| {
        let at = dates.period_at(now);
        let example = at.map_or(number, |at| at.date.saturating_mul(dates.in_period()) + 1);
        CounterRefusal::Invalid(format!(
            "{number} is no number of a counter that counts {terms}: they are like {} (or {example})",
            dates.text(example)
        ))
    })?;
    // A mistyped year would end all numbers until then.
    if begin > now.saturating_add(MAX_SKEW) {
        return Err(CounterRefusal::Invalid(format!(
            "{} is a number of a {} that has not begun: the store's clock shows {}",
            dates.text(number),
            dates.period(),
            utc(now)
        )));
    }
    Ok(())
}

/// Where a counter goes on, as its store shows it: the next number as of now.
pub(crate) fn next_number(record: &CounterRecord, now: Duration) -> u64 {
    Window::of(record, now).map_or(record.next, |window| window.first)
}

/// How long a counter issues nothing because the engine's clock was ahead.
pub(crate) fn ahead_for(record: &CounterRecord, now: Duration) -> Option<Duration> {
    match Window::of(record, now) {
        Err(CounterRefusal::Ahead { passes_in, .. }) => Some(passes_in),
        _ => None,
    }
}
