//! Records of a counter in a few bytes, the events that the model of counters allows, and the rule
//! that it leaves out.

use core::time::Duration;

use randflake_core::segment::Segment;
use randflake_lease::unstable::rules::counter::{
    CounterCaller, CounterDecision, CounterRefusal, ObservedCounter, Reservation,
};
use randflake_lease::unstable::rules::{CounterRecord, CounterView, Form};
use randflake_lease::{CounterTerms, DatedNumbers, Period};

use crate::records::small;

/// A rule that is broken. All else is as it is shipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// A counter whose engine has another fingerprint goes on.
    LostGoesOn,
    /// A counter that is not there begins at its first number.
    MissingBegins,
    /// Two writes of the same position have the same text.
    SameNonce,
    /// A counter in steps goes on right behind its last number.
    StepNotCounted,
    /// `resume` goes on at a number between two steps.
    ResumedBetweenSteps,
    /// A clock that was set back has the numbers of its date once more.
    DatesGoBack,
    /// A clock that was set back has the numbers of the later date.
    IssuedAhead,
    /// Behind the last number of a period follows the first one of the next.
    IssuedWhenFull,
    /// A clock that was never set has a date too.
    IssuedWhenNotSet,
    /// Clients that name other terms are served.
    TermsNotCompared,
    /// Terms change although numbers were reserved.
    TermsChanged,
    /// A counter begins again where it is declared new a second time.
    DeclaredAfterReservations,
    /// A counter begins again where it is declared new after a loss.
    DeclaredAfterLoss,
    /// `resume` goes on below numbers that the store knows.
    ResumedBelow,
    /// `resume` goes on at a date that has not begun.
    ResumedAhead,
    /// A counter that a person has resumed passes for one that was made anew.
    ResumedAsMadeAnew,
    /// A process does not compare the counter with what it has seen.
    SeenNotCompared,
    /// A process compares numbers alone, so a counter that was made anew may pass by it.
    OriginNotCompared,
    /// A counter that is made anew has the counter nonce of the one before.
    OriginRepeats,
    /// A process that was refused leaves no mark for others.
    MarkNotWritten,
    /// The mark does not keep how far the process had come.
    MarkForgets,
}

/// When an operator, or a program at its start, declares the counter new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Declares {
    /// While no number of it was reserved.
    Rightly,
    /// At any time where the store has a record.
    WhereItIs,
    /// At any time.
    Anywhere,
}

/// The number at which an operator resumes the counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resumes {
    /// Right above the last one that was reserved.
    Rightly,
    /// The first one of the first day, where the store has a record.
    TooLow,
    /// The first one of the last day.
    Ahead,
}

/// How a store loses the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// It is gone, and the engine notices.
    Flush,
    /// It is that of a backup, and the engine notices.
    Promote,
    /// The same, and the engine does not notice.
    Restore,
    /// Another store is in the place of this one, with nothing in it.
    Replace,
}

/// A world that the model explores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) flaw: Option<Flaw>,
    /// What each process says of how the counter counts, and the operator.
    pub(crate) terms: [Counts; 3],
    /// How many processes reserve: at most 2.
    pub(crate) processes: usize,
    /// How many numbers a process asks for.
    pub(crate) counts: &'static [u64],
    /// What the store's clock may show, at any time.
    pub(crate) clocks: &'static [Duration],
    pub(crate) losses: &'static [Loss],
    /// Messages are lost or late, and processes crash.
    pub(crate) faults: bool,
    /// A counter that nobody has used is there, and in the backup.
    pub(crate) is_begun: bool,
    pub(crate) declares: Declares,
    pub(crate) resumes: Resumes,
    /// Numbers repeat between processes, as nobody notices the loss or the operator is wrong: each
    /// process is looked at alone.
    pub(crate) alone: bool,
}

