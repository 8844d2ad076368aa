//! Facet of a store: its namespace's counter of sequential numbers.

use randflake_core::segment::Segment;

use super::operation::fresh;
use super::quoted;
use super::records::Records;
use super::{Ask, LeaseStore, Reading};
use crate::rules::counter::{
    CounterCaller, CounterDecision, CounterRefusal, Reservation, ahead_for, check, create,
    next_number, reserve, resume,
};
use crate::rules::{Before, CounterRecord, CounterView, Entry, Key, Keys};
use crate::types::{CounterError, CounterPlace, CounterStatus, CounterTerms, EngineError};

const KEYS: [Keys; 1] = [Keys::One(Key::Counter)];

impl LeaseStore {
    /// The namespace's counter of sequential numbers.
    pub fn counter(&mut self) -> Counter<'_> {
        Counter { store: self }
    }
}

/// A namespace's counter of sequential numbers, as [`LeaseStore::counter`] returns it.
#[derive(Debug)]
pub struct Counter<'a> {
    store: &'a mut LeaseStore,
}

impl Counter<'_> {
    /// Sets how the counter counts: a new one counts so, and an existing one with other terms is
    /// refused as [`CounterError::OtherTerms`]. Without it, a new counter counts 1, 2, 3, and an
    /// existing one keeps its terms.
    pub fn set_terms(&mut self, terms: CounterTerms) {
        self.store.counter_terms = Some(terms);
    }

    /// How the counter counts, as this store has last seen it; `None` if it has seen none.
    #[must_use]
    pub fn terms(&self) -> Option<CounterTerms> {
        self.store.counter.terms()
    }

    /// Reserves the next `count` numbers. Not idempotent: after an unknown outcome, reserve again,
    /// which may leave a gap. Numbers with dates are those of the period that the store's clock
    /// shows.
    ///
    /// # Errors
    ///
    /// [`CounterError::Invalid`] when `count` is 0 or the counter has fewer left,
    /// [`CounterError::Full`] when the period has, [`CounterError::Ahead`],
    /// [`CounterError::OtherTerms`], [`CounterError::Lost`], [`CounterError::Rewound`], and the
    /// engine's errors.
    pub fn reserve(&mut self, count: u64) -> Result<Segment, CounterError> {
        let reserved = self.update(|view, caller| reserve(view, caller, count))?;
        Ok(reserved.segment)
    }

    /// Reserves `count` numbers, or all that the period has left, with how long the period lasts.
    ///
    /// # Errors
    ///
    /// As for [`reserve`](Self::reserve).
    pub fn reserve_up_to(&mut self, count: u64) -> Result<Reservation, CounterError> {
        match self.update(|view, caller| reserve(view, caller, count)) {
            Err(CounterError::Full {
                left: left @ 1.., ..
            }) => self.update(|view, caller| reserve(view, caller, left)),
            outcome => outcome,
        }
    }

    /// Compares the counter with what this store has seen of it. If it is behind that, marks it as
    /// lost, for all clients.
    ///
    /// # Errors
    ///
    /// [`CounterError::Lost`], [`CounterError::Rewound`], and the engine's errors.
    pub fn check(&mut self) -> Result<(), CounterError> {
        self.update(check)
    }

    /// The counter's position and terms. Nothing is written.
    ///
    /// # Errors
    ///
    /// The engine's.
    pub fn status(&mut self) -> Result<CounterStatus, CounterError> {
        let records = self.store.ready()?;
        let reading = records.engine().read(&Ask::with_state(&KEYS));
        // Before `?`: an engine may hold a lock since the read, also after an error.
        records.engine().abandon();
        let view = records.counter_of(reading?)?;
        let record = view.record.as_ref();
        Ok(CounterStatus {
            next: record.map(|record| next_number(record, view.now)),
            terms: record.map(|record| record.terms),
            is_unused: record.is_some_and(|record| record.next <= record.terms.first()),
            ahead_for: record.and_then(|record| ahead_for(record, view.now)),
            lost: view.kept().is_none(),
        })
    }

    /// Begins a new counter at 1, or as its [terms](Self::set_terms) say.
    ///
    /// For an operator who knows that none of its numbers was ever reserved. Call it once: at each
    /// start of a program, it would begin the counter again wherever its store is lost. If it was
    /// called before and nothing was reserved since, it changes the terms if others are set, and
    /// otherwise does nothing.
    ///
    /// Running `Segments` compare the counter with what they have seen, and mark it as lost if it
    /// is gone, so that this is refused. So if you are not sure, wait for `compared_within` first,
    /// as `randflake segment init` does.
    ///
    /// # Errors
    ///
    /// [`CounterError::Invalid`] when the counter has reserved numbers or was resumed, and
    /// [`CounterError::OtherTerms`] if it then counts otherwise; [`CounterError::Lost`] when it may
    /// have gone back; [`CounterError::Lost`] and [`CounterError::Rewound`] when this store has
    /// seen numbers of it; and the engine's errors.
    pub fn create(&mut self) -> Result<(), CounterError> {
        self.update(create)
    }

    /// Continues at `number`, or at the counter's position if that is higher; returns which.
    ///
    /// For an operator: to begin at a number other than 1, and after a data loss, when `number`
    /// must be higher than every number ever reserved. A counter with steps continues at the next
    /// of its numbers.
    ///
    /// # Errors
    ///
    /// [`CounterError::Invalid`] when `number` is not from 1 to [`MAX_NUMBER`](crate::MAX_NUMBER),
    /// or has no date, or one that the store's clock has not reached, where numbers have dates;
    /// [`CounterError::OtherTerms`]; and the engine's errors.
    pub fn resume(&mut self, number: u64) -> Result<u64, CounterError> {
        self.update(|view, caller| resume(view, caller, number))
    }

    /// A refusal of the rules as an error that names this counter.
    #[must_use]
    pub fn error(&self, refusal: CounterRefusal) -> CounterError {
        match refusal {
            CounterRefusal::Lost { reached } => CounterError::Lost {
                reached,
                counter: self.place(),
            },
            CounterRefusal::Rewound { reached } => CounterError::Rewound {
                reached,
                counter: self.place(),
            },
            CounterRefusal::OtherTerms { kept, named } => CounterError::OtherTerms {
                kept,
                named,
                counter: self.place(),
            },
            CounterRefusal::Full {
                left,
                passes_in,
                message,
            } => CounterError::Full {
                left,
                passes_in,
                message,
                counter: Box::new(self.place()),
            },
            CounterRefusal::Ahead { passes_in, message } => CounterError::Ahead {
                passes_in,
                message,
                counter: Box::new(self.place()),
            },
            CounterRefusal::ClockNotSet(sentence) => EngineError::unavailable(sentence).into(),
            CounterRefusal::Invalid(sentence) => CounterError::Invalid(sentence),
        }
    }

    /// Store and namespace of the counter, as messages name them.
    fn place(&self) -> CounterPlace {
        let (profile, namespace) = (&self.store.records.profile, self.store.namespace.name());
        CounterPlace {
            store: profile.url.as_ref().unwrap_or(&profile.place).clone(),
            namespace: namespace.to_owned(),
            arguments: (self.store.arguments.clone()).or_else(|| {
                profile
                    .url
                    .as_ref()
                    .map(|url: &String| format!("--store {} --namespace {namespace}", quoted(url)))
            }),
        }
    }

    /// Writes the counter's record as a rule decides, and returns the rule's answer.
    fn update<T>(
        &mut self,
        rule: impl Fn(&CounterView, &CounterCaller) -> CounterDecision<T>,
    ) -> Result<T, CounterError> {
        // Once for all tries: a stale one wrote nothing, so its numbers are still fresh.
        let caller = CounterCaller {
            seen: self.store.counter,
            terms: self.store.counter_terms,
            fresh: fresh().map_err(EngineError::unavailable)?,
        };
        let (answer, record) = self.store.ready()?.update(&KEYS, |records, reading| {
            let view = records.counter_of(reading)?;
            let CounterDecision { after, answer } = rule(&view, &caller);
            // The key of the counter alone: it outlives a drop, so no namespace guards it.
            let entry = after.as_ref().map(|after| Entry {
                key: Key::Counter,
                before: Before::read(view.record.as_ref().map(CounterRecord::to_text)),
                after: Some(after.to_text()),
            });
            // A refusal may come with a record to write, so it is an answer here, not an error.
            let decided = (answer, after.or(view.record));
            Ok::<_, CounterError>((Vec::from_iter(entry), decided))
        })?;
        let answer = answer.map_err(|refusal| self.error(refusal));
        // Only after a success: a mark of a loss must not hide what was seen before.
        if let (Ok(_), Some(record)) = (&answer, record) {
            self.store.counter.note(&record);
        }
        answer
    }
}

impl Records {
    /// The counter's record, as it was read.
    fn counter_of(&self, reading: Reading) -> Result<CounterView, EngineError> {
        let record = reading.texts.get(&Key::Counter).map(|text| {
            CounterRecord::from_text(text, self.capabilities).map_err(|why| {
                self.refused(&format!("the counter {:?}", self.namespace.name()), &why)
            })
        });
        Ok(CounterView {
            record: record.transpose()?,
            fingerprint: reading.continuity.fingerprint,
            now: reading.now,
        })
    }
}
