//! The lease protocol, model-checked.

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
use records::{OTHER_LAYOUT, SHORTER_TTL, USUAL};
use rules::{Clocks, Flaw, Loss, Rules};

const HOLDERS: usize = 2;
/// As long as the skew that is allowed.
const TICK_MS: u64 = 10_000;
/// In ticks.
const TTL: u8 = 2;
/// How often the store loses leases.
const MAX_LOSSES: u8 = 1;
const THREADS: usize = 2;

/// Any clocks. The last one is after every quarantine.
const USUAL_WORLD: Rules = Rules {
    flaw: None,
    clocks: Clocks::Any(&[0, 1, 2, 3, 40]),
    losses: &[Loss::Flush],
    acquires: 3,
    faults: true,
    copies: false,
    is_made: false,
    node_ids: 1,
    others_terms: USUAL,
};
const CALM: Rules = Rules {
    clocks: Clocks::Any(&[0, 1, 2]),
    losses: &[],
    faults: false,
    ..USUAL_WORLD
};
const LEAPING: Rules = Rules {
    clocks: Clocks::Any(&[0, 40]),
    faults: false,
    ..USUAL_WORLD
};
/// A store that forgets all, also when the last lease ends.
const FORGETFUL: Rules = Rules {
    clocks: Clocks::MachinesAgree(6),
    losses: &[Loss::Flush, Loss::Promote],
    is_made: true,
    ..USUAL_WORLD
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
const COPIES: Rules = Rules {
    clocks: Clocks::Any(&[0, 1, 2]),
    copies: true,
    losses: &[],
    ..USUAL_WORLD
};
const QUIET_COPIES: Rules = Rules {
    copies: true,
    acquires: 1,
    ..CALM
};
const TWO_LAYOUTS: Rules = Rules {
    clocks: Clocks::Any(&[0, 1, 2]),
    node_ids: 2,
    others_terms: OTHER_LAYOUT,
    losses: &[],
    ..USUAL_WORLD
};
const NEWCOMER: Rules = Rules {
    clocks: Clocks::MachinesAgree(3),
    others_terms: SHORTER_TTL,
    losses: &[Loss::Flush],
    faults: false,
    ..FORGETFUL
};

/// In the order of their lengths.
fn search(name: &str, rules: Rules, transitions: usize, sometimes: &[&'static str]) {
    let checker = rules.checker().threads(THREADS);
    let checker = checker.target_state_count(transitions).spawn_bfs().join();
    let states = checker.unique_state_count();
    println!(
        "{name}: {states} states, {} events deep",
        checker.max_depth()
    );
    if let Some(path) = checker.discovery(NO_ID_REPEATS) {
        panic!("{name}: {:#?}", path.into_actions());
    }
    for property in sometimes {
        checker.assert_any_discovery(property);
    }
}

#[test]
fn no_id_repeats() {
    let n = std::env::var("N").map_or(1_000_000, |n| n.parse().unwrap());
    search("usual", USUAL_WORLD, n, &[ONE_ID_AFTER_A_LOSS]);
    search("forgetful", FORGETFUL, n, &[ONE_ID_AFTER_A_LOSS]);
    search("unaware", UNAWARE, n, &[ONE_ID_AFTER_A_LOSS]);
    search("copies", COPIES, n, &[A_COPY_IS_TOLD]);
    search("layouts", TWO_LAYOUTS, n, &[]);
    search("promoted", PROMOTED, n, &[ONE_ID_AFTER_A_LOSS]);
    search("leaping", LEAPING, n, &[ONE_ID_AFTER_A_LOSS]);
    search("newcomer", NEWCOMER, n, &[]);
}

#[test]
fn every_flaw_repeats_an_id() {
    for (flaw, world) in [
        (Flaw::StartAfterLastStart, CALM),
        (Flaw::RenewWithoutCompare, CALM),
        (Flaw::IssueAfterRelease, CALM),
        (Flaw::RestartOnOldInterval, USUAL_WORLD),
        (Flaw::ClaimWithoutNonce, COPIES),
        (Flaw::FlushWithoutQuarantine, LEAPING),
        (Flaw::PromotionWithoutQuarantine, PROMOTED),
        (Flaw::RenewAfterPromotion, PROMOTED),
        (Flaw::QuarantineByClockAlone, LEAPING),
        (Flaw::ChosenFromOtherRecords, CALM),
        (Flaw::TermsNotCompared, TWO_LAYOUTS),
        (Flaw::CopiesNotTold, QUIET_COPIES),
        (Flaw::QuarantineOfTheNewcomer, NEWCOMER),
        (Flaw::QuarantineBeforeClock, PROMOTED),
        (Flaw::VanishedWithoutQuarantine, UNAWARE),
        (Flaw::QuarantineOfOneSkew, PROMOTED),
    ] {
        let rules = Rules {
            flaw: Some(flaw),
            ..world
        };
        let checker = rules
            .checker()
            .threads(THREADS)
            .target_state_count(20_000_000);
        let checker = checker
            .finish_when(HasDiscoveries::AnyFailures)
            .spawn_bfs()
            .join();
        println!(
            "{flaw:?}: {} states, {} deep",
            checker.unique_state_count(),
            checker.max_depth()
        );
        if let Some(path) = checker.discovery(NO_ID_REPEATS) {
            println!("{:?}", path.into_actions());
        } else {
            println!("NOT FOUND");
        }
    }
}
