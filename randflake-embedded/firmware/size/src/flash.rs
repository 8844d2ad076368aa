//! A flash's driver. Its functions are in every image, so they are not counted; calling them is.

use core::cell::UnsafeCell;

use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};
use randflake_embedded::randflake_core::HorizonRecord;

const PAGE: usize = 2_048;
const PAGES: usize = 3;

/// Pages of RAM.
struct Memory(UnsafeCell<[u8; PAGES * PAGE]>);

// SAFETY: an image has no interrupt, and uses it only in the functions below.
unsafe impl Sync for Memory {}

static MEMORY: Memory = Memory(UnsafeCell::new([0; PAGES * PAGE]));

/// The bytes from `at` on, as many as there are.
fn bytes(at: u32, len: usize) -> Option<&'static mut [u8]> {
    // SAFETY: no function below keeps it.
    let memory = unsafe { &mut *MEMORY.0.get() };
    memory.get_mut(at as usize..)?.get_mut(..len)
}

#[unsafe(no_mangle)]
#[inline(never)]
fn flash_read(at: u32, to: &mut [u8]) -> bool {
    let from = bytes(at, to.len());
    let there = from.is_some();
    for (to, from) in to.iter_mut().zip(from.into_iter().flatten()) {
        *to = *from;
    }
    there
}

#[unsafe(no_mangle)]
#[inline(never)]
fn flash_write(at: u32, from: &[u8]) -> bool {
    let to = bytes(at, from.len());
    let there = to.is_some();
    for (to, from) in to.into_iter().flatten().zip(from) {
        *to &= *from;
    }
    there
}

#[unsafe(no_mangle)]
#[inline(never)]
fn flash_erase(from: u32, to: u32) -> bool {
    let erased = bytes(from, to.wrapping_sub(from) as usize);
    let there = erased.is_some();
    for byte in erased.into_iter().flatten() {
        *byte = 0xff;
    }
    there
}

/// The driver: a flash may fail, and says so.
pub struct Part;

impl Part {
    /// What a factory writes: if the image did, it would share code.
    pub fn provision(first: HorizonRecord) -> Result<(), Fault> {
        Self.erase(0, (PAGES * PAGE) as u32)?;
        Self.write(0, &first.to_bytes())?;
        Self.write(8, &HorizonRecord::SEAL.to_bytes())
    }
}

#[derive(Debug)]
pub struct Fault;

impl NorFlashError for Fault {
    fn kind(&self) -> NorFlashErrorKind {
        NorFlashErrorKind::Other
    }
}

fn done(done: bool) -> Result<(), Fault> {
    if done { Ok(()) } else { Err(Fault) }
}

impl ErrorType for Part {
    type Error = Fault;
}

impl ReadNorFlash for Part {
    const READ_SIZE: usize = 4;

    #[inline]
    fn read(&mut self, at: u32, bytes: &mut [u8]) -> Result<(), Fault> {
        done(flash_read(at, bytes))
    }

    fn capacity(&self) -> usize {
        PAGES * PAGE
    }
}

impl NorFlash for Part {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = PAGE;

    #[inline]
    fn erase(&mut self, from: u32, to: u32) -> Result<(), Fault> {
        done(flash_erase(from, to))
    }

    #[inline]
    fn write(&mut self, at: u32, bytes: &[u8]) -> Result<(), Fault> {
        done(flash_write(at, bytes))
    }
}
