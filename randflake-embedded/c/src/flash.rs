//! The horizon in raw flash, over the callbacks of a program's driver: `rf_flash`.

use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::{iter, slice};

use randflake_core::{AtomicWord, FlashHorizonError, HorizonLog, LogFlash};

use crate::status::{self, Status};
use crate::word::{self, Word};

type Read = extern "C" fn(*mut c_void, u32, *mut u8, u32) -> i32;
type Program = extern "C" fn(*mut c_void, u32, *const u8, u32) -> i32;
type Erase = extern "C" fn(*mut c_void, u32) -> i32;

/// The C type `rf_flash`.
#[repr(C)]
pub struct Flash {
    part: Part,
    /// The horizon, a multiple of 4, with `OPEN` once `log` is there, and `CLAIMED` while a call
    /// changes it.
    state: Word,
    log: UnsafeCell<MaybeUninit<HorizonLog>>,
}

const _: () = assert!(size_of::<Flash>() == status::FLASH_SIZE);

/// What a program says of its flash: any pointer in it may be null.
#[repr(C)]
struct Part {
    page_size: u32,
    pages: u32,
    slot_size: u32,
    read: Option<Read>,
    program: Option<Program>,
    erase: Option<Erase>,
    context: *mut c_void,
}

const OPEN: u32 = 1;
const CLAIMED: u32 = 2;

/// Bytes of a record: the slots of the log. A slot of the flash has one, and blank bytes.
const RECORD_SIZE: usize = 8;

/// Bytes of the largest slot.
const MAX_SLOT_SIZE: usize = 32;

const MAX_PAGE_SIZE: u32 = 1 << 20;
/// All addresses are below 2^30.
const MAX_PAGES: u32 = 1 << 10;

#[unsafe(no_mangle)]
extern "C" fn rf_flash_open(flash: Option<&Flash>) -> Status {
    let opened = flash.ok_or(status::NULL).and_then(|flash| {
        flash.alone(0, |log, driver| {
            log.write(HorizonLog::open(driver)?);
            Ok(())
        })
    });
    status::of(opened)
}

#[unsafe(no_mangle)]
extern "C" fn rf_flash_horizon(flash: Option<&Flash>) -> u32 {
    flash.map_or(0, |flash| match word::load(&flash.state) {
        state if state & OPEN != 0 => state & !(OPEN | CLAIMED),
        _ => 0,
    })
}

#[unsafe(no_mangle)]
extern "C" fn rf_flash_raise(flash: Option<&Flash>, unix_s: u32) -> Status {
    opened(flash, |log, driver| Ok(log.raise(driver, unix_s)?))
}

#[unsafe(no_mangle)]
extern "C" fn rf_flash_erase_ahead(flash: Option<&Flash>, raises: u32) -> Status {
    opened(flash, |log, driver| Ok(log.erase_ahead(driver, raises)?))
}

/// Runs a call that needs an opened flash. None is there where a program forgot `user`, by which
/// the two callbacks get it.
fn opened(
    flash: Option<&Flash>,
    call: impl FnOnce(&mut HorizonLog, &mut Driver<'_>) -> Result<(), Status>,
) -> Status {
    let called = flash.ok_or(status::NULL).and_then(|flash| {
        flash.alone(OPEN, |log, driver| {
            // SAFETY: `rf_flash_open` has written it.
            call(unsafe { log.assume_init_mut() }, driver)
        })
    });
    status::of(called)
}

impl Flash {
    /// Runs a call that changes the log, unless another one is in progress: in a second task, or in
    /// a callback of the driver of which this is called. The horizon is shown meanwhile.
    fn alone(
        &self,
        needed: u32,
        call: impl FnOnce(&mut MaybeUninit<HorizonLog>, &mut Driver<'_>) -> Result<(), Status>,
    ) -> Result<(), Status> {
        let before = word::load(&self.state);
        if before & needed != needed {
            return Err(status::NULL);
        }
        let claimed = before | CLAIMED;
        if before == claimed || !AtomicWord::compare_exchange(&self.state, before, claimed) {
            return Err(status::BUSY);
        }
        // SAFETY: the state is claimed, so that nobody else has it.
        let log = unsafe { &mut *self.log.get() };
        let result = self
            .part
            .driver()
            .and_then(|mut driver| call(log, &mut driver));
        let is_open = needed == OPEN || result.is_ok();
        // SAFETY: it was open before, or has just been opened.
        let horizon = is_open.then(|| unsafe { log.assume_init_ref() }.unix_s() | OPEN);
        AtomicWord::compare_exchange(&self.state, claimed, horizon.unwrap_or(0));
        result
    }
}

impl Part {
    /// Checks that nothing is missing or out of range.
    fn driver(&self) -> Result<Driver<'_>, Status> {
        let Self {
            page_size,
            pages,
            slot_size,
            read: Some(_),
            program: Some(_),
            erase: Some(_),
            ..
        } = *self
        else {
            return Err(status::NULL);
        };
        let least = slot_size.wrapping_mul(4);
        if !matches!(slot_size, 8 | 16 | 32)
            || !(least..=MAX_PAGE_SIZE).contains(&page_size)
            || page_size & slot_size.wrapping_sub(1) != 0
            || !(3..=MAX_PAGES).contains(&pages)
        {
            return Err(status::FLASH_PAGES);
        }
        Ok(Driver(self))
    }
}

/// The callbacks as a flash whose slots have 8 bytes, whatever those of the part have: so the log
/// is there once for all sizes.
struct Driver<'a>(&'a Part);

