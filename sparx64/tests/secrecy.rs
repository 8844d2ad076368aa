//! The key does not outlive the cipher, and is not shown.
#![expect(unsafe_code, reason = "looks at memory as its owner gives it back")]

use core::{
    alloc::{GlobalAlloc, Layout},
    cell::Cell,
    hint::black_box,
    slice,
};
use std::alloc::System;

use sparx64::{Sparx64, Sparx64OnTheFly};

const KEY: [u8; 16] = *b"sixteen byte key";
/// The first word of the key, which is also the first round key, as it lies in memory.
const WORD: [u8; 2] = u16::from_be_bytes(*b"si").to_ne_bytes();

const WATCHED: [Layout; 2] = [Layout::new::<Sparx64>(), Layout::new::<Sparx64OnTheFly>()];

/// What a freed cipher held.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Freed {
    Nothing,
    Zeros,
    Remains,
}

thread_local! {
    static FREED: Cell<Freed> = const { Cell::new(Freed::Nothing) };
}

/// Looks at each cipher as it is freed: the compiler may take plain stores to memory that is
/// about to be freed for dead, so this is where a wipe would be missing.
struct Watching;

#[global_allocator]
static ALLOCATOR: Watching = Watching;

// SAFETY: all of the contract is left to the system's allocator.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        if WATCHED.contains(&layout) {
            // SAFETY: the allocation is live and of this size, and the tests' threads alone free
            // values of these layouts, all of them initialised.
            let bytes = unsafe { slice::from_raw_parts(start, layout.size()) };
            let zeros = bytes.iter().all(|byte| *black_box(byte) == 0);
            FREED.set(if zeros { Freed::Zeros } else { Freed::Remains });
        }
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(start, layout) }
    }
}

fn assert_wiped_on_drop<C>(cipher: Box<C>) {
    // SAFETY: both types are plain words without padding.
    let bytes = unsafe { slice::from_raw_parts((&raw const *cipher).cast(), size_of::<C>()) };
    assert!(
        bytes.chunks(2).any(|word: &[u8]| word == WORD),
        "the key is held"
    );
    FREED.set(Freed::Nothing);
    drop(cipher);
    assert_eq!(FREED.get(), Freed::Zeros);
}

#[test]
fn schedule_is_wiped_on_drop() {
    assert_wiped_on_drop(Box::new(Sparx64::new(&KEY)));
}

#[test]
fn key_is_wiped_on_drop() {
    assert_wiped_on_drop(Box::new(Sparx64OnTheFly::new(&KEY)));
}

#[test]
fn clone_is_wiped_on_drop() {
    let cipher = Sparx64::new(&KEY);
    assert_wiped_on_drop(Box::new(cipher.clone()));
    assert_eq!(cipher.decrypt_u64(cipher.encrypt_u64(1)), 1);
}

/// The checks above can fail.
#[test]
fn remains_are_seen() {
    // Where there are no threads, of another test.
    FREED.set(Freed::Nothing);
    drop(Box::new([1_u8; size_of::<Sparx64>()]));
    assert_eq!(FREED.get(), Freed::Nothing, "another alignment");
    drop(Box::new([1_u32; size_of::<Sparx64>() / 4]));
    assert_eq!(FREED.get(), Freed::Remains);
}

#[test]
fn debug_shows_no_key() {
    let shown = format!("{:?}", Sparx64::new(&KEY));
    assert_eq!(shown, "Sparx64 { .. }");
    assert_eq!(format!("{:#?}", Sparx64::new(&KEY)), shown);
    let shown = format!("{:?}", Sparx64OnTheFly::new(&KEY));
    assert_eq!(shown, "Sparx64OnTheFly { .. }");
}

#[cfg(feature = "cipher")]
#[test]
fn is_marked_as_wiped() {
    fn takes(_: impl zeroize::ZeroizeOnDrop) {}
    takes(Sparx64::new(&KEY));
    takes(Sparx64OnTheFly::new(&KEY));
}
