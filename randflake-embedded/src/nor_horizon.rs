//! The horizon in two pages of NOR flash.
//!
//! ```text
//! page | slot 0 | slot 1 | slot 2 | ...            erased: all bits 1; a write clears bits
//! slot | horizon, u32 little-endian | its complement |
//! ```
//!
//! What a power cut leaves of a write or an erase is *torn*: bits that were to change read as 0 or as 1,
//! and differently at each boot. A slot that shows a record may be torn, as may one that shows nothing.
//! What was completed reads the same until it is erased. Three rules make that enough:
//!
//! 1. **A torn slot never shows a record that was not written there.** A record has one 0 in each pair of
//!    a bit and its complement. Half a write has fewer, half an erase fewer again. Two writes over each other
//!    have more, unless they are of one record. (Such a slot half erased may be all ones beside all zeros,
//!    which is no record.)
//! 2. **A slot is touched only after the one before was completed** since the boot, so as to be seen for
//!    ever. Each boot begins with the last slot that shows anything: it writes the horizon over that, be it
//!    the horizon's own, and over the slot after it, the only one that may be touched and not show it. So
//!    both show something for ever, the horizon or no record, and the next record goes to the slot after
//!    those, which was never touched.
//! 3. **A page is erased only when the other holds the highest record, completed.** It is the last slot
//!    that shows anything, and was written once more; or a boot after it touched a later slot, which it
//!    did only after that.

use embedded_storage::nor_flash::MultiwriteNorFlash;
use randflake_core::HorizonStore;

/// A [`HorizonStore`] in the first two pages of a flash, through a driver of `embedded-storage`: give it a
/// partition, [`FlashPart`](crate::FlashPart) for one.
///
/// It stands torn writes, torn erases, slots that show nothing but were written, and bits that read
/// differently at each boot. A page is the driver's `ERASE_SIZE`, a power of two. A record has 8 bytes;
/// for flash that reads or writes more at once say so: `NorHorizon::<_, 16>::open`.
///
/// The flash must allow to write over what was written, with the bits of both cleared: the marker
/// `MultiwriteNorFlash`. Parts with ECC on their flash do not.
///
/// A raise takes a slot, a boot one more; see [`lifetime_s`] for how long that can go on.
///
/// ```
/// # use embedded_storage::nor_flash::{ErrorType, MultiwriteNorFlash, NorFlash, ReadNorFlash};
/// # struct Ram([u8; 4096]);
/// # impl ErrorType for Ram { type Error = core::convert::Infallible; }
/// # impl ReadNorFlash for Ram {
/// #     const READ_SIZE: usize = 1;
/// #     fn read(&mut self, at: u32, bytes: &mut [u8]) -> Result<(), Self::Error> {
/// #         bytes.copy_from_slice(&self.0[at as usize..][..bytes.len()]);
/// #         Ok(())
/// #     }
/// #     fn capacity(&self) -> usize { 4096 }
/// # }
/// # impl NorFlash for Ram {
/// #     const WRITE_SIZE: usize = 4;
/// #     const ERASE_SIZE: usize = 2048;
/// #     fn erase(&mut self, from: u32, to: u32) -> Result<(), Self::Error> {
/// #         self.0[from as usize..to as usize].fill(0xff);
/// #         Ok(())
/// #     }
/// #     fn write(&mut self, at: u32, bytes: &[u8]) -> Result<(), Self::Error> {
/// #         let old = &mut self.0[at as usize..][..bytes.len()];
/// #         old.iter_mut().zip(bytes).for_each(|(old, new)| *old &= new);
/// #         Ok(())
/// #     }
/// # }
/// # impl MultiwriteNorFlash for Ram {}
/// # let mut flash = Ram([0xff; 4096]);
/// use randflake_embedded::NorHorizon;
/// use randflake_embedded::randflake_core::HorizonStore;
///
/// let mut horizon = NorHorizon::<_>::open(&mut flash)?;
/// assert_eq!(horizon.unix_s(), 0, "never raised");
/// horizon.raise(1_733_706_357)?;
///
/// // After a reset:
/// let horizon = NorHorizon::<_>::open(&mut flash)?;
/// assert_eq!(horizon.unix_s(), 1_733_706_357);
/// # Ok::<(), core::convert::Infallible>(())
/// ```
#[derive(Debug)]
pub struct NorHorizon<F, const SLOT: usize = 8> {
    flash: F,
    /// Where the next record goes; at the end of a page, to the beginning of the other.
    next: u32,
    horizon: u32,
}

/// A slot's bytes, where whole words may be loaded. Not on AVR, whose compiler relies on an alignment that it does not
/// give: <https://github.com/llvm/llvm-project/issues/169190>.
#[cfg_attr(not(target_arch = "avr"), repr(align(4)))]
struct Slot<const SLOT: usize>([u8; SLOT]);

/// What both halves of a slot show that shows nothing.
const BLANK: u32 = u32::MAX;
impl<F: MultiwriteNorFlash, const SLOT: usize> NorHorizon<F, SLOT> {
    #[expect(clippy::cast_possible_truncation, reason = "at most 2^30")]
    const PAGE: u32 = {
        assert!(SLOT >= 8, "a slot holds at least 8 bytes");
        assert!(
            SLOT.is_multiple_of(F::WRITE_SIZE) && SLOT.is_multiple_of(F::READ_SIZE),
            "a slot is a multiple of what the flash writes and reads at once"
        );
        assert!(
            F::ERASE_SIZE.is_power_of_two() && F::ERASE_SIZE as u64 <= 1 << 30,
            "a page of the flash is a power of two, at most 2^30 bytes"
        );
        assert!(
            F::ERASE_SIZE.is_multiple_of(SLOT) && F::ERASE_SIZE >= 4 * SLOT,
            "a page of the flash holds at least 4 slots"
        );
        F::ERASE_SIZE as u32
    };
    const IN_PAGE: u32 = Self::PAGE.wrapping_sub(1);
    #[expect(clippy::cast_possible_truncation, reason = "below a page")]
    const SLOT: u32 = SLOT as u32;

