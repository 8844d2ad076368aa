//! A real fork. Known failure (f) of the older packages: the child goes on where its parent is.
#![cfg(unix)]

use core::cell::Cell;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::collections::HashSet;
use std::sync::Arc;
use std::thread;

use randflake_std::lease::{MemoryStore, Namespace};
use randflake_std::segment::{SegmentError, Segments};
use randflake_std::tagged::{TagSecrets, TaggedHandle};
use randflake_std::{
    BuildError, Builder, ExactSystemClock, GenerateError, Handle, Id, Plain, Randflake, Secret,
    Snowflake,
};

const REFUSED: i32 = 0;
const ISSUED: i32 = 1;
const LIMIT: Duration = Duration::from_secs(1);
/// Far longer than what is waited for takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(60);

#[expect(unsafe_code, reason = "forking is a system call")]
fn in_child(run: impl Fn() -> i32) -> i32 {
    // An emulator's own locks are copied too: what other threads have just begun would hold some
    // for ever in the child.
    thread::sleep(Duration::from_millis(20));
    // SAFETY: the child only touches atomics and leaves by `_exit`.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        let code = run();
        // SAFETY: it ends the child at once.
        unsafe { libc::_exit(code) };
    }
    let mut status = 0;
    // SAFETY: the child was just made, and the status is a local of the right type.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert!(libc::WIFEXITED(status), "the child was killed");
    libc::WEXITSTATUS(status)
}

#[test]
fn a_forked_child_is_refused_and_its_parent_goes_on() {
    let namespace = Namespace::new("test", Randflake).unwrap();
    let store = MemoryStore::new(namespace, Arc::new(ExactSystemClock));
    let handle = Handle::builder(&Secret::from_bytes([7; 16]), store)
        .build()
        .unwrap();
    let before = handle.generate().unwrap();

    let refused = |handle: &Handle| handle.generate() == Err(GenerateError::InForkedChild);
    assert_eq!(
        in_child(|| if refused(&handle) { REFUSED } else { ISSUED }),
        REFUSED
    );
    // Nor does a grandchild, nor the drop of a child's clone release the parent's lease.
    assert_eq!(
        in_child(|| {
            drop(handle.clone());
            in_child(|| if refused(&handle) { REFUSED } else { ISSUED })
        }),
        REFUSED
    );

    assert_ne!(handle.generate().unwrap(), before);
    handle.close().unwrap();
}

/// Each way to ids looks for itself.
#[test]
fn forked_child_gets_no_ids_of_its_parent() {
    let namespace = Namespace::new("test", Snowflake).unwrap();
    let store = MemoryStore::new(namespace, Arc::new(ExactSystemClock));
    let plain = Builder::new(Snowflake, Plain, store).build().unwrap();
    let namespace = Namespace::new("test", Randflake).unwrap();
    let store = MemoryStore::new(namespace, Arc::new(ExactSystemClock));
    let handle = Handle::builder(&Secret::from_bytes([7; 16]), store)
        .build()
        .unwrap();
    let ways: [&dyn Fn() -> Option<GenerateError>; 3] = [
        &|| plain.generate().err(),
        &|| plain.fill(&mut [Id::from_u64(0); 3]).err(),
        &|| handle.fill(&mut [Id::from_u64(0); 3]).err(),
    ];
    for way in ways {
        assert_eq!(way(), None);
        assert_eq!(
            in_child(|| {
                let is_refused = way() == Some(GenerateError::InForkedChild);
                if is_refused { REFUSED } else { ISSUED }
            }),
            REFUSED
        );
    }
}

/// A lock that another thread had at the fork is never free in the child.
#[test]
fn forked_child_waits_for_no_missing_thread() {
    let namespace = Namespace::new("test", Randflake).unwrap();
    let store = MemoryStore::new(namespace, Arc::new(ExactSystemClock));
    let secret = Secret::from_bytes([7; 16]);
    let handle = Handle::builder(&secret, store).build().unwrap();
    fork_while(
        || assert!(handle.health().is_ready()),
        || {
            let refused = handle.generate_wait(LIMIT) == Err(GenerateError::InForkedChild);
            let is_empty = handle.lease().leases.is_empty() && format!("{handle:?}").contains("[]");
            if refused && is_empty && !handle.health().is_ready() {
                REFUSED
            } else {
                ISSUED
            }
        },
    );
    assert_eq!(handle.lease().leases.len(), 1);
}

