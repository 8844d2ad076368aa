//! Counters, model-checked: the shipped rules, two processes and an operator, and everything that
//! may happen to them.
//!
//! # What is run
//!
//! Each operation reads the store, hands what it holds to `counter::reserve`, `check`, `create` or
//! `resume`, and sends the record that they return, which the store keeps if what was read is still
//! so. The memory of a process is written anew.
//!
//! # What may happen
//!
//! Between a read and its write others may write. An answer is lost, and its process looks for its
//! write; or a write arrives after its sender has given up or crashed. The store's clock shows any
//! of its world's times at any read. Once, the store loses the record, has an earlier one, or is
//! another one.
//!
//! - `plain`, `in steps`, `daily`: all of that, and an operator who is right; `by any clock`: the
//!   clock leaps between days, was never set, and shows a date before and after another process has
//!   seen the next one;
//! - `other terms`, `other dates`: the second process counts otherwise than the first one, and the
//!   operator declares it so;
//! - `declared again`, `resumed too low`, `resumed ahead`: an operator who is wrong, in a store
//!   that loses nothing; `declared after a loss`: in one that has noticed a loss;
//! - `marked`: what a process has left in the store outlives the operator's mistake. Only one has
//!   numbers: else another could have come further;
//! - `unnoticed`: an earlier record is there, and nothing shows it. No process gets a number twice;
//!   two may have the same;
//! - `made anew`: an operator declares the counter new that was lost. Numbers repeat then, until a
//!   process comes that has seen them: from then on nobody is served.
//!
//! # How far
//!
//! As the model of leases: all histories of a world's length, and a rule left out shows within the
//! same length. Not checked: more than two processes and one loss; periods of a month or a year,
//! which differ in dates alone; that a mark has another counter nonce where numbers were reserved
//! again, from which other processes learn that what they have in reserve is no longer theirs
//! alone.

mod rules;
mod world;

use stateright::{Checker, HasDiscoveries, Model};

use rules::{BEFORE_MIDNIGHT, Counts, NOONS, NOT_SET};
use rules::{Declares, Flaw, Loss, Resumes, Rules};
use world::PROMISES;

/// A world, how long its histories are, and the rules without which a promise is broken within that
/// length.
struct Search {
    name: &'static str,
    events: usize,
    flaws: &'static [Flaw],
    rules: Rules,
}

const PLAIN: Rules = Rules {
    flaw: None,
    terms: [Counts::Plain; 3],
    processes: 2,
    counts: &[1],
    clocks: &[NOONS[0]],
    losses: &[Loss::Flush, Loss::Promote, Loss::Replace],
    faults: true,
    is_begun: true,
    declares: Declares::Rightly,
    resumes: Resumes::Rightly,
    alone: false,
};
const IN_STEPS: Rules = Rules {
    terms: [Counts::Fives; 3],
    counts: &[1, 2],
    losses: &[Loss::Promote],
    ..PLAIN
};
/// A period has room for one reservation, and not for two.
const DAILY: Rules = Rules {
    terms: [Counts::Daily; 3],
    counts: &[5],
    clocks: &NOONS,
    losses: &[Loss::Promote],
    ..PLAIN
};
const CARELESS: Rules = Rules {
    losses: &[],
    faults: false,
    ..PLAIN
};