    /// Reads the horizon, and writes over slots that may be torn.
    ///
    /// Pages that never held a horizon give 0, and the first is erased when it is raised. So do pages that
    /// somebody has erased: then only a lease that nobody has used before makes ids unique.
    ///
    /// # Errors
    ///
    /// The driver's. The horizon is not known then, and no id may be issued.
    pub fn open(mut flash: F) -> Result<Self, F::Error> {
        let mut horizon = 0;
        // The last slot of its page that shows anything, and that page's last byte.
        let (mut last_at, mut end) = (0, 0);
        let mut at = 0;
        let mut slot = Slot([0; SLOT]);
        // Two pages, which are a power of two.
        while at & Self::PAGE.wrapping_mul(2) == 0 {
            flash.read(at, &mut slot.0)?;
            let (record, complement) = slot.halves();
            if record == !complement && complement != 0 && record > horizon {
                horizon = record;
                (last_at, end) = (at, at | Self::IN_PAGE);
            } else if record & complement != BLANK && at < end {
                last_at = at;
            }
            at = at.wrapping_add(Self::SLOT);
        }
        // Without a horizon both are 0, and nothing is written.
        let mut next = last_at;
        for _ in 0..2 {
            if next < end {
                write::<F, SLOT>(&mut flash, next, horizon)?;
                next = next.wrapping_add(Self::SLOT);
            }
        }
        Ok(Self {
            flash,
            next,
            horizon,
        })
    }

    /// The driver again.
    pub fn into_inner(self) -> F {
        self.flash
    }
}

impl<F: MultiwriteNorFlash, const SLOT: usize> HorizonStore for NorHorizon<F, SLOT> {
    type Error = F::Error;

    fn unix_s(&self) -> u32 {
        self.horizon
    }

    fn raise(&mut self, to: u32) -> Result<(), F::Error> {
        if to > self.horizon {
            let mut at = self.next;
            if at & Self::IN_PAGE == 0 {
                // The end of page 1 is the beginning of page 0. If anything fails, so it is again.
                at &= Self::PAGE;
                self.flash.erase(at, at.wrapping_add(Self::PAGE))?;
            } else {
                // If it fails, the next try begins the other page: it is not known what was touched.
                self.next = (at | Self::IN_PAGE).wrapping_add(1);
            }
            write::<F, SLOT>(&mut self.flash, at, to)?;
            self.next = at.wrapping_add(Self::SLOT);
            self.horizon = to;
        }
        Ok(())
    }
}

impl<const SLOT: usize> Slot<SLOT> {
    #[inline]
    fn new(record: u32) -> Self {
        let mut slot = [0xff; SLOT];
        slot[..4].copy_from_slice(&record.to_le_bytes());
        slot[4..8].copy_from_slice(&(!record).to_le_bytes());
        Self(slot)
    }

    #[inline]
    fn halves(&self) -> (u32, u32) {
        let half = |bytes: &[u8]| bytes.first_chunk().copied().map_or(0, u32::from_le_bytes);
        (half(&self.0), half(&self.0[4..]))
    }
}

fn write<F: MultiwriteNorFlash, const SLOT: usize>(
    flash: &mut F,
    at: u32,
    record: u32,
) -> Result<(), F::Error> {
    flash.write(at, &Slot::<SLOT>::new(record).0)
}

/// How long two pages of flash last, in seconds, if the horizon is raised each `block_s` seconds.
///
/// `page_bytes` is what is erased at once, `slot_bytes` 8 unless more is written at once, and `cycles` how
/// often the maker lets a page be erased. A raise takes a slot, a boot one more.
///
/// | block | two pages of 2 KiB, 10,000 cycles | and 10 boots a day |
/// |---|---|---|
/// | 60 s | 9.7 years | 9.7 years |
/// | 600 s | 97 years | 85 years |
///
/// A boot is taken to raise the horizon, too. No page, no slot, no block gives 0.
///
/// ```
/// use randflake_embedded::lifetime_s;
///
/// const TENTH_OF_A_YEAR: u64 = 3_155_760;
/// let tenths = |block_s, boots| lifetime_s(2_048, 8, 10_000, block_s, boots) / TENTH_OF_A_YEAR;
/// assert_eq!((tenths(60, 0), tenths(60, 10)), (97, 96));
/// assert_eq!((tenths(600, 0), tenths(600, 10)), (973, 854));
/// ```
#[must_use]
pub const fn lifetime_s(
    page_bytes: u32,
    slot_bytes: u32,
    cycles: u32,
    block_s: u32,
    boots_per_day: u32,
) -> u64 {
    const DAY_S: u64 = 86_400;
    let (Some(slots), Some(raises_per_day)) = (
        page_bytes.checked_div(slot_bytes),
        DAY_S.checked_div(block_s as u64),
    ) else {
        return 0;
    };
    let slots_per_day = raises_per_day.saturating_add((boots_per_day as u64).saturating_mul(2));
    let slots = (slots as u64)
        .saturating_mul(2)
        .saturating_mul(cycles as u64);
    match slots.saturating_mul(DAY_S).checked_div(slots_per_day) {
        Some(seconds) => seconds,
        // Raised less than once a day, and never booted.
        None => slots.saturating_mul(block_s as u64),
    }
}
