//! The lease protocol, model-checked: the shipped rules, two processes, and everything that may
//! happen to them.
//!
//! Counters have worlds of their own: [`counters`].
//!
//! # What is run
//!
//! Each operation reads the store, hands what it holds to `rules::acquire`, `renew` or `release`,
//! and sends the [`Change`](randflake_lease::unstable::rules::Change) that they return, which the
//! store applies if what was read is still so. What is issued comes from core's `Sequencer`. So
//! there is no second version of a rule here: the store only compares and writes. What is written
//! anew is the memory of `LeaseStore` (its tries, what it has seen, the estimate of the clock), in
//! a few bytes, so that millions of states fit.
//!
//! # What may happen
//!
//! Between a read and its write others may write. A write is lost, its answer is lost, or it
//! arrives after its sender has given up or crashed. Processes pause, crash, restart, choose a node
//! id or take a free one, and one becomes a copy of the other, with its memory, its holder's name,
//! its pending acquire and its next random number. An operator drops the namespace, opens it again,
//! or declares it new, and each write of that may be late.
//!
//! An id that repeats is one id. So a history issues one, any, and is wrong as soon as somebody
//! could issue it again.
//!
//! - `usual`: the store's clock shows any tick at any time; `leaping`: it may leap past every
//!   quarantine, and it forgets all leases, but not the latest end;
//! - `promoted`: it also goes on with an old replica, and nothing is known of what was forgotten.
//!   Here the machines' clocks agree, and the store's may differ by any number of ticks;
//! - `unaware`: the engine does not notice that an old state was restored. Nothing is granted until
//!   a holder has asked: what is granted before that, no rule can know;
//! - `made again`, `opened again`: the namespace's record is in the place of an earlier one, which
//!   a restored store has again; processes remember which one they saw, and when;
//! - `dropped`, `declared new`: what an operator does arrives at any time, and is true when it is
//!   decided;
//! - `replaced`: another store is made in the place of one in a file. Holders look at the file
//!   before a tick ends;
//! - `copies`: what two copies of a holder issue until the second one has asked is theirs both,
//!   which no rule can prevent; all else must not repeat. `lost copies`: and the store forgets
//!   which of them was the first, with the same allowance;
//! - `several at once`: the first process asks for two node ids in one request, and repeats that
//!   until it is answered;
//! - `elastic`: a process holds two leases that began at different times, renews them in one
//!   request, gives one back, and takes another;
//! - `two layouts`, `newcomer`: the second process brings other terms.
//!
//! # How far
//!
//! All histories of a world's length; each search prints its states. A rule left out shows within
//! the same length, in the same world. What has no bounds is left to the proof in
//! `randflake-std/lease/proof`: how long a quarantine must be, which leases may be renewed in one,
//! any number of losses and holders, and that a refused clock sets none. Here is what the proof
//! assumes or leaves out: reads and writes that others come between, tries whose outcome is
//! unknown, restarts, what the holders of forgotten leases tell the store, namespaces in the place
//! of others, and terms that differ.
//!
//! Not checked: more than two processes, two node ids and one loss; several node ids in one request
//! beside losses and copies, which the proof has; a store that forgets while clocks of machines
//! differ; the store's failure to do what [`Engine`](randflake_lease::unstable::engine::Engine)
//! asks of it. The proof has what servers do for their clients (`grants.py`), and a store that
//! shows a write before it is kept (`shown.py`). Hints and the history are no part of a state: no
//! rule looks at the history, and an engine may offer any candidate, so hints offer nothing else.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and tells how far it went"
)]

mod counters;
mod holder;
mod lies;
mod operation;
mod protocol;
mod records;
mod rules;

use stateright::{Checker, HasDiscoveries, Model};

use protocol::NO_ID_REPEATS;
use records::{LONGER_TTL, OTHER_LAYOUT, SHORTER_TTL, USUAL as USUAL_TERMS};
use rules::{Begin, Clocks, Flaw, Loss, Rules};

const HOLDERS: usize = 2;
/// As long as the skew that is allowed.
const TICK_MS: u64 = 10_000;
/// TTL of all leases in ticks.
const TTL: u8 = 2;
/// How often the store loses leases.
const MAX_LOSSES: u8 = 1;

/// A world, how long its histories are, and the rules without which an id repeats within that
/// length.
struct Search {
    name: &'static str,
    events: usize,
    flaws: &'static [Flaw],
    rules: Rules,
}

/// Any clocks. Leases last for two ticks.
const USUAL: Rules = Rules {
    flaw: None,
    clocks: Clocks::Any(&[0, 1, 2, 3]),
    losses: &[],
    acquires: 3,
    faults: true,
    copies: false,
    operator: false,
    begin: Begin::Empty,
    at_once: 1,
    most_held: 1,
    node_ids: 1,
    terms: [USUAL_TERMS; 2],
};
const CALM: Rules = Rules {
    faults: false,
    ..USUAL
};
/// The last tick is after every quarantine.
const LEAPING: Rules = Rules {
    clocks: Clocks::Any(&[0, 40]),
    losses: &[Loss::Flush],
    ..USUAL
};
const CALM_LEAPING: Rules = Rules {
    faults: false,
    ..LEAPING
};
const PROMOTED: Rules = Rules {
    clocks: Clocks::MachinesAgree(3),
    losses: &[Loss::Flush, Loss::Promote],
    acquires: 2,
    begin: Begin::Made,
    ..USUAL
};
const UNAWARE: Rules = Rules {
    clocks: Clocks::MachinesAgree(6),
    losses: &[Loss::Restore],
    faults: false,
    ..PROMOTED
};
/// The shorter TTL makes the way to the end of a quarantine shorter.
const MADE_AGAIN: Rules = Rules {
    clocks: Clocks::MachinesAgree(12),
    begin: Begin::MadeAgain,
    terms: [SHORTER_TTL; 2],
    ..UNAWARE
};