impl Rules {
    pub(crate) fn has(self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    /// What a rule gets to see.
    pub(crate) fn before(self, view: &mut CounterView, caller: &mut CounterCaller, seen: Seen) {
        let terms = self.terms[0].terms();
        let Some(flaw) = self.flaw else { return };
        if flaw == Flaw::OriginRepeats {
            caller.fresh.0 = 1;
        }
        if flaw == Flaw::MissingBegins && view.record.is_none() {
            let begun = Record::begun(self.terms[0], 1).shown();
            view.record = Some(CounterRecord {
                vouched: view.fingerprint.clone(),
                ..begun
            });
        }
        let Some(record) = &mut view.record else {
            return;
        };
        match flaw {
            Flaw::LostGoesOn => record.vouched.clone_from(&view.fingerprint),
            Flaw::SameNonce => caller.fresh.1 = 0,
            Flaw::DatesGoBack => {
                let dates = terms.dates().unwrap();
                let days = self.terms[0].days();
                let today = days.iter().rev().find(|day| begin_of(**day) <= view.now);
                let first = today.map_or(0, |day| day * 10 + 1);
                if dates.date_and_count(record.next.saturating_sub(1)).0 > first / 10 {
                    record.next = first;
                    caller.seen = ObservedCounter::default();
                }
            }
            Flaw::IssuedAhead => {
                let dates = terms.dates().unwrap();
                let (reached, _) = dates.date_and_count(record.next.saturating_sub(1));
                if reached > 0 {
                    view.now = view.now.max(begin_of(reached));
                }
            }
            Flaw::IssuedWhenNotSet => view.now = view.now.max(Duration::from_secs(1_730_000_000)),
            Flaw::TermsNotCompared => caller.terms = None,
            Flaw::SeenNotCompared => caller.seen = ObservedCounter::default(),
            Flaw::OriginNotCompared => {
                caller.seen = Seen {
                    record: seen.record.map(|seen| Record {
                        counter_nonce: record.counter_nonce,
                        ..seen
                    }),
                    ..seen
                }
                .shown();
            }
            _ => {}
        }
    }

    /// What comes of a reservation.
    pub(crate) fn reserved(
        self,
        decision: &mut CounterDecision<Reservation>,
        view: &CounterView,
        count: u64,
    ) {
        let Some(record) = &view.record else { return };
        match (&decision.answer, &mut decision.after) {
            (Ok(reserved), Some(after)) if self.has(Flaw::StepNotCounted) => {
                after.next = reserved.segment.first() + reserved.segment.len();
            }
            (Err(CounterRefusal::Full { .. }), after) if self.has(Flaw::IssuedWhenFull) => {
                let segment = Segment::new(record.next, count).unwrap();
                *after = Some(CounterRecord {
                    next: segment.end(),
                    ..record.clone()
                });
                decision.answer = Ok(Reservation {
                    segment,
                    terms: record.terms,
                    lasts: None,
                });
            }
            _ => {}
        }
    }

    /// What comes of declaring the counter new.
    pub(crate) fn declared(
        self,
        decision: &mut CounterDecision<()>,
        view: &CounterView,
        named: CounterTerms,
    ) {
        let Some(record) = &view.record else { return };
        let record = record.clone();
        let after = match (&decision.answer, self.flaw) {
            (Err(CounterRefusal::OtherTerms { .. }), Some(Flaw::TermsChanged)) => CounterRecord {
                terms: named,
                ..record
            },
            (Err(CounterRefusal::Invalid(_)), Some(Flaw::DeclaredAfterReservations))
            | (Err(CounterRefusal::Lost { .. }), Some(Flaw::DeclaredAfterLoss)) => CounterRecord {
                next: record.terms.first(),
                vouched: view.fingerprint.clone(),
                ..record
            },
            _ => return,
        };
        *decision = CounterDecision {
            after: Some(after),
            answer: Ok(()),
        };
    }

    /// What comes of resuming the counter at a number.
    pub(crate) fn resumed(
        self,
        decision: &mut CounterDecision<u64>,
        view: &CounterView,
        number: u64,
        fresh: u64,
    ) {
        let reached = view.record.as_ref().map_or(0, |record| record.next);
        match (self.flaw, &mut decision.after) {
            (Some(Flaw::ResumedBelow), Some(after)) => after.next = number,
            (Some(Flaw::ResumedBetweenSteps), Some(after)) => after.next = number.max(reached),
            (Some(Flaw::ResumedAsMadeAnew), Some(after)) => after.counter_nonce = fresh,
            (Some(Flaw::ResumedAhead), after @ None) => {
                *after = view.record.clone().map(|record| CounterRecord {
                    next: number,
                    ..record
                });
                decision.answer = Ok(number);
            }
            _ => {}
        }
    }

    /// What is written before a refusal.
    pub(crate) fn marked(self, after: &mut Option<CounterRecord>, view: &CounterView) {
        if self.has(Flaw::MarkNotWritten) {
            *after = None;
        }
        if let Some(after) = after.as_mut().filter(|_| self.has(Flaw::MarkForgets)) {
            let reached = view.record.as_ref().map(|record| record.next);
            after.next = reached.unwrap_or_else(|| after.terms.first());
        }
    }
}

/// What a process has seen of the counter, in a few bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Seen {
    pub(crate) record: Option<Record>,
    pub(crate) is_used: bool,
}

impl Seen {
    pub(crate) fn note(&mut self, record: Record) {
        let is_used = record.next > record.terms.terms().first();
        *self = Self {
            record: Some(record),
            is_used: self.is_used || is_used,
        };
    }

    /// As the rules know it.
    pub(crate) fn shown(self) -> ObservedCounter {
        let mut seen = ObservedCounter::default();
        let Some(record) = self.record else {
            return seen;
        };
        let record = record.shown();
        if self.is_used {
            // That it was used is remembered, whatever it shows now.
            seen.note(&CounterRecord {
                next: u64::MAX,
                ..record.clone()
            });
        }
        seen.note(&record);
        seen
    }
}

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
