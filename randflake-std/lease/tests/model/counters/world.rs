//! Everything that may happen to a counter and its processes, in any order.

use core::time::Duration;

use randflake_core::segment::Segment;
use randflake_lease::MAX_SKEW;
use randflake_lease::unstable::rules::counter::{
    CounterCaller, CounterDecision, CounterRefusal, check, create, reserve, resume,
};
use randflake_lease::unstable::rules::{CounterRecord, CounterView};
use stateright::{Model, Property};

use super::rules::{Counts, Record, begin_of, fingerprint};
use super::rules::{Declares, Loss, Resumes, Rules, Seen};

/// The place of the operator, who has seen nothing and says all anew.
const OPERATOR: usize = 2;
pub(crate) const PROMISES: &str = "all promises are kept";

/// What no history may show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Promise {
    /// No number is handed out twice, so no pair of a date and a number either.
    Unique,
    /// Dates never go back.
    Order,
    /// A number's date is the one that the store's clock shows, or one that begins within the skew.
    Date,
    /// Who names other terms is refused, and all numbers of a counter are of its terms.
    Terms,
    /// Where somebody has noticed that numbers may have repeated, nobody goes on before a person
    /// has said where.
    Told,
    /// When a person has said where it goes on, rightly, nobody is refused any more.
    Resumed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Asked {
    Reserve(u64),
    /// Compares the counter with what the process has seen.
    Check,
    Declare,
    Resume(u64),
}

/// Numbers of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Numbers {
    first: u64,
    len: u64,
    step: u64,
    terms: Counts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Answer {
    Reserved(Numbers),
    Done,
    /// The counter may have gone back.
    Lost,
    Refused,
}

/// What was decided from a read, and waits for its write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Flight {
    asked: Asked,
    now: Duration,
    fingerprint: u8,
    before: Option<Record>,
    after: Option<Record>,
    answer: Answer,
    /// Whether it was sent, and no answer came.
    is_unknown: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Process {
    seen: Seen,
    flight: Option<Flight>,
    /// A write that nobody waits for any more.
    late: Option<Flight>,
    /// Numbers that it has seen reserved were reserved again, since the counter was made anew.
    is_repeated: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct World {
    record: Option<Record>,
    backup: Option<Record>,
    fingerprint: u8,
    losses: u8,
    processes: [Process; 3],
    /// The next number that no counter nonce and no nonce has been.
    fresh: u8,
    /// Who was handed out which number, in order.
    handed: Vec<(u64, usize)>,
    /// The end of what the store has reserved, and how the last of it counted.
    reached: u64,
    terms: Option<Counts>,
    /// Somebody was refused, and no person has spoken since.
    is_refused: bool,
    /// A person has resumed it, and the store has lost nothing since.
    is_resumed: bool,
    broken: Option<Promise>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Reads the store, whose clock shows this, and sends what the rules say.
    Ask {
        who: usize,
        asked: Asked,
        now: Duration,
    },
    /// The store gets what was sent.
    Commit {
        who: usize,
        is_answered: bool,
    },
    /// No answer came: looks whether the store has what was sent.
    LookBack(usize),
    GiveUp(usize),
    CommitLate(usize),
    Crash(usize),
    Lose(Loss),
    Replicate,
}

impl Model for Rules {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let record = self.is_begun.then(|| Record::begun(self.terms[0], 1));
        vec![World {
            record,
            backup: record,
            fresh: 2,
            ..World::default()
        }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        for who in (0..self.processes).chain([OPERATOR]) {
            world.actions_of(who, *self, actions);
        }
        if world.losses == 0 {
            actions.extend(self.losses.iter().map(|loss| Action::Lose(*loss)));
            if self
                .losses
                .iter()
                .any(|loss: &Loss| matches!(loss, Loss::Promote | Loss::Restore))
            {
                actions.push(Action::Replicate);
            }
        }
    }

    fn next_state(&self, before: &World, action: Action) -> Option<World> {
        let mut world = before.clone();
        world.apply(action, *self);
        (world != *before).then_some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always(PROMISES, |_: &Self, world: &World| {
            world.broken.is_none()
        })]
    }
}

impl World {
    pub(crate) fn broken(&self) -> Option<Promise> {
        self.broken
    }

    fn actions_of(&self, who: usize, rules: Rules, actions: &mut Vec<Action>) {
        let process = &self.processes[who];
        if process.late.is_some() {
            actions.push(Action::CommitLate(who));
        }
        let Some(flight) = process.flight else {
            for asked in self.may_ask(who, rules) {
                actions.extend(rules.clocks.iter().map(|now: &Duration| Action::Ask {
                    who,
                    asked,
                    now: *now,
                }));
            }
            if rules.faults && process.seen.record.is_some() {
                actions.push(Action::Crash(who));
            }
            return;
        };
        if flight.is_unknown {
            actions.push(Action::LookBack(who));
            return;
        }
        for is_answered in [true, false] {
            if is_answered || rules.faults {
                actions.push(Action::Commit { who, is_answered });
            }
        }
        if rules.faults {
            actions.push(Action::GiveUp(who));
        }
    }