const SEARCHES: &[Search] = &[
    Search {
        name: "usual",
        events: 7,
        flaws: &[
            Flaw::StartAfterLastStart,
            Flaw::RenewWithoutCompare,
            Flaw::IssueAfterRelease,
            Flaw::RestartOnOldInterval,
            Flaw::ChosenFromOtherRecords,
        ],
        rules: USUAL,
    },
    Search {
        name: "leaping",
        events: 8,
        flaws: &[Flaw::FlushWithoutQuarantine, Flaw::QuarantineByClockAlone],
        rules: LEAPING,
    },
    Search {
        name: "promoted",
        events: 6,
        flaws: &[Flaw::PromotionWithoutQuarantine],
        rules: PROMOTED,
    },
    Search {
        name: "unaware",
        events: 7,
        flaws: &[Flaw::VanishedWithoutQuarantine],
        rules: UNAWARE,
    },
    Search {
        name: "made again",
        events: 7,
        flaws: &[Flaw::OlderFollows],
        rules: MADE_AGAIN,
    },
    Search {
        name: "opened again",
        events: 7,
        flaws: &[Flaw::OlderFollows],
        rules: Rules {
            begin: Begin::Dropped,
            ..MADE_AGAIN
        },
    },
    Search {
        name: "replaced",
        events: 9,
        flaws: &[Flaw::GrantsWhenMade, Flaw::NeverLooks],
        rules: Rules {
            clocks: Clocks::OneMachine(5),
            losses: &[Loss::Replace],
            ..USUAL
        },
    },
    Search {
        name: "dropped",
        events: 11,
        flaws: &[Flaw::DropWithoutLook, Flaw::RemovedWithoutMark],
        rules: Rules {
            losses: &[],
            acquires: 2,
            operator: true,
            begin: Begin::Timed,
            ..CALM_LEAPING
        },
    },
    Search {
        name: "declared new",
        events: 10,
        flaws: &[Flaw::DeclaredAfterGrants],
        rules: Rules {
            operator: true,
            ..CALM_LEAPING
        },
    },
    Search {
        name: "copies",
        events: 9,
        flaws: &[Flaw::ClaimWithoutNonce, Flaw::CopiesNotTold],
        rules: Rules {
            clocks: Clocks::Any(&[0, 1]),
            acquires: 2,
            copies: true,
            ..USUAL
        },
    },
    Search {
        name: "lost copies",
        events: 9,
        flaws: &[Flaw::CopiesNotTold],
        rules: Rules {
            clocks: Clocks::Any(&[1]),
            losses: &[Loss::Promote],
            acquires: 1,
            copies: true,
            begin: Begin::Made,
            terms: [LONGER_TTL; 2],
            ..CALM
        },
    },
    Search {
        name: "two layouts",
        events: 6,
        flaws: &[Flaw::TermsNotCompared],
        rules: Rules {
            clocks: Clocks::Any(&[0, 1, 2]),
            node_ids: 2,
            terms: [USUAL_TERMS, OTHER_LAYOUT],
            ..USUAL
        },
    },
    Search {
        name: "several at once",
        events: 6,
        flaws: &[Flaw::FirstIsFreeForAll],
        rules: Rules {
            clocks: Clocks::Any(&[0, 1, 2]),
            node_ids: 2,
            at_once: 2,
            most_held: 2,
            ..USUAL
        },
    },
    Search {
        name: "elastic",
        events: 9,
        flaws: &[Flaw::RenewedAsOne],
        rules: Rules {
            clocks: Clocks::Any(&[0, 1]),
            node_ids: 2,
            most_held: 2,
            terms: [SHORTER_TTL; 2],
            ..CALM
        },
    },
    Search {
        name: "newcomer",
        events: 9,
        flaws: &[Flaw::QuarantineOfTheNewcomer],
        rules: Rules {
            losses: &[Loss::Flush],
            acquires: 3,
            faults: false,
            terms: [USUAL_TERMS, SHORTER_TTL],
            ..PROMOTED
        },
    },
];

impl Search {
    /// All histories of its length, whole or with a rule left out: whether an id repeats in one.
    fn repeats_an_id(&self, flaw: Option<Flaw>) -> bool {
        let rules = Rules { flaw, ..self.rules };
        // In one thread the shortest way to each state comes first. The state before all events
        // counts, and the last depth is not looked at.
        let checker = rules
            .checker()
            .target_max_depth(self.events + 2)
            .finish_when(HasDiscoveries::AnyFailures)
            .spawn_bfs()
            .join();
        let (name, states) = (self.name, checker.unique_state_count());
        match flaw {
            None => println!("{name}: {states} states"),
            Some(flaw) => println!("{name} with {flaw:?}: {states} states"),
        }
        if let Some(path) = checker.discovery(NO_ID_REPEATS) {
            println!("  {:?}", path.into_actions());
            return true;
        }
        false
    }
}

#[test]
fn no_id_repeats() {
    for search in SEARCHES {
        assert!(!search.repeats_an_id(None), "{}", search.name);
    }
}

#[test]
fn every_flaw_repeats_an_id() {
    for search in SEARCHES {
        for flaw in search.flaws {
            let repeats = search.repeats_an_id(Some(*flaw));
            assert!(repeats, "{}, without {flaw:?}", search.name);
        }
    }
}