const SEARCHES: &[Search] = &[
    Search {
        name: "plain",
        events: 7,
        flaws: &[
            Flaw::LostGoesOn,
            Flaw::MissingBegins,
            Flaw::SameNonce,
            Flaw::ResumedAsMadeAnew,
        ],
        rules: PLAIN,
    },
    Search {
        name: "in steps",
        events: 7,
        flaws: &[
            Flaw::LostGoesOn,
            Flaw::StepNotCounted,
            Flaw::ResumedBetweenSteps,
        ],
        rules: IN_STEPS,
    },
    Search {
        name: "daily",
        events: 7,
        flaws: &[Flaw::LostGoesOn],
        rules: DAILY,
    },
    Search {
        name: "by any clock",
        events: 7,
        flaws: &[
            Flaw::DatesGoBack,
            Flaw::IssuedAhead,
            Flaw::IssuedWhenFull,
            Flaw::IssuedWhenNotSet,
        ],
        rules: Rules {
            clocks: &[NOT_SET, NOONS[0], BEFORE_MIDNIGHT, NOONS[1]],
            counts: &[2, 5],
            losses: &[],
            faults: false,
            ..DAILY
        },
    },
    Search {
        name: "other terms",
        events: 8,
        flaws: &[Flaw::TermsNotCompared, Flaw::TermsChanged],
        rules: Rules {
            terms: [Counts::Fives, Counts::OtherFives, Counts::OtherFives],
            is_begun: false,
            declares: Declares::Anywhere,
            ..CARELESS
        },
    },
    Search {
        name: "other dates",
        events: 8,
        flaws: &[Flaw::TermsNotCompared],
        rules: Rules {
            terms: [Counts::Daily, Counts::Plain, Counts::Daily],
            is_begun: false,
            declares: Declares::Anywhere,
            ..CARELESS
        },
    },
    Search {
        name: "declared again",
        events: 8,
        flaws: &[Flaw::DeclaredAfterReservations],
        rules: Rules {
            declares: Declares::WhereItIs,
            ..CARELESS
        },
    },
    Search {
        name: "resumed too low",
        events: 8,
        flaws: &[Flaw::ResumedBelow],
        rules: Rules {
            resumes: Resumes::TooLow,
            ..CARELESS
        },
    },
    Search {
        name: "resumed ahead",
        events: 8,
        flaws: &[Flaw::ResumedAhead],
        rules: Rules {
            terms: [Counts::Daily; 3],
            clocks: &NOONS,
            resumes: Resumes::Ahead,
            ..CARELESS
        },
    },
    Search {
        name: "declared after a loss",
        events: 8,
        flaws: &[Flaw::DeclaredAfterLoss],
        rules: Rules {
            losses: &[Loss::Promote],
            declares: Declares::WhereItIs,
            ..CARELESS
        },
    },
    Search {
        name: "marked",
        events: 10,
        flaws: &[Flaw::MarkForgets],
        rules: Rules {
            processes: 1,
            losses: &[Loss::Flush, Loss::Replace],
            resumes: Resumes::TooLow,
            ..PLAIN
        },
    },
    Search {
        name: "unnoticed",
        events: 8,
        flaws: &[Flaw::SeenNotCompared],
        rules: Rules {
            losses: &[Loss::Restore],
            faults: false,
            alone: true,
            ..PLAIN
        },
    },
    Search {
        name: "made anew",
        events: 9,
        flaws: &[
            Flaw::OriginNotCompared,
            Flaw::OriginRepeats,
            Flaw::MarkNotWritten,
        ],
        rules: Rules {
            losses: &[Loss::Replace],
            declares: Declares::Anywhere,
            alone: true,
            ..CARELESS
        },
    },
];

impl Search {
    /// All histories of its length, whole or with a rule left out: whether a promise is broken in
    /// one.
    fn breaks_a_promise(&self, flaw: Option<Flaw>) -> bool {
        let rules = Rules { flaw, ..self.rules };
        let checker = rules
            .checker()
            .target_max_depth(self.events + 2)
            .finish_when(HasDiscoveries::AnyFailures)
            .spawn_bfs()
            .join();
        let (name, states) = (self.name, checker.unique_state_count());
        match flaw {
            None => println!("counters, {name}: {states} states"),
            Some(flaw) => println!("counters, {name} with {flaw:?}: {states} states"),
        }
        let Some(path) = checker.discovery(PROMISES) else {
            return false;
        };
        println!("  {:?}", path.last_state().broken());
        println!("  {:?}", path.into_actions());
        true
    }
}

#[test]
fn counters_keep_their_promises() {
    for search in SEARCHES {
        assert!(!search.breaks_a_promise(None), "{}", search.name);
    }
}

#[test]
fn every_flaw_of_counters_breaks_a_promise() {
    for search in SEARCHES {
        for flaw in search.flaws {
            let breaks = search.breaks_a_promise(Some(*flaw));
            assert!(breaks, "{}, without {flaw:?}", search.name);
        }
    }
}