    fn may_ask(&self, who: usize, rules: Rules) -> Vec<Asked> {
        let is_there = self.record.is_some();
        let declares = match rules.declares {
            Declares::Rightly => self.reached == 0 && who == OPERATOR,
            Declares::WhereItIs => is_there,
            Declares::Anywhere => true,
        };
        let mut asked = Vec::from_iter(declares.then_some(Asked::Declare));
        if who < OPERATOR {
            let counts = rules.counts.iter();
            asked.extend(counts.map(|count| Asked::Reserve(*count)));
            asked.push(Asked::Check);
            return asked;
        }
        let counts = self.terms.unwrap_or(rules.terms[OPERATOR]);
        let number = match rules.resumes {
            // A client that looks for the highest number does not count in steps.
            Resumes::Rightly if self.reached > 0 => Some(self.reached - counts.terms().step() + 1),
            Resumes::Rightly => None,
            Resumes::TooLow => is_there.then(|| counts.first_of(0)),
            Resumes::Ahead => is_there.then(|| counts.first_of(1)),
        };
        asked.extend(number.map(Asked::Resume));
        asked
    }

    fn apply(&mut self, action: Action, rules: Rules) {
        match action {
            Action::Ask { who, asked, now } => {
                let flight = self.decide(who, asked, now, rules);
                if flight.after.is_some() {
                    self.fresh += 1;
                    self.processes[who].flight = Some(flight);
                } else {
                    self.answer(who, &flight, rules);
                }
            }
            Action::Commit { who, is_answered } => {
                if let Some(flight) = self.processes[who].flight.take() {
                    let is_kept = self.commit(&flight, rules);
                    if !is_answered {
                        let is_unknown = true;
                        self.processes[who].flight = Some(Flight {
                            is_unknown,
                            ..flight
                        });
                    } else if is_kept {
                        self.answer(who, &flight, rules);
                    }
                }
            }
            Action::LookBack(who) => {
                if let Some(flight) = self.processes[who].flight.take()
                    && flight.after == self.record
                    && flight.fingerprint == self.fingerprint
                {
                    self.answer(who, &flight, rules);
                }
            }
            Action::GiveUp(who) => {
                let process = &mut self.processes[who];
                process.late = process.flight.take();
            }
            Action::CommitLate(who) => {
                if let Some(flight) = self.processes[who].late.take() {
                    self.commit(&flight, rules);
                }
            }
            Action::Crash(who) => {
                let late = self.processes[who].late;
                self.processes[who] = Process {
                    late,
                    ..Process::default()
                };
                // Where each process is looked at alone, the next one is another.
                self.handed.retain(|(_, of)| !rules.alone || *of != who);
            }
            Action::Lose(loss) => self.lose(loss),
            Action::Replicate => self.backup = self.record,
        }
    }

    fn lose(&mut self, loss: Loss) {
        self.record = match loss {
            Loss::Flush | Loss::Replace => None,
            Loss::Promote | Loss::Restore => self.backup,
        };
        self.fingerprint += u8::from(matches!(loss, Loss::Flush | Loss::Promote));
        self.losses += 1;
        (self.is_refused, self.is_resumed) = (false, false);
    }

    /// What the shipped rules make of what the store has.
    fn decide(&self, who: usize, asked: Asked, now: Duration, rules: Rules) -> Flight {
        let mut view = CounterView {
            record: self.record.map(Record::shown),
            fingerprint: fingerprint(self.fingerprint),
            now,
        };
        let (seen, fresh) = (self.processes[who].seen, u64::from(self.fresh));
        let named = rules.terms[who].terms();
        let mut caller = CounterCaller {
            seen: seen.shown(),
            terms: Some(named),
            fresh: (fresh, fresh),
        };
        rules.before(&mut view, &mut caller, seen);
        let (after, answer) = match asked {
            Asked::Reserve(count) => {
                let mut decision = reserve(&view, &caller, count);
                rules.reserved(&mut decision, &view, count);
                outcome(decision, |reserved| {
                    numbers(reserved.segment, Counts::of(reserved.terms))
                })
            }
            Asked::Check => outcome(check(&view, &caller), |()| Answer::Done),
            Asked::Declare => {
                let mut decision = create(&view, &caller);
                rules.declared(&mut decision, &view, named);
                outcome(decision, |()| Answer::Done)
            }
            Asked::Resume(number) => {
                let mut decision = resume(&view, &caller, number);
                rules.resumed(&mut decision, &view, number, fresh);
                outcome(decision, |_| Answer::Done)
            }
        };
        let mut after = after;
        if answer == Answer::Lost {
            rules.marked(&mut after, &view);
        }
        Flight {
            asked,
            now,
            fingerprint: self.fingerprint,
            before: self.record,
            after: after.as_ref().map(Record::of),
            answer,
            is_unknown: false,
        }
    }

