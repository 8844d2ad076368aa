//! The lease protocol, model-checked: two processes, one node id, and everything that may befall them.
//!
//! The store's rules are `MemoryStore`'s, told in a few bytes so that millions of states fit; `twin`
//! lets the two work side by side. What a holder issues, extends and releases is not modelled: it is
//! core's `Sequencer` itself. Each rule that is left out yields a repetition, so the check bites.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and tells how far it went"
)]

mod holder;
mod protocol;
mod rules;
mod store;
mod twin;

use stateright::{Checker, HasDiscoveries, Model};

use protocol::{NO_ID_REPEATS, ONE_ID_AFTER_A_LOSS};
use rules::{Flaw, Rules};

const HOLDERS: usize = 2;
/// In ticks, as the skew.
const TTL: u8 = 2;
const MAX_SKEW: u8 = 1;
/// Clocks show ticks below this one, at any time any of them.
const CLOCK_READINGS: u8 = 4;
/// By all holders.
const MAX_ACQUIRES: u8 = 3;
/// How often the store loses leases.
const MAX_LOSSES: u8 = 1;
const THREADS: usize = 2;
/// How far a search goes: some seconds on two cores, and five million states.
const TRANSITIONS: usize = 24_000_000;
const MIN_STATES: usize = 3_000_000;

/// In the order of their lengths: every history of 12 events and most of 13, as many as the flaw that
/// hides best needs.
fn holds(rules: Rules) {
    let checker = rules.checker().threads(THREADS);
    let checker = checker.target_state_count(TRANSITIONS).spawn_bfs().join();
    let states = checker.unique_state_count();
    println!(
        "{rules:?}: {states} states, {} events deep",
        checker.max_depth()
    );
    checker.assert_no_discovery(NO_ID_REPEATS);
    checker.assert_any_discovery(ONE_ID_AFTER_A_LOSS);
    assert!(states >= MIN_STATES, "{states} states");
}

#[test]
fn no_id_repeats_under_any_clocks() {
    holds(Rules::default());
}

/// Where no mark of the latest end outlives the loss, as on a server that was replaced.
#[test]
fn a_fence_by_the_clock_alone_holds_if_the_clock_does() {
    holds(Rules {
        flaw: Some(Flaw::FenceByClockAlone),
        store_steps_back: Some(MAX_SKEW),
    });
}

#[test]
fn every_flaw_repeats_an_id() {
    for flaw in Flaw::ALL {
        let rules = Rules {
            flaw: Some(flaw),
            ..Rules::default()
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
