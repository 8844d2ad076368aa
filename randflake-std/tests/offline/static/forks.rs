//! Lock of a static file in forked children: it stays the parent's.

#![expect(unsafe_code, reason = "forking is a system call")]

use core::mem;

use super::{NODE, Place, failed_precondition};
use randflake_lease::testkit::leases::{TTL, acquire, acquire_one, eight};

/// Leaves by `_exit`, after what it runs.
fn fork(run: impl FnOnce() -> bool) -> i32 {
    // SAFETY: the child touches nothing that another thread may have locked, and leaves by `_exit`.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        let code = i32::from(!run());
        // SAFETY: it ends the child at once.
        unsafe { libc::_exit(code) };
    }
    // In the parent nothing of it is dropped.
    mem::forget(run);
    child
}

fn status(child: i32) -> i32 {
    let mut status = 0;
    // SAFETY: the child was just made, and the status is a local of the right type.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    status
}

#[test]
fn a_child_is_refused_and_its_parent_s_lock_stays() {
    let place = Place::declared();
    let mut store = place.store();
    let grant = acquire_one(&mut store, 1);
    assert_eq!(
        status(fork(|| {
            store.renew(&[grant], TTL).is_err_and(|error| {
                let error = error.to_string();
                error.contains("a forked child must not use its parent's store")
            })
        })),
        0
    );

    let child = fork(move || {
        drop(store);
        true
    });
    assert_eq!(status(child), 0);
    let sentence = failed_precondition(acquire(&mut place.store(), 2, 1));
    assert!(sentence.contains("another process holds"), "{sentence}");
}

/// A child that has the file open does not keep the lock.
#[test]
fn ended_holder_unlocks_beside_its_children() {
    let place = Place::declared();
    let mut store = place.store();
    acquire_one(&mut store, 1);
    let child = fork(|| {
        // SAFETY: it waits for a signal.
        unsafe { libc::pause() };
        true
    });
    drop(store);
    let mut next = place.try_store(NODE, &eight("orders")).unwrap();
    let waits = acquire(&mut next, 2, 1).unwrap_err();
    // SAFETY: it was not waited for, so its number is its own.
    unsafe { libc::kill(child, libc::SIGKILL) };
    status(child);
    assert!(waits.to_string().contains("node ids are free"), "{waits}");
}
