//! Counters: numbers that are handed out in segments, each once. They need no layout, and a clock
//! only for their dates.

use core::time::Duration;

use randflake_core::segment::{MAX_NUMBER, ReserveError, Segment};

use super::Form;
use super::text::{self, Fields, Line};
use crate::date::{span, utc};
use crate::types::{CounterTerms, DatedNumbers, MAX_SKEW};

/// Stored record of a counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterRecord {
    /// First number that is not reserved.
    pub next: u64,
    /// How it counts.
    pub terms: CounterTerms,
    /// Random number of the record's first write, so that one made anew is noticed; 0 since an
    /// operator resumed the counter, and so vouched for every number below `next`.
    pub counter_nonce: u64,
    /// Fingerprint of the engine under which no reservation was lost, as an operator or the store
    /// vouches; empty if a client knows of a loss, since no engine's fingerprint is.
    pub vouched: String,
    /// Nonce of the write: two clients that reserve the same count would otherwise write the same
    /// text and could not tell whose it was.
    pub nonce: u64,
    /// Versions and tail of this record.
    pub form: Form,
}

impl CounterRecord {
    /// Encodes the record as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let line = Line::of(&self.form)
            .number(self.next)
            .number(self.counter_nonce)
            .number(self.nonce)
            .text(&self.vouched)
            .number(self.terms.first())
            .number(self.terms.step());
        let dates = self.terms.dates().map(DatedNumbers::words);
        line.text(&dates.unwrap_or_default()).end()
    }

    /// The record of a text, for a program that knows a version.
    ///
    /// # Errors
    ///
    /// A sentence says what it is instead.
    pub fn from_text(text: &str, known: u8) -> Result<Self, String> {
        let record = |fields: &mut Fields<'_>| {
            Some(Self {
                next: fields.number()?,
                counter_nonce: fields.number()?,
                nonce: fields.number()?,
                vouched: fields.text()?,
                terms: {
                    let (first, step) = (fields.number()?, fields.number()?);
                    CounterTerms::of_words(first, step, &fields.text()?)?
                },
                form: fields.form(),
            })
        };
        text::read(text, known, record, Self::to_text)
    }
}

/// State of a counter as an engine has read it.
#[derive(Clone, Debug)]
pub struct CounterView {
    /// `None` if there is no counter. It is lost then: nothing tells a new counter from one whose
    /// store is another one, or was emptied.
    pub record: Option<CounterRecord>,
    /// Fingerprint of the engine.
    pub fingerprint: String,
    /// Clock of the engine, as time since the Unix epoch: for the dates of numbers.
    pub now: Duration,
}

impl CounterView {
    /// First number that is not reserved as far as the store knows; 0 if there is no counter.
    pub(crate) fn reached(&self) -> u64 {
        self.record.as_ref().map_or(0, |record| record.next)
    }

    /// The record, unless the counter may have gone back: that never heals by itself, an operator
    /// says where it goes on.
    pub(crate) fn kept(&self) -> Option<&CounterRecord> {
        // An empty `vouched` is no fingerprint, so only `resume` ends a marked loss.
        let record = self.record.as_ref();
        record.filter(|record| record.vouched == self.fingerprint)
    }
}

/// Why a rule refuses an operation on a counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CounterRefusal {
    /// The counter may have gone back, or is not there.
    Lost {
        /// The highest position that is known; 0 if there is no counter.
        reached: u64,
    },
    /// The counter began again below numbers that this process has seen reserved.
    Rewound {
        /// The highest position that is known.
        reached: u64,
    },
    /// The counter counts otherwise than the client says.
    OtherTerms {
        /// As the store has them.
        kept: CounterTerms,
        /// As the client named them.
        named: CounterTerms,
    },
    /// A period has fewer numbers left than were asked for.
    Full {
        /// Numbers that it has left.
        left: u64,
        /// When the next period begins.
        passes_in: Duration,
        /// What is full, and what can be done.
        message: String,
    },
    /// The counter is in a period that has not begun by the store's clock.
    Ahead {
        /// When it begins.
        passes_in: Duration,
        /// What was found, and what follows.
        message: String,
    },
    /// The store's clock shows a time that cannot be right.
    ClockNotSet(String),
    /// The request is out of range: a sentence says what is allowed.
    Invalid(String),
}

/// What a process has seen of a counter. In a store that forgets nothing this only grows.
#[derive(Clone, Copy, Debug, Default)]
pub struct ObservedCounter {
    counter_nonce: u64,
    /// First number that was not reserved then; 0 if nothing was seen.
    next: u64,
    terms: CounterTerms,
    /// Numbers were reserved, as far as this process has ever seen.
    is_used: bool,
}

