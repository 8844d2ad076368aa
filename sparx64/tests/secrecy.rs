//! The key does not outlive the cipher, and is not shown.
#![expect(unsafe_code, reason = "looks at memory as its owner gives it back")]

use core::{
    alloc::{GlobalAlloc, Layout},
    cell::Cell,
};
use std::alloc::System;

use sparx64::Sparx64;

const KEY: [u8; 16] = *b"sixteen byte key";
/// The first word of the key, which is also the first round key, as it lies in memory.
const WORD: [u8; 2] = u16::from_be_bytes(*b"si").to_ne_bytes();

/// What a freed `Sparx64` held.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Freed {
    Nothing,
    Zeros,
    Remains,
}

thread_local! {
    static FREED: Cell<Freed> = const { Cell::new(Freed::Nothing) };
}

/// Looks at each `Sparx64` as it is freed: the compiler may take plain stores to memory that is
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
        if layout == Layout::new::<Sparx64>() {
            // SAFETY: the allocation is live and of this size, and the test's thread alone frees
            // values of this layout, all of them initialised.
            let bytes = unsafe { start.cast::<[u8; size_of::<Sparx64>()]>().read_volatile() };
            let zeros = bytes == [0; size_of::<Sparx64>()];
            FREED.set(if zeros { Freed::Zeros } else { Freed::Remains });
        }
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(start, layout) }
    }
}

fn assert_wiped_on_drop(cipher: Box<Sparx64>) {
    // SAFETY: the type is plain words without padding.
    let bytes = unsafe {
        (&raw const *cipher)
            .cast::<[u8; size_of::<Sparx64>()]>()
            .read()
    };
    assert!(bytes.chunks(2).any(|word| word == WORD), "the key is held");
    FREED.set(Freed::Nothing);
    drop(cipher);
    assert_eq!(FREED.get(), Freed::Zeros);
}

#[test]
fn schedule_is_wiped_on_drop() {
    assert_wiped_on_drop(Box::new(Sparx64::new(&KEY)));
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
    drop(Box::new([1_u8; size_of::<Sparx64>()]));
    assert_eq!(FREED.get(), Freed::Nothing, "another alignment");
    drop(Box::new([1_u16; size_of::<Sparx64>() / 2]));
    assert_eq!(FREED.get(), Freed::Remains);
}

#[test]
fn debug_shows_no_key() {
    let shown = format!("{:?}", Sparx64::new(&KEY));
    assert_eq!(shown, "Sparx64 { .. }");
    assert_eq!(format!("{:#?}", Sparx64::new(&KEY)), shown);
}

#[cfg(feature = "zeroize")]
#[test]
fn is_marked_as_wiped() {
    fn takes(_: impl zeroize::ZeroizeOnDrop) {}
    takes(Sparx64::new(&KEY));
}