impl Driver<'_> {
    /// How many times a slot of the part is twice as long: 0 for 8 bytes, 1 for 16, 2 for 32.
    fn shift(&self) -> u32 {
        self.0.slot_size >> 4
    }

    fn address(&self, at: u32) -> u32 {
        at.wrapping_shl(self.shift())
    }
}

/// A slot of the part, as far as it goes; drivers that write words or double words want them
/// aligned.
#[repr(align(8))]
struct Slot(MaybeUninit<[u8; MAX_SLOT_SIZE]>);

/// A callback has failed.
struct Failed;

fn result(returned: Option<i32>) -> Result<(), Failed> {
    if returned == Some(0) {
        Ok(())
    } else {
        Err(Failed)
    }
}

impl LogFlash for Driver<'_> {
    type Error = Failed;

    fn page_bytes(&self) -> u32 {
        self.0.page_size.wrapping_shr(self.shift())
    }

    fn capacity(&self) -> u32 {
        self.page_bytes().wrapping_mul(self.0.pages)
    }

    fn read(&mut self, at: u32, record: &mut [u8]) -> Result<(), Failed> {
        let Part {
            slot_size,
            read,
            context,
            ..
        } = *self.0;
        let mut slot = Slot(MaybeUninit::uninit());
        let to = slot.0.as_mut_ptr().cast();
        let at = self.address(at);
        result(read.map(|read| read(context, at, to, slot_size)))?;
        // SAFETY: the callback has written as many bytes, at most the buffer's.
        let slot = unsafe { slice::from_raw_parts(to.cast_const(), slot_size as usize) };
        let (first, rest) = slot.split_at_checked(RECORD_SIZE).ok_or(Failed)?;
        // One bit behind a record may have changed: it counts as one of the record's, so that what
        // was just written is not found whole.
        let changed = rest
            .iter()
            .fold(0_u32, |bits, byte| bits.wrapping_add(byte.count_zeros()));
        let mut change = u8::from(changed == 1);
        for (to, from) in record.iter_mut().zip(first) {
            // What has more than a record is none.
            *to = if changed > 1 { u8::MAX } else { *from ^ change };
            change = 0;
        }
        Ok(())
    }

    fn write(&mut self, at: u32, record: &[u8]) -> Result<(), Failed> {
        let Part {
            slot_size,
            program,
            context,
            ..
        } = *self.0;
        let mut slot = Slot(MaybeUninit::uninit());
        let from: *mut u8 = slot.0.as_mut_ptr().cast();
        let blank = iter::repeat(&u8::MAX);
        for (offset, byte) in record.iter().chain(blank).enumerate().take(MAX_SLOT_SIZE) {
            // Volatile, as the compiler would call `memset` for a run of equal bytes.
            // SAFETY: the offset is within the buffer.
            unsafe { from.wrapping_add(offset).write_volatile(*byte) };
        }
        let at = self.address(at);
        result(program.map(|program| program(context, at, from, slot_size)))
    }

    fn erase(&mut self, page: u32) -> Result<(), Failed> {
        let Part { erase, context, .. } = *self.0;
        let page = self.address(page);
        result(erase.map(|erase| erase(context, page)))
    }
}

impl From<FlashHorizonError<Failed>> for Status {
    fn from(error: FlashHorizonError<Failed>) -> Self {
        match error {
            FlashHorizonError::TooSmall => status::FLASH_PAGES,
            FlashHorizonError::Version(_) => status::FLASH_FORMAT,
            // The driver failed, the flash shows other bits, or the time is past all records.
            _ => status::HORIZON_STORE,
        }
    }
}