    /// Writes if everything still is as it was read.
    fn commit(&mut self, flight: &Flight, rules: Rules) -> bool {
        let is_so = (self.record, self.fingerprint) == (flight.before, flight.fingerprint);
        let Some(after) = flight.after.filter(|_| is_so) else {
            return false;
        };
        self.record = Some(after);
        match (flight.asked, flight.answer) {
            (_, Answer::Reserved(numbers)) => self.reserve(&numbers, flight.now, rules),
            (Asked::Declare, Answer::Done) if after.next < self.reached => {
                for process in &mut self.processes {
                    process.is_repeated = process.seen.is_used;
                }
            }
            (Asked::Resume(_), Answer::Done) => {
                self.is_refused = false;
                self.is_resumed = after.next >= self.reached;
                for process in &mut self.processes {
                    process.is_repeated = false;
                }
                let before = flight.before.map_or(0, |before| before.next);
                self.promise(
                    after.next <= before || has_begun(after.terms, after.next, flight.now),
                    Promise::Date,
                );
            }
            _ => {}
        }
        true
    }

    /// The store has reserved numbers.
    fn reserve(&mut self, numbers: &Numbers, now: Duration, rules: Rules) {
        let Numbers {
            first,
            len,
            step,
            terms,
        } = *numbers;
        self.promise(!self.is_refused, Promise::Told);
        if !rules.alone {
            let last = self.terms.map_or(0, |before| before.date(self.reached - 1));
            self.promise(terms.date(first) >= last, Promise::Order);
            self.promise(
                self.terms.is_none_or(|before| before == terms),
                Promise::Terms,
            );
        }
        let (lowest, by) = (terms.terms().first(), terms.terms().step());
        let is_of_terms = step == by && first >= lowest && (first - lowest).is_multiple_of(by);
        self.promise(is_of_terms, Promise::Terms);
        // The date of each number, as people read it.
        for number in [first, first + (len - 1) * step] {
            self.promise(has_begun(terms, number, now), Promise::Date);
        }
        self.reached = self.reached.max(first + len * step);
        self.terms = Some(terms);
    }

    /// A process has its answer.
    fn answer(&mut self, who: usize, flight: &Flight, rules: Rules) {
        let is_repeated = self.processes[who].is_repeated;
        match flight.answer {
            Answer::Reserved(numbers) => {
                self.promise(!is_repeated, Promise::Told);
                self.promise(numbers.terms == rules.terms[who], Promise::Terms);
                for n in 0..numbers.len {
                    let number = numbers.first + n * numbers.step;
                    let mut others = self.handed.iter();
                    let is_new =
                        others.all(|(other, of)| *other != number || (rules.alone && *of != who));
                    self.promise(is_new, Promise::Unique);
                    self.handed.push((number, who));
                }
                self.handed.sort_unstable();
            }
            Answer::Done if flight.asked == Asked::Check => {
                self.promise(!is_repeated, Promise::Told);
            }
            Answer::Lost => {
                self.promise(!self.is_resumed, Promise::Resumed);
                self.is_refused |= self.processes[who].seen.is_used;
            }
            Answer::Done | Answer::Refused => {}
        }
        let is_done = matches!(flight.answer, Answer::Done | Answer::Reserved(_));
        if let Some(record) = flight.after.or(flight.before).filter(|_| is_done)
            && who != OPERATOR
        {
            self.processes[who].seen.note(record);
        }
    }

    fn promise(&mut self, is_kept: bool, promise: Promise) {
        if !is_kept {
            self.broken.get_or_insert(promise);
        }
    }
}

/// Whether a number's date has begun by a clock, or begins within the skew.
fn has_begun(terms: Counts, number: u64, now: Duration) -> bool {
    match terms.date(number) {
        0 => true,
        date => terms.days().contains(&date) && begin_of(date) <= now + MAX_SKEW,
    }
}

fn numbers(segment: Segment, terms: Counts) -> Answer {
    Answer::Reserved(Numbers {
        first: segment.first(),
        len: segment.len(),
        step: segment.step(),
        terms,
    })
}

fn outcome<T>(
    decision: CounterDecision<T>,
    done: impl FnOnce(T) -> Answer,
) -> (Option<CounterRecord>, Answer) {
    let answer = match decision.answer {
        Ok(answer) => done(answer),
        Err(CounterRefusal::Lost { .. } | CounterRefusal::Rewound { .. }) => Answer::Lost,
        Err(_) => Answer::Refused,
    };
    (decision.after, answer)
}
