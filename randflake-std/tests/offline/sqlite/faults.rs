//! Disk faults: system calls that fail, and each call of an operation in turn.
//!
//! `write` and its like of this program stand before those of the C library, for SQLite and the
//! standard library alike, and fail in the thread that asked for it.

#![expect(unsafe_code, reason = "these functions are the C library's")]

use core::cell::Cell;
use core::ffi::{c_int, c_long, c_void};
use core::time::Duration;
use std::collections::BTreeSet;

use libc::{
    EIO, ENOSPC, SYS_fdatasync, SYS_fsync, SYS_ftruncate, SYS_pwrite64, SYS_write, off_t, size_t,
    ssize_t,
};
use randflake_std::lease::{Record, StoreError, Verdict};

use super::{Place, TTL, acquire};

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
    let granted = core::cell::RefCell::new(BTreeSet::new());
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
    let check = |place: &Place, outcome: Result<(), StoreError>, after: &str| {
        let kept = place.open().list().unwrap()[0].grant.end;
        let (before, renewed) = ends.get();
        let least = if outcome.is_ok() { renewed } else { before };
        assert!(kept >= least, "{after}: {kept} of {least}");
        assert!(outcome.is_err() || renewed > before, "{after}");
    };
    let calls = with_each_call_failing(prepare, work, check);
    assert!(calls > 8, "{calls}");
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The error `EIO` of a disk.
    Broken,
    /// The error `ENOSPC` of a disk.
    Full,
    /// Half is written, and no more.
    Short,
}

#[derive(Clone, Copy)]
struct Plan {
    /// Calls that still do what they should.
    sound: u32,
    fault: Fault,
    /// Each call after the first that fails does too.
    is_lasting: bool,
    has_struck: bool,
}

thread_local! {
    static PLAN: Cell<Option<Plan>> = const { Cell::new(None) };
}

/// Does something in which one call that writes or syncs fails, after so many that do not, or each
/// from there on. Says whether it came to that.
pub(crate) fn with_fault<T>(
    sound: u32,
    fault: Fault,
    is_lasting: bool,
    work: impl FnOnce() -> T,
) -> (T, bool) {
    PLAN.set(Some(Plan {
        sound,
        fault,
        is_lasting,
        has_struck: false,
    }));
    let outcome = work();
    let plan = PLAN.take();
    (outcome, plan.is_some_and(|plan| plan.has_struck))
}

fn strikes() -> Option<Fault> {
    let mut plan = PLAN.get()?;
    let strikes = if plan.sound > 0 {
        plan.sound -= 1;
        false
    } else {
        !plan.has_struck || plan.is_lasting
    };
    // Of a short write the rest does not fit.
    let is_rest = plan.has_struck && plan.fault == Fault::Short;
    plan.has_struck |= strikes;
    if is_rest {
        plan.fault = Fault::Full;
    }
    PLAN.set(Some(plan));
    (strikes || is_rest).then_some(plan.fault)
}

fn failed(error: c_int) -> c_int {
    // SAFETY: the call touches no memory.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: it is this thread's own, for as long as the thread lives.
    unsafe { *errno = error };
    -1
}

/// A call that cannot be half done.
fn whole(call: impl FnOnce() -> c_long) -> c_int {
    match strikes() {
        Some(Fault::Full) => failed(ENOSPC),
        Some(Fault::Broken | Fault::Short) => failed(EIO),
        None => c_int::try_from(call()).unwrap_or(-1),
    }
}

/// A call that writes so many bytes.
fn partial(count: size_t, call: impl FnOnce(size_t) -> c_long) -> ssize_t {
    let outcome = match strikes() {
        Some(Fault::Full) => failed(ENOSPC).into(),
        Some(Fault::Broken) => failed(EIO).into(),
        Some(Fault::Short) => call(count / 2),
        None => call(count),
    };
    ssize_t::try_from(outcome).unwrap_or(-1)
}

#[unsafe(no_mangle)]
extern "C" fn write(file: c_int, bytes: *const c_void, count: size_t) -> ssize_t {
    // SAFETY: passed on as it came, with a count that is no higher.
    partial(count, |count| unsafe {
        libc::syscall(SYS_write, file, bytes, count)
    })
}

#[unsafe(no_mangle)]
extern "C" fn pwrite64(file: c_int, bytes: *const c_void, count: size_t, at: off_t) -> ssize_t {
    // SAFETY: as above.
    partial(count, |count| unsafe {
        libc::syscall(SYS_pwrite64, file, bytes, count, at)
    })
}

#[unsafe(no_mangle)]
extern "C" fn pwrite(file: c_int, bytes: *const c_void, count: size_t, at: off_t) -> ssize_t {
    pwrite64(file, bytes, count, at)
}

#[unsafe(no_mangle)]
extern "C" fn fsync(file: c_int) -> c_int {
    // SAFETY: the call touches no memory.
    whole(|| unsafe { libc::syscall(SYS_fsync, file) })
}

#[unsafe(no_mangle)]
extern "C" fn fdatasync(file: c_int) -> c_int {
    // SAFETY: as above.
    whole(|| unsafe { libc::syscall(SYS_fdatasync, file) })
}

#[unsafe(no_mangle)]
extern "C" fn ftruncate64(file: c_int, len: off_t) -> c_int {
    // SAFETY: as above.
    whole(|| unsafe { libc::syscall(SYS_ftruncate, file, len) })
}

#[unsafe(no_mangle)]
extern "C" fn ftruncate(file: c_int, len: off_t) -> c_int {
    ftruncate64(file, len)
}
