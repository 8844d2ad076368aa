//! Driver of the chip's flash, whose `read` returns an error for a word that a power cut left torn.
//!
//! A word of 64 bits has 8 bits of ECC. If two bits of it are wrong, a read raises the non-maskable
//! interrupt, at each boot again, until the page is erased. With the default handler, which waits
//! forever, or resets, the device never starts again. So the handler below clears the error, and
//! the read that caused it says so (RM0440, `FLASH_ECCR`).

use core::sync::atomic::{AtomicBool, Ordering};

use cortex_m::asm::{dsb, isb};
use cortex_m_rt::exception;
use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash, check_erase, check_read,
    check_write,
};
use stm32g4::stm32g431::FLASH;

const BASE: usize = 0x0800_0000;
const SIZE: usize = 128 * 1024;
const PAGE: usize = 2_048;
const WORD: usize = 8;

/// Whether the driver reads a word that may be torn. Elsewhere two wrong bits mean that the program
/// is damaged.
static IS_READING: AtomicBool = AtomicBool::new(false);
static IS_TORN: AtomicBool = AtomicBool::new(false);

#[exception]
// SAFETY: it uses nothing but a register and atomics, so it may interrupt anything.
unsafe fn NonMaskableInt() {
    // SAFETY: no other code writes this register.
    let ecc = unsafe { (*FLASH::ptr()).eccr() };
    if !ecc.read().eccd().bit_is_set() || !IS_READING.load(Ordering::SeqCst) {
        panic!("a cause that this program does not know, or a damaged program");
    }
    // Cleared by writing 1. Otherwise the interrupt is raised again when this returns.
    ecc.modify(|_, w| w.eccd().set_bit());
    IS_TORN.store(true, Ordering::SeqCst);
}

/// The chip's flash; addresses count from its beginning.
pub struct PageFlash(FLASH);

impl PageFlash {
    pub fn new(flash: FLASH) -> Self {
        // What is read back must come from the cells. Instructions have a cache of their own.
        flash.acr().modify(|_, w| w.dcen().clear_bit());
        for key in [0x4567_0123, 0xcdef_89ab] {
            // SAFETY: the two keys unlock the control register (RM0440, `FLASH_KEYR`).
            flash.keyr().write(|w| unsafe { w.bits(key) });
        }
        let flash = Self(flash);
        // Errors of whatever ran before would refuse the first operation (RM0440, 3.3.7).
        _ = flash.finish();
        flash
    }

    /// Waits for the operation that has begun. The processor stands still meanwhile, if it runs
    /// from this flash.
    fn finish(&self) -> Result<(), FlashError> {
        while self.0.sr().read().bsy().bit_is_set() {}
        let status = self.0.sr().read();
        // SAFETY: a bit is cleared by writing 1.
        self.0.sr().write(|w| unsafe { w.bits(status.bits()) });
        // Bit 0 says that it has ended, if its interrupt is enabled; all others are errors.
        match status.bits() & !1 {
            0 => Ok(()),
            errors => Err(FlashError::Refused(errors)),
        }
    }
}

impl ErrorType for PageFlash {
    type Error = FlashError;
}

impl ReadNorFlash for PageFlash {
    const READ_SIZE: usize = WORD;

    fn read(&mut self, at: u32, bytes: &mut [u8]) -> Result<(), FlashError> {
        check_read(self, at, bytes.len())?;
        let from = core::ptr::with_exposed_provenance::<u64>(BASE + at as usize);
        for (n, bytes) in bytes.as_chunks_mut::<WORD>().0.iter_mut().enumerate() {
            IS_READING.store(true, Ordering::SeqCst);
            // SAFETY: an aligned word of the flash, as was checked above.
            let word = unsafe { from.add(n).read_volatile() };
            // The interrupt comes before the next instruction.
            dsb();
            isb();
            IS_READING.store(false, Ordering::SeqCst);
            if IS_TORN.swap(false, Ordering::SeqCst) {
                return Err(FlashError::Torn);
            }
            *bytes = word.to_le_bytes();
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        SIZE
    }
}

impl NorFlash for PageFlash {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = PAGE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), FlashError> {
        check_erase(self, from, to)?;
        for page in (from..to).step_by(PAGE) {
            let number = (page / PAGE as u32) as u8;
            // SAFETY: the number of a page that the check has allowed.
            self.0
                .cr()
                .modify(|_, w| unsafe { w.per().set_bit().pnb().bits(number) });
            self.0.cr().modify(|_, w| w.strt().set_bit());
            let erased = self.finish();
            self.0.cr().modify(|_, w| w.per().clear_bit());
            erased?;
        }
        Ok(())
    }

    fn write(&mut self, at: u32, bytes: &[u8]) -> Result<(), FlashError> {
        check_write(self, at, bytes.len())?;
        let to = core::ptr::with_exposed_provenance_mut::<u32>(BASE + at as usize);
        for (n, half) in bytes.as_chunks::<4>().0.iter().enumerate() {
            self.0.cr().modify(|_, w| w.pg().set_bit());
            // SAFETY: an aligned half of a word, as was checked above; the chip writes a word when
            // it has both halves.
            unsafe { to.add(n).write_volatile(u32::from_le_bytes(*half)) };
            if n % 2 == 1 {
                dsb();
                let written = self.finish();
                self.0.cr().modify(|_, w| w.pg().clear_bit());
                written?;
            }
        }
        Ok(())
    }
}

#[derive(Debug)]
pub enum FlashError {
    /// Two bits of the word are wrong: a write or an erase of it was cut.
    Torn,
    /// The chip refused, for the reasons whose bits its status register shows.
    Refused(#[expect(dead_code, reason = "for a debugger")] u32),
    Range(NorFlashErrorKind),
}

impl From<NorFlashErrorKind> for FlashError {
    fn from(kind: NorFlashErrorKind) -> Self {
        Self::Range(kind)
    }
}

impl NorFlashError for FlashError {
    fn kind(&self) -> NorFlashErrorKind {
        match self {
            Self::Range(kind) => *kind,
            _ => NorFlashErrorKind::Other,
        }
    }
}
