//! The lease protocol, model-checked: the shipped rules, two processes, and everything that may happen to them.
//!
//! # What is run
//!
//! Each operation reads the store, hands what it holds to `rules::acquire`, `renew` or `release`, and sends the
//! [`Change`](randflake_std::rules::Change) that they return, which the store applies if what was read is still so.
//! What is issued comes from core's `Sequencer`. So there is no second version of a rule here: the store only compares
//! and writes. What is written anew is the memory of `LeaseStore` (its tries, what it has seen, the estimate of the
//! clock), in a few bytes, so that millions of states fit.
//!
//! # What may happen
//!
//! Between a read and its write others may write. A write is lost, its answer is lost, or it arrives after its sender
//! has given up or crashed. Processes pause, crash, restart, choose a node id or take a free one, and one becomes a
//! copy of the other, with its memory, its holder's name, its pending acquire and its next random number. Then:
//!
//! - `USUAL`, `LEAPING`: the store's clock shows any tick at any time; it forgets all leases, but not the latest end;
//! - `FORGETFUL`, `PROMOTED`: it also goes on with an old replica, and nothing is known of what was forgotten. Here the
//!   machines' clocks agree, and the store's may differ by any number of ticks;
//! - `UNAWARE`: the engine does not notice that an old state was restored. Nothing is granted until a holder has asked:
//!   what is granted before that, no rule can know;
//! - `MADE_AGAIN`, `REOPENED`: the namespace's record is in the place of an earlier one, which a restored store has again;
//!   processes remember which one they saw, and when. An operator opens the dropped namespace;
//! - `COPIES`: what two copies of a holder issue until the second one has asked is theirs both, which no rule can
//!   prevent; all else must not repeat. `LOST_COPIES`: and the store forgets which of them was the first, with the same
//!   allowance;
//! - `TWO_LAYOUTS`, `NEWCOMER`: the second process brings other terms.
//!
//! # How far
//!
//! In the order of the histories' lengths, over 20 million states in all; each search prints its states and its depth. Not
//! checked: more than two processes, two node ids and one loss; several node ids in one request; a process that
//! holds a lease while it acquires the next; a store that forgets while clocks of machines differ; the store's failure
//! to do what [`Engine`](randflake_std::store::Engine) asks of it. That larger worlds add nothing is likely, not
//! proven: each rule left out shows within these.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and tells how far it went"
)]

mod holder;
mod lies;
mod operation;
mod protocol;
mod records;
mod rules;

use stateright::{Checker, HasDiscoveries, Model};

use protocol::{A_COPY_IS_TOLD, NO_ID_REPEATS, ONE_ID_AFTER_A_LOSS};
use records::{LONGER_TTL, OTHER_LAYOUT, SHORTER_TTL, USUAL as USUAL_TERMS};
use rules::{Begin, Clocks, Flaw, Loss, Rules};

const HOLDERS: usize = 2;
/// As long as the skew that is allowed.
const TICK_MS: u64 = 10_000;
/// TTL of all leases in ticks.
const TTL: u8 = 2;
/// How often the store loses leases.
const MAX_LOSSES: u8 = 1;
const THREADS: usize = 2;

/// Any clocks. The last tick is after every quarantine.
const USUAL: Rules = Rules {
    flaw: None,
    clocks: Clocks::Any(&[0, 1, 2, 3, 40]),
    losses: &[Loss::Flush],
    acquires: 3,
    faults: true,
    copies: false,
    begin: Begin::Empty,
    node_ids: 1,
    terms: [USUAL_TERMS; 2],
};
const CALM: Rules = Rules {
    clocks: Clocks::Any(&[0, 1, 2]),
    losses: &[],
    faults: false,
    ..USUAL
};
const LEAPING: Rules = Rules {
    clocks: Clocks::Any(&[0, 40]),
    faults: false,
    ..USUAL
};
/// A store that forgets all, also when the last lease ends.
const FORGETFUL: Rules = Rules {
    clocks: Clocks::MachinesAgree(6),
    losses: &[Loss::Flush, Loss::Promote],
    begin: Begin::Made,
    ..USUAL
};
const PROMOTED: Rules = Rules {
    clocks: Clocks::MachinesAgree(3),
    losses: &[Loss::Promote],
    acquires: 2,
    faults: false,
    ..FORGETFUL
};
const UNAWARE: Rules = Rules {
    losses: &[Loss::Restore],
    faults: false,
    ..FORGETFUL
};
/// A record in the place of another one. The shorter TTL makes the way to the end of a quarantine shorter.
const MADE_AGAIN: Rules = Rules {
    clocks: Clocks::MachinesAgree(12),
    losses: &[Loss::Flush, Loss::Promote, Loss::Restore],
    begin: Begin::MadeAgain,
    terms: [SHORTER_TTL; 2],
    ..UNAWARE
};
const REOPENED: Rules = Rules {
    begin: Begin::Dropped,
    ..MADE_AGAIN
};
const COPIES: Rules = Rules {
    copies: true,
    faults: true,
    ..CALM
};
const CALM_COPIES: Rules = Rules {
    copies: true,
    acquires: 1,
    ..CALM
};
const LOST_COPIES: Rules = Rules {
    clocks: Clocks::Any(&[1]),
    losses: &[Loss::Promote],
    begin: Begin::Made,
    terms: [LONGER_TTL; 2],
    ..CALM_COPIES
};
const TWO_LAYOUTS: Rules = Rules {
    faults: true,
    node_ids: 2,
    terms: [USUAL_TERMS, OTHER_LAYOUT],
    ..CALM
};
const NEWCOMER: Rules = Rules {
    losses: &[Loss::Flush],
    acquires: 3,
    terms: [USUAL_TERMS, SHORTER_TTL],
    ..PROMOTED
};