#[test]
fn forked_child_sees_no_segments_and_waits_for_none() {
    let namespace = Namespace::new("test", Randflake).unwrap();
    let store = MemoryStore::new(namespace, Arc::new(ExactSystemClock));
    let numbers = Segments::builder(store).build().unwrap();
    fork_while(
        || assert!(numbers.status().remaining > 0),
        || {
            let status = numbers.status();
            let shown = format!("{numbers:?}");
            if (status.remaining, status.length) == (0, 0) && shown.contains("remaining: 0") {
                REFUSED
            } else {
                ISSUED
            }
        },
    );
}

/// Forks often while a thread takes locks all the time; no child may wait for that thread.
fn fork_while(lock: impl Fn() + Sync, asked: impl Fn() -> i32) {
    const FORKS: usize = 400;
    let in_time = || {
        // A child that hangs is killed, and fails the test.
        #[expect(unsafe_code, reason = "an alarm is a system call")]
        // SAFETY: it touches nothing of this process's memory.
        let _no_former_one = unsafe { libc::alarm(60) };
        asked()
    };
    let running = Arc::new(());
    thread::scope(|scope| {
        // Dropped by a panic, too.
        let _ends = Arc::clone(&running);
        scope.spawn(|| {
            while Arc::strong_count(&running) > 1 {
                lock();
            }
        });
        for _ in 0..FORKS {
            assert_eq!(in_child(in_time), REFUSED);
        }
    });
}

/// Also while the parent's thread reads the keys.
#[test]
fn a_forked_child_gets_no_tagged_uuid_and_reads_them() {
    let keys = tempfile::tempdir().unwrap();
    let secret = Secret::from_bytes([7; 16]);
    secret.write_new(keys.path().join("1.key")).unwrap();
    let secrets = TagSecrets::open(keys.path(), "test").unwrap();
    let namespace = Namespace::new("test", Randflake).unwrap();
    let store = MemoryStore::new(namespace, Arc::new(ExactSystemClock));
    let clients = store.clone();
    let handle = TaggedHandle::builder(&secrets, move || Ok(clients.clone()))
        .build()
        .unwrap();
    let uuid = handle.generate().unwrap();
    let asked = || {
        let refused = handle.generate() == Err(GenerateError::InForkedChild);
        let refused = refused && handle.generate_wait(LIMIT).is_err();
        let refused = refused && handle.fill(&mut [uuid; 3]).is_err();
        drop(handle.clone());
        let is_empty = handle.lease().leases.is_empty() && !handle.health().is_ready();
        if refused && is_empty && secrets.check(uuid).is_ok() && handle.inspect(uuid).is_ok() {
            REFUSED
        } else {
            ISSUED
        }
    };
    fork_while(
        || {
            secrets.refresh().unwrap();
            assert!(handle.health().is_ready());
        },
        asked,
    );
    assert_ne!(handle.generate_wait(PATIENCE).unwrap(), uuid);
    // The last one of a child, whose parent's leases stay.
    let cell = Cell::new(Some(handle));
    assert_eq!(
        in_child(|| {
            drop(cell.take());
            REFUSED
        }),
        REFUSED
    );
    let handle = cell.take().unwrap();
    assert!(handle.generate_wait(PATIENCE).is_ok());
    handle.close().unwrap();
}

