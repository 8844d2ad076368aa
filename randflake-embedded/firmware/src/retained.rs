//! What a reset leaves: RAM that nobody clears.

use core::mem::MaybeUninit;
use core::ptr;

#[derive(Clone, Copy)]
pub struct Retained {
    /// That the rest has a meaning: at power-on the RAM may hold anything.
    magic: u32,
    pub resets: u32,
    pub horizon_unix_s: u32,
    pub last_ticket: u32,
    /// The highest position that was issued.
    pub highest: u64,
    pub duplicates: u32,
    pub replays_refused: u32,
}

const MAGIC: u32 = 0x5eed_1d5e;

#[unsafe(link_section = ".uninit.retained")]
static mut RETAINED: MaybeUninit<Retained> = MaybeUninit::uninit();

/// Reads the retained words, zeros after power-on.
pub fn load() -> Retained {
    // SAFETY: plain numbers, of which any bits are some; nobody else has the memory.
    let retained = unsafe { (&raw const RETAINED).cast::<Retained>().read_volatile() };
    if retained.magic == MAGIC {
        return retained;
    }
    Retained {
        magic: MAGIC,
        resets: 0,
        horizon_unix_s: 0,
        last_ticket: 0,
        highest: 0,
        duplicates: 0,
        replays_refused: 0,
    }
}

pub fn update(change: impl FnOnce(&mut Retained)) {
    let mut retained = load();
    change(&mut retained);
    // SAFETY: as above.
    unsafe { ptr::write_volatile((&raw mut RETAINED).cast(), retained) }
}