/// In the order of their lengths, up to so many million events tried.
fn search(name: &str, rules: Rules, millions: usize, sometimes: &[&'static str]) {
    let checker = rules.checker().threads(THREADS);
    let checker = checker.target_state_count(millions * 1_000_000);
    let checker = checker.spawn_bfs().join();
    let states = checker.unique_state_count();
    println!(
        "{name}: {states} states, {} events deep",
        checker.max_depth() - 1
    );
    if let Some(path) = checker.discovery(NO_ID_REPEATS) {
        panic!("{name}: {:#?}", path.into_actions());
    }
    for property in sometimes {
        checker.assert_any_discovery(property);
    }
    assert!(states >= millions * 200_000, "{name}: {states} states");
}

#[test]
fn no_id_repeats() {
    search("usual", USUAL, 6, &[ONE_ID_AFTER_A_LOSS]);
    search("leaping", LEAPING, 4, &[ONE_ID_AFTER_A_LOSS]);
    search("forgetful", FORGETFUL, 8, &[ONE_ID_AFTER_A_LOSS]);
    search("promoted", PROMOTED, 10, &[ONE_ID_AFTER_A_LOSS]);
    search("unaware", UNAWARE, 6, &[ONE_ID_AFTER_A_LOSS]);
    search("made again", MADE_AGAIN, 6, &[ONE_ID_AFTER_A_LOSS]);
    search("reopened", REOPENED, 6, &[ONE_ID_AFTER_A_LOSS]);
    search("copies", COPIES, 6, &[A_COPY_IS_TOLD]);
    search("lost copies", LOST_COPIES, 6, &[A_COPY_IS_TOLD]);
    search("two layouts", TWO_LAYOUTS, 4, &[]);
    search("newcomer", NEWCOMER, 4, &[]);
}

#[test]
fn every_flaw_repeats_an_id() {
    for (flaw, world) in [
        (Flaw::StartAfterLastStart, CALM),
        (Flaw::RenewWithoutCompare, CALM),
        (Flaw::IssueAfterRelease, CALM),
        (Flaw::RestartOnOldInterval, USUAL),
        (Flaw::ClaimWithoutNonce, CALM_COPIES),
        (Flaw::FlushWithoutQuarantine, LEAPING),
        (Flaw::PromotionWithoutQuarantine, PROMOTED),
        (Flaw::RenewAfterPromotion, PROMOTED),
        (Flaw::QuarantineByClockAlone, LEAPING),
        (Flaw::ChosenFromOtherRecords, CALM),
        (Flaw::TermsNotCompared, TWO_LAYOUTS),
        (Flaw::CopiesNotTold, CALM_COPIES),
        (Flaw::QuarantineOfTheNewcomer, NEWCOMER),
        (Flaw::QuarantineBeforeClock, PROMOTED),
        (Flaw::VanishedWithoutQuarantine, UNAWARE),
        (Flaw::QuarantineOfOneSkew, PROMOTED),
        (Flaw::OlderFollows, MADE_AGAIN),
        (Flaw::OlderFollows, REOPENED),
    ] {
        let rules = Rules {
            flaw: Some(flaw),
            ..world
        };
        let checker = rules.checker().threads(THREADS);
        let checker = checker
            .finish_when(HasDiscoveries::AnyFailures)
            .spawn_bfs()
            .join();
        let path = checker.assert_any_discovery(NO_ID_REPEATS);
        println!(
            "{flaw:?}: {} states, {:?}",
            checker.unique_state_count(),
            path.into_actions()
        );
    }
}