/// Parent and child have the rest of the same block.
#[test]
fn fork_within_a_block_leaves_its_ids_to_the_parent() {
    const IDS: usize = 300;
    let namespace = Namespace::new("test", Randflake).unwrap();
    let store = MemoryStore::new(namespace, Arc::new(ExactSystemClock));
    let handle = Handle::builder(&Secret::from_bytes([7; 16]), store)
        .build()
        .unwrap();
    let mut ids = HashSet::new();
    for _ in 0..5 {
        // Blocks of 1, 2 and so on: the fork is in the middle of one of 256.
        ids.extend((0..2 * IDS).map(|_| handle.generate().unwrap()));
        let all_refused = || {
            if (0..IDS).all(|_| handle.generate() == Err(GenerateError::InForkedChild)) {
                REFUSED
            } else {
                ISSUED
            }
        };
        assert_eq!(in_child(all_refused), REFUSED);
        assert_eq!(in_child(|| in_child(all_refused)), REFUSED);
    }
    ids.extend((0..IDS).map(|_| handle.generate().unwrap()));
    assert_eq!(ids.len(), 11 * IDS);
}

/// The child has no keeper, and may have been copied while a thread was reading the node ids.
#[test]
fn forked_child_of_an_elastic_handle_is_refused() {
    let namespace = Namespace::new("test", Randflake).unwrap();
    let store = MemoryStore::new(namespace, Arc::new(ExactSystemClock));
    let builder = Handle::builder(&Secret::from_bytes([7; 16]), store);
    let handle = builder.node_ids(1..=4).build().unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                let _runs_out = handle.generate();
            }
        });
        for _ in 0..20 {
            assert_eq!(
                in_child(|| {
                    drop(handle.clone());
                    if (0..300).all(|_| handle.generate() == Err(GenerateError::InForkedChild)) {
                        REFUSED
                    } else {
                        ISSUED
                    }
                }),
                REFUSED
            );
        }
        is_over.store(true, Ordering::SeqCst);
    });
    handle.generate_wait(PATIENCE).unwrap();
    handle.close().unwrap();
}

#[test]
fn forked_child_has_no_number_of_its_parent() {
    let namespace = Namespace::new("test", Randflake).unwrap();
    let store = MemoryStore::new(namespace, Arc::new(ExactSystemClock));
    let numbers = Segments::builder(store).build().unwrap();
    assert_eq!(numbers.next().unwrap().to_u64(), 1);
    let refused = || {
        let mut buffer = [Id::from_u64(0); 2];
        let refused = [
            numbers.next().err(),
            numbers.next_wait(Duration::MAX).err(),
            numbers.fill(&mut buffer).err(),
        ];
        drop(numbers.clone());
        if refused == [Some(SegmentError::InForkedChild); 3] {
            REFUSED
        } else {
            ISSUED
        }
    };
    assert_eq!(in_child(refused), REFUSED);
    assert_eq!(in_child(|| in_child(refused)), REFUSED);
    assert_eq!(numbers.next().unwrap().to_u64(), 2);
}

/// Without a thread to keep them, leases are not acquired. It is a child that may not have another
/// thread.
#[test]
fn failed_keeper_start_leaves_no_lease() {
    let namespace = Namespace::new("test", Randflake).unwrap();
    let store = MemoryStore::new(namespace, Arc::new(ExactSystemClock));
    let nothing_left = || {
        forbid_threads();
        let built = Handle::builder(&Secret::from_bytes([7; 16]), store.clone()).build();
        let is_refused = matches!(built, Err(BuildError::Thread(_)));
        let is_free = store.clone().list().is_ok_and(|leases| leases.is_empty());
        if is_refused && is_free {
            REFUSED
        } else {
            ISSUED
        }
    };
    assert_eq!(in_child(nothing_left), REFUSED);
}

#[expect(unsafe_code, reason = "limits are the kernel's")]
fn forbid_threads() {
    const NOBODY: libc::uid_t = 65_534;
    let limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: it reads the limit.
    let limited = unsafe { libc::setrlimit(libc::RLIMIT_NPROC, &raw const limit) };
    // SAFETY: it concerns no other process. Root has no limits; other users may not change, nor has to.
    let _fails_unless_root = unsafe { libc::setuid(NOBODY) };
    assert_eq!(limited, 0);
}
