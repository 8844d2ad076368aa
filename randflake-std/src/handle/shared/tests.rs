//! On keepers that are not at work, and stores whose clock stands still.

use core::ops::ControlFlow;
use std::sync::Arc;

use super::*;
use crate::handle::id_wait::IdWait;
use crate::handle::keeper::tests::{AtRest, Slow, slow};
use crate::handle::{Handle, HandleOwner};

/// All ids of the tick.
const OF_TWO: usize = 8;

fn has_run_out(keeper: &AtRest<Slow>) -> bool {
    keeper.shared.demand.as_ref().unwrap().has_run_out()
}

fn issue_all(keeper: &AtRest<Slow>) {
    let mut ids = [Id::from_u64(0); OF_TWO];
    assert_eq!(keeper.shared.fill(&mut ids), Ok(OF_TWO));
    assert!(!has_run_out(keeper));
}

#[test]
fn the_keeper_is_told_of_a_call_that_is_refused_for_want_of_ids() {
    let (keeper, _) = slow(1..=8);
    issue_all(&keeper);
    let refused = keeper.shared.generate();
    let Err(GenerateError::SequenceExhausted { .. }) = refused else {
        panic!("{refused:?}");
    };
    assert!(has_run_out(&keeper));
}

#[test]
fn the_keeper_is_told_of_an_id_that_is_borrowed() {
    let (mut keeper, _) = slow(1..=8);
    Arc::get_mut(&mut keeper.shared).unwrap().tolerance = 1;
    issue_all(&keeper);
    keeper.shared.generate().unwrap();
    assert!(has_run_out(&keeper));
}

#[test]
fn one_lease_of_another_generation_may_have_had_an_id() {
    let (keeper, _) = slow(1..=8);
    assert!(!keeper.shared.has_other_than(0));
    assert!(keeper.shared.has_other_than(1));
    let sent = MonotonicTime::exact();
    let acquired = randflake_lease::Acquired {
        grants: vec![keeper.holdings[1].grant],
        last_writes: Vec::new(),
        now: Duration::from_secs(keeper.holdings[1].grant.start),
    };
    let later = Issuer::of_all(Slow, &acquired, sent, 1).unwrap();
    for issuer in later {
        keeper.shared.slots.replace(1, issuer);
    }
    assert!(keeper.shared.has_other_than(0) && keeper.shared.has_other_than(1));
}

/// As after a keeper that has ended in a panic.
#[test]
fn whoever_closes_seals_what_the_keeper_has_not() {
    let (keeper, _) = slow(1..=8);
    keeper.shared.generate().unwrap();
    keeper.shared.end_close().unwrap();
    assert_eq!(keeper.shared.generate(), Err(GenerateError::Sealed));
}

#[test]
fn a_part_of_a_millisecond_has_passed() {
    let (keeper, _) = slow(1..=8);
    let parts: Vec<_> = (0..1_000)
        .map(|_| keeper.shared.past_millisecond())
        .collect();
    let ms = Duration::from_millis(1);
    assert!(parts.iter().all(|part| *part < ms));
    assert!(parts.iter().any(|part| *part >= ms / 1_000));
}

#[test]
fn whoever_waits_waits_for_the_node_id_that_can_be_taken() {
    let (keeper, _) = slow(1..=8);
    issue_all(&keeper);
    let limit = Duration::from_secs(60);
    let attempt = || IdWait::new(&keeper.shared, limit).attempt(|| keeper.shared.generate());
    keeper.shared.demand.as_ref().unwrap().set_can_take(true);
    let Ok(ControlFlow::Continue(pause)) = attempt() else {
        panic!("another node id may come");
    };
    assert!(pause.limit > limit / 2);
    keeper.shared.demand.as_ref().unwrap().set_can_take(false);
    assert!(attempt().is_err(), "the tick lasts longer");
}

#[test]
fn the_lease_that_lasts_longest_is_what_is_told() {
    let (keeper, _) = slow(2..=2);
    let handle = Handle(Arc::new(HandleOwner(Arc::clone(&keeper.shared))));
    keeper
        .shared
        .lose(keeper.shared.slots.read().value(1).unwrap());
    assert!(handle.lease().remaining > Duration::ZERO);
    assert!(handle.health().is_ready());
    // Its drop would wait for the keeper, which does not run here.
    keeper.shared.phase.change(|phase| phase.ended = true);
}
