//! A process that is copied as it is, like a machine that is resumed twice from one saved state. A
//! fork is such a copy once the kernel was told not to mark it as a child.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::collections::HashSet;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use randflake_std::lease::{MemoryStore, Namespace};
use randflake_std::{ExactSystemClock, GenerateError, Handle, Id, Randflake, Secret};

const IDS: usize = 2_000;
const ATTEMPTS: usize = 50;
/// Far longer than what is waited for takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(60);

/// In each copy a number of its own.
static GENERATION: AtomicU64 = AtomicU64::new(1);

/// Without a number both issue the same, which is what it is for; with one the copy issues none.
#[test]
fn copy_repeats_ids_unless_its_generation_differs() {
    let namespace = Namespace::new("test", Randflake).unwrap();
    let store = MemoryStore::new(namespace, Arc::new(ExactSystemClock));
    let secret = Secret::from_bytes([7; 16]);
    let unaware = Handle::builder(&secret, store.clone()).build().unwrap();
    let aware = Handle::builder(&secret, store)
        .generation(&GENERATION)
        .build()
        .unwrap();
    forget_who_is_a_child();
    // The flaw that the number is against, or this test would show nothing. It shows within one
    // second only, which a busy machine may leave between the two.
    let shows = (0..ATTEMPTS).any(|_| repeated_by_a_copy(&unaware, &aware) > IDS / 4);
    assert!(shows, "a copy without a number repeats nothing");
    assert!(aware.generate_wait(PATIENCE).is_ok());
}

/// How many ids a copy and this process both issue from the handle that has no number. From the
/// other the copy has none.
fn repeated_by_a_copy(unaware: &Handle, aware: &Handle) -> usize {
    // In the middle of whatever a handle keeps ready.
    let _early: Vec<u64> = [unaware, aware].map(issue).concat();

    let (mut from_copy, to_original) = UnixStream::pair().unwrap();
    let copy = fork();
    if copy == 0 {
        // What the platform does before the copy runs.
        GENERATION.fetch_add(1, Ordering::SeqCst);
        let refused = aware.generate() == Err(GenerateError::Copied);
        let mut answer = vec![u64::from(refused)];
        answer.extend(issue(aware));
        let count = answer.len() as u64 - 1;
        answer.insert(1, count);
        answer.extend(issue(unaware));
        let bytes: Vec<u8> = answer.iter().flat_map(|n| n.to_le_bytes()).collect();
        let written = (&to_original).write_all(&bytes);
        exit(i32::from(written.is_err()));
    }
    drop(to_original);
    let ids: HashSet<u64> = issue(unaware).into_iter().collect();
    let aware_ids = issue(aware);
    let mut bytes = Vec::new();
    from_copy.read_to_end(&mut bytes).unwrap();
    wait_for(copy);
    let answer: Vec<u64> = bytes
        .chunks_exact(8)
        .map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap()))
        .collect();
    let (refused, aware_count, unaware_ids) = (answer[0], answer[1], &answer[2..]);

    assert_eq!(refused, 1, "the copy does not say why it refuses");
    assert_eq!(aware_count, 0, "the copy has issued");
    assert_eq!(aware_ids.len(), IDS);
    unaware_ids.iter().filter(|id| ids.contains(id)).count()
}

fn issue(handle: &Handle) -> Vec<u64> {
    let ids = (0..IDS).filter_map(|_| handle.generate().ok());
    ids.map(Id::to_u64).collect()
}

/// Lets a child keep the pages that are emptied for it, by which it would know what it is.
#[expect(unsafe_code, reason = "the kernel's interface")]
fn forget_who_is_a_child() {
    let mappings = fs::read_to_string("/proc/self/smaps").unwrap();
    let mut range = (0, 0);
    let mut kept = 0;
    for line in mappings.lines() {
        let first = line.split(' ').next().unwrap();
        if let Some((from, to)) = first.split_once('-') {
            let parse = |hex| usize::from_str_radix(hex, 16).unwrap();
            range = (parse(from), parse(to));
        } else if line.starts_with("VmFlags:") && line.contains(" wf") {
            let (from, to) = range;
            let start = core::ptr::without_provenance_mut(from);
            // SAFETY: the mapping is there, and in this process nothing of it changes.
            let done = unsafe { libc::madvise(start, to - from, libc::MADV_KEEPONFORK) };
            kept += usize::from(done == 0);
        }
    }
    assert!(kept > 0, "no page is emptied in children");
}

#[expect(unsafe_code, reason = "forking is a system call")]
fn fork() -> libc::pid_t {
    // SAFETY: the child allocates, which the C library allows, writes to its socket, and leaves by `_exit`.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    child
}

#[expect(
    unsafe_code,
    reason = "what a test program does when it exits is its parent's"
)]
fn exit(code: i32) -> ! {
    // SAFETY: it ends the child at once.
    unsafe { libc::_exit(code) }
}

#[expect(unsafe_code, reason = "waiting is a system call")]
fn wait_for(child: libc::pid_t) {
    let mut status = 0;
    // SAFETY: the child was just made, and the status is a local of the right type.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0);
}