impl ObservedCounter {
    /// Remembers a record that may be relied on.
    pub fn note(&mut self, record: &CounterRecord) {
        *self = Self {
            counter_nonce: record.counter_nonce,
            next: record.next,
            terms: record.terms,
            is_used: self.is_used || record.next > record.terms.first(),
        };
    }

    /// How it counts; `None` if nothing was seen.
    pub(crate) fn terms(self) -> Option<CounterTerms> {
        (self.next > 0).then_some(self.terms)
    }

    /// Whether a record was made anew since, other than by an operator who knew of the numbers
    /// before.
    fn is_replaced_by(self, record: &CounterRecord) -> bool {
        record.counter_nonce != self.counter_nonce && record.counter_nonce != 0
    }
}

/// The client of an operation on a counter.
#[derive(Clone, Copy, Debug)]
pub struct CounterCaller {
    /// What this process has seen of the counter.
    pub seen: ObservedCounter,
    /// How it has to count, if the client says so.
    pub terms: Option<CounterTerms>,
    /// Two numbers that nobody else has: for the counter nonce of a record, and for the nonce of a
    /// write.
    pub fresh: (u64, u64),
}

/// Answer to an operation on a counter.
#[derive(Debug)]
pub struct CounterDecision<T> {
    /// Record to write before the answer is given, also before a refusal; `None` if nothing
    /// changes.
    pub after: Option<CounterRecord>,
    /// Answer, once the record is written.
    pub answer: Result<T, CounterRefusal>,
}

impl<T> CounterDecision<T> {
    fn unchanged(answer: Result<T, CounterRefusal>) -> Self {
        let after = None;
        Self { after, answer }
    }
}

impl CounterCaller {
    /// The terms of a record where none is: those of the counter that was there, or of the client.
    fn new_terms(&self) -> CounterTerms {
        self.seen.terms().or(self.terms).unwrap_or_default()
    }

    /// Refuses a counter that counts otherwise than the client says.
    fn compare_terms(&self, view: &CounterView) -> Result<(), CounterRefusal> {
        match (&view.record, self.terms) {
            (Some(record), Some(named)) if record.terms != named => {
                let kept = record.terms;
                Err(CounterRefusal::OtherTerms { kept, named })
            }
            _ => Ok(()),
        }
    }

    fn record(&self, view: &CounterView, next: u64, counter_nonce: u64) -> CounterRecord {
        let before = view.record.as_ref();
        CounterRecord {
            next,
            terms: before.map_or_else(|| self.new_terms(), |before| before.terms),
            counter_nonce,
            vouched: view.fingerprint.clone(),
            nonce: self.fresh.1,
            form: before.map_or_else(Form::default, |before| before.form.clone()),
        }
    }

    /// Refuses a counter that is behind what this process has seen, and marks it as lost: then
    /// nobody else goes on either, and nobody can declare it new.
    fn contradiction<T>(&self, view: &CounterView) -> Option<CounterDecision<T>> {
        let seen = self.seen;
        let record = view.record.as_ref();
        let is_replaced = record.is_some_and(|record| seen.is_replaced_by(record));
        let is_behind = record.is_none_or(|record| record.next < seen.next);
        // Of a counter that only ever stood at its first number nothing can repeat.
        if !seen.is_used || !(is_replaced || is_behind) {
            return None;
        }
        // The mark keeps the highest number that anyone has seen: `resume` cannot fall below it.
        let reached = view.reached().max(seen.next);
        // Numbers may have been reserved again: the record began anew, or nobody was refused
        // although it went back. A backup from before an operator resumed the counter looks the
        // same, and is treated so.
        let is_rewound = is_replaced || view.kept().is_some();
        // A second mark would say nothing new, and make the next write of others fail once.
        let is_marked = |record: &CounterRecord| record.vouched.is_empty() && !is_behind;
        let is_marked = record.is_some_and(is_marked);
        let after = (!is_marked).then(|| {
            let counter_nonce = match record {
                // Other processes learn of it by this, also when `next` has passed what they have
                // seen.
                Some(_) if is_rewound => self.fresh.0,
                Some(record) => record.counter_nonce,
                // Gone altogether: under another counter nonce, other processes would call it
                // rewound.
                None => seen.counter_nonce,
            };
            CounterRecord {
                vouched: String::new(),
                ..self.record(view, reached, counter_nonce)
            }
        });
        let refusal = if is_rewound {
            CounterRefusal::Rewound { reached }
        } else {
            CounterRefusal::Lost { reached }
        };
        let answer = Err(refusal);
        Some(CounterDecision { after, answer })
    }

