//! Disk faults: each system call of an operation fails in turn.

use core::cell::{Cell, RefCell};
use core::time::Duration;
use std::collections::BTreeSet;

use randflake_lease::{Record, StoreError, Verdict};

use crate::failing_calls::{Fault, with_fault};
use crate::{Place, TTL, acquire};

const FAULTS: [(Fault, bool); 5] = [
    (Fault::Broken, false),
    (Fault::Broken, true),
    (Fault::Full, false),
    (Fault::Full, true),
    (Fault::Short, false),
];

fn held(records: Vec<Record>) -> BTreeSet<(u32, u64, u64)> {
    records
        .into_iter()
        .map(|Record { grant, .. }| (grant.node_id, grant.fencing_token, grant.end))
        .collect()
}

/// Every lease that was answered is kept, and the store goes on, unfenced.
fn goes_on(place: &Place, answered: &BTreeSet<(u32, u64, u64)>, after: &str) {
    let mut store = place.open();
    let kept = held(store.list().unwrap());
    assert!(
        kept.is_superset(answered),
        "{after}: {answered:?} of {kept:?}"
    );
    let next = acquire(&mut store).unwrap();
    let node_ids: BTreeSet<_> = kept.iter().map(|(node_id, ..)| *node_id).collect();
    assert!(!node_ids.contains(&next.node_id), "{after}");
    for finding in store.administration().diagnose().unwrap() {
        assert!(
            !matches!(finding.verdict, Verdict::Wrong(_)),
            "{after}: {finding:?}"
        );
    }
}

/// Does something with each of its calls failing in turn, and says how many it has.
fn with_each_call_failing(
    prepare: impl Fn(&Place),
    work: impl Fn(&Place) -> Result<(), StoreError>,
    check: impl Fn(&Place, Result<(), StoreError>, &str),
) -> u32 {
    let mut most = 0;
    for (fault, is_lasting) in FAULTS {
        for sound in 0.. {
            let place = Place::in_memory();
            prepare(&place);
            let (outcome, has_struck) = with_fault(sound, fault, is_lasting, || work(&place));
            if !has_struck {
                outcome.unwrap();
                most = most.max(sound);
                break;
            }
            let after = format!("{fault:?} after {sound} calls");
            if let Err(error) = &outcome {
                assert!(
                    matches!(error, StoreError::Unavailable(_)),
                    "{after}: {error}"
                );
                assert!(error.to_string().contains("leases.db"), "{after}: {error}");
            }
            check(&place, outcome, &after);
        }
    }
    most
}

#[test]
fn a_new_store_outlives_any_call_that_fails() {
    let calls = with_each_call_failing(
        |_| {},
        |place| place.try_open(&place.database()).map(drop),
        |place, _, after| {
            // It is made by now, and waits for the next tick.
            place.open();
            place.pass(Duration::from_secs(1));
            goes_on(place, &BTreeSet::new(), after);
        },
    );
    assert!(calls > 10, "{calls}");
}

#[test]
fn an_acquire_outlives_any_call_that_fails() {
    let granted = RefCell::new(BTreeSet::new());
    let prepare = |place: &Place| {
        place.make();
        let node_ids = (0..3).map(|_| acquire(&mut place.open()).unwrap().node_id);
        granted.replace(node_ids.collect());
    };
    let work = |place: &Place| {
        let mut store = place.try_open(&place.database())?;
        let grant = acquire(&mut store)?;
        granted.borrow_mut().insert(grant.node_id);
        Ok(())
    };
    let check = |place: &Place, outcome: Result<(), StoreError>, after: &str| {
        let granted = granted.borrow();
        assert_eq!(granted.len(), 3 + usize::from(outcome.is_ok()), "{after}");
        let kept = place.open().list().unwrap().into_iter();
        let answered = held(
            kept.filter(|record| granted.contains(&record.grant.node_id))
                .collect(),
        );
        assert_eq!(answered.len(), granted.len(), "{after}: {answered:?}");
        goes_on(place, &answered, after);
    };
    let calls = with_each_call_failing(prepare, work, check);
    assert!(calls > 8, "{calls}");
}

#[test]
fn a_renewal_outlives_any_call_that_fails() {
    let ends = Cell::new((0, 0));
    let prepare = |place: &Place| {
        place.make();
        let grant = acquire(&mut place.open()).unwrap();
        ends.set((grant.end, grant.end));
        place.clock.advance_ms(30_000);
    };
    let work = |place: &Place| {
        let mut store = place.try_open(&place.database())?;
        let grant = store.list()?[0].grant;
        let end = store.renew(&[grant], TTL)?.ends[0].unwrap();
        ends.set((ends.get().0, end));
        Ok(())
    };
    let calls = with_each_call_failing(
        prepare,
        work,
        |place: &Place, outcome: Result<(), StoreError>, after: &str| {
            let kept = place.open().list().unwrap()[0].grant.end;
            let (before, renewed) = ends.get();
            let least = if outcome.is_ok() { renewed } else { before };
            assert!(kept >= least, "{after}: {kept} of {least}");
            assert!(outcome.is_err() || renewed > before, "{after}");
        },
    );
    assert!(calls > 8, "{calls}");
}