    /// The record, unless the counter is not there, counts otherwise than the client says, may have
    /// gone back, or is behind what this process has seen.
    fn reliable<'a, T>(
        &self,
        view: &'a CounterView,
    ) -> Result<&'a CounterRecord, Box<CounterDecision<T>>> {
        // First: a client of another counter has seen nothing of this one, and must not mark it.
        let refused = |refusal| Box::new(CounterDecision::unchanged(Err(refusal)));
        self.compare_terms(view).map_err(refused)?;
        if let Some(refused) = self.contradiction(view) {
            return Err(Box::new(refused));
        }
        let reached = view.reached();
        view.kept()
            .ok_or_else(|| refused(CounterRefusal::Lost { reached }))
    }
}

/// Compares the counter with what this process has seen of it.
#[must_use]
pub fn check(view: &CounterView, caller: &CounterCaller) -> CounterDecision<()> {
    match caller.reliable(view) {
        Ok(_) => CounterDecision::unchanged(Ok(())),
        Err(refused) => *refused,
    }
}

/// Reserves the next numbers: those of the period that the engine's clock shows, if they have
/// dates.
#[must_use]
pub fn reserve(
    view: &CounterView,
    caller: &CounterCaller,
    count: u64,
) -> CounterDecision<Reservation> {
    let before = match caller.reliable(view) {
        Ok(before) => before,
        Err(refused) => return *refused,
    };
    match reserved(before, view.now, count) {
        Ok(reserved) => CounterDecision {
            after: Some(caller.record(view, reserved.segment.end(), before.counter_nonce)),
            answer: Ok(reserved),
        },
        Err(refusal) => CounterDecision::unchanged(Err(refusal)),
    }
}

/// Begins a counter that an operator declares new, at its first number.
#[must_use]
pub fn create(view: &CounterView, caller: &CounterCaller) -> CounterDecision<()> {
    if let Some(refused) = caller.contradiction(view) {
        return refused;
    }
    let terms = caller.terms.unwrap_or_default();
    let begun = |counter_nonce| CounterRecord {
        terms,
        ..caller.record(view, terms.first(), counter_nonce)
    };
    match &view.record {
        None => CounterDecision {
            after: Some(begun(caller.fresh.0)),
            answer: Ok(()),
        },
        Some(record) if view.kept().is_none() => {
            let reached = record.next;
            CounterDecision::unchanged(Err(CounterRefusal::Lost { reached }))
        }
        Some(record) if record.next > record.terms.first() || caller.seen.is_used => {
            let is_other = caller.compare_terms(view);
            let next = record.terms.text(record.next);
            CounterDecision::unchanged(Err(is_other.err().unwrap_or_else(|| {
                CounterRefusal::Invalid(format!(
                    "the counter is not new: {next} is its next number"
                ))
            })))
        }
        // Nobody has a number yet, so it may still count otherwise: what was mistyped is said
        // again.
        Some(_) if caller.compare_terms(view).is_err() => CounterDecision {
            after: Some(begun(caller.fresh.0)),
            answer: Ok(()),
        },
        // A counter that was declared new before: then a repetition changes nothing.
        Some(_) => CounterDecision::unchanged(Ok(())),
    }
}

/// Goes on at a number that an operator vouches for, or at the highest one that is known.
#[must_use]
pub fn resume(view: &CounterView, caller: &CounterCaller, number: u64) -> CounterDecision<u64> {
    let terms = match &view.record {
        Some(record) => record.terms,
        None => caller.new_terms(),
    };
    let checked = || {
        caller.compare_terms(view)?;
        resumable(&terms, number, view.now)?;
        // A number that is too low by mistake repeats none of those that are known.
        let next = number.max(view.reached()).max(caller.seen.next);
        aligned(&terms, next)
    };
    match checked() {
        Err(refusal) => CounterDecision::unchanged(Err(refusal)),
        Ok(next) => CounterDecision {
            // Origin 0: a person vouches for what is below, so no process takes it for made anew.
            after: Some(CounterRecord {
                terms,
                ..caller.record(view, next, 0)
            }),
            answer: Ok(next),
        },
    }
}

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
    Segment::new(number, 1)
        .map_err(|error: ReserveError| CounterRefusal::Invalid(error.to_string()))?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::VERSION;

    #[test]
    fn a_counter_is_read_as_it_was_written() {
        let record = CounterRecord {
            next: u64::MAX,
            counter_nonce: 9,
            terms: CounterTerms::default(),
            vouched: "run:42".to_owned(),
            nonce: 7,
            form: Form {
                tail: ":later".to_owned(),
                ..Form::default()
            },
        };
        let text = record.to_text();
        assert_eq!(CounterRecord::from_text(&text, VERSION), Ok(record));
        let refused = |text| CounterRecord::from_text(text, VERSION).unwrap_err();
        assert_eq!(refused("11:1:9:7:run"), "it is damaged");
    }
}
