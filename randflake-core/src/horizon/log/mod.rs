//! The log of horizons in flash: which page is kept, where the next record goes, which pages are
//! erased.
//!
//! ```text
//! page | head | seal | record | record | ...     records rise
//! ```
//!
//! What a cut leaves of a write or an erase is *torn*: it shows its former content, its new one or
//! nothing, and may show another of these at each read. A torn slot that shows nothing looks like
//! one that was never written, and must not be written. So nothing is ever written into a page that
//! this boot has not erased:
//!
//! 1. The first raise of a boot begins a page: it erases the page behind the kept one, writes its
//!    record as the *head* and then the *seal*, each read back, and only then answers. A head is
//!    higher than all that was seen or tried. Later records are appended; a page that failed is
//!    left, and the next one begun.
//! 2. A seal says that the head before it is firm. Of the sealed pages, that with the highest head
//!    is *kept*.
//! 3. The horizon is the highest of all heads and of the records of the kept page: a head without a
//!    seal was tried, perhaps in the page that replaced the last answered one. Records of other
//!    pages are below the kept head.
//! 4. Before it answers, a raise that began a page erases each other page that shows no head. It is
//!    blank, or hides one that is higher than all that were seen; if that showed later, it would
//!    pass for the newest. If that erase fails, the page is marked as *bad* in both slots, and no
//!    longer used: over a mark that was read back, no head shows again.
//! 5. A raise begins two pages at most: the second, if the driver failed in the first. A page whose
//!    erase was dropped is erased again.
//!
//! The `DESIGN.md` of `randflake-embedded` says what that withstands, and why no rule is idle.

mod calls;

use core::error::Error;
use core::fmt::{self, Debug, Display, Formatter};
use core::future::Future;

use crate::HorizonRecord;

/// Longest time from a page's head to a record of it. A cell that reads falsely can raise the
/// horizon by no more, unless in a head.
const WINDOW_S: u32 = 1 << 20;

/// Whether a record, 0 if none, belongs to the page of a head.
fn is_within(record: u32, head: u32) -> bool {
    record
        .checked_sub(head)
        .is_some_and(|ahead| ahead < WINDOW_S)
}

/// A horizon in pages of flash, without the flash. A record takes `SLOT` bytes, a power of two, at
/// least 8.
///
/// The state of `FlashHorizon` in `randflake-embedded`, which has the documentation for users, and
/// of the C library.
#[derive(Clone, Debug)]
pub struct HorizonLog<const SLOT: usize = 8> {
    /// The highest horizon that was read, or that was answered since.
    horizon: u32,
    /// The highest that was read or tried.
    tried: u32,
    /// The page that is never erased: the highest at the boot, then that of the last answer.
    kept: u32,
    /// The page that is marked as bad, or `u32::MAX`. Of several, one: the others are tried again.
    bad: u32,
    /// Where the next record goes, if there is a `head`. Else the page that was erased last, at
    /// first the kept one: that behind it is begun.
    next: u32,
    /// Head of the kept page, if this boot has answered from it and nothing failed since. Else 0: a
    /// page must be begun.
    head: u32,
}

impl<const SLOT: usize> HorizonLog<SLOT> {
    /// Bytes of a slot.
    #[expect(clippy::cast_possible_truncation, reason = "at most a page")]
    const SLOT_BYTES: u32 = {
        assert!(
            SLOT >= 8 && SLOT.is_power_of_two(),
            "a slot is a power of two, at least 8 bytes"
        );
        SLOT as u32
    };

    /// The horizon in Unix seconds, or 0 when no record was readable.
    #[inline]
    #[must_use]
    pub const fn unix_s(&self) -> u32 {
        self.horizon
    }

    /// Address of the page that holds the horizon.
    #[inline]
    #[must_use]
    pub const fn kept_page(&self) -> u32 {
        self.kept
    }
}

/// The flash of a [`HorizonLog`](crate::HorizonLog), by addresses from 0.
pub trait LogFlash {
    /// Error of the driver.
    type Error;

    /// Bytes that are erased at once: a multiple of a slot, and at least four of them.
    fn page_bytes(&self) -> u32;

    /// Bytes of all pages.
    fn capacity(&self) -> u32;

    /// Reads a slot. One that fails to be read, at each boot or only now, counts as torn.
    ///
    /// # Errors
    ///
    /// The error of the driver.
    fn read(&mut self, at: u32, slot: &mut [u8]) -> Result<(), Self::Error>;

    /// Writes a slot of a page that was erased before.
    ///
    /// # Errors
    ///
    /// The error of the driver.
    fn write(&mut self, at: u32, slot: &[u8]) -> Result<(), Self::Error>;

    /// Erases the page that begins at an address.
    ///
    /// # Errors
    ///
    /// The error of the driver.
    fn erase(&mut self, page: u32) -> Result<(), Self::Error>;
}

/// Async [`LogFlash`]. A future that is dropped before it completes counts as failed.
pub trait AsyncLogFlash {
    /// Error of the driver.
    type Error;

    /// Bytes that are erased at once: a multiple of a slot, and at least four of them.
    fn page_bytes(&self) -> u32;

    /// Bytes of all pages.
    fn capacity(&self) -> u32;

    /// Reads a slot. One that fails to be read, at each boot or only now, counts as torn.
    fn read(&mut self, at: u32, slot: &mut [u8]) -> impl Future<Output = Result<(), Self::Error>>;

    /// Writes a slot of a page that was erased before.
    fn write(&mut self, at: u32, slot: &[u8]) -> impl Future<Output = Result<(), Self::Error>>;

    /// Erases the page that begins at an address.
    fn erase(&mut self, page: u32) -> impl Future<Output = Result<(), Self::Error>>;
}

/// Aligned so that words are loaded whole. Not on AVR, where the compiler relies on an alignment
/// that it does not ensure: <https://github.com/llvm/llvm-project/issues/169190>.
#[cfg_attr(not(target_arch = "avr"), repr(align(4)))]
#[derive(PartialEq)]
struct Slot<const LEN: usize>([u8; LEN]);

impl<const LEN: usize> Slot<LEN> {
    /// Puts the record first and leaves the rest blank (`0xff`): ones change no bit of an erased
    /// slot.
    fn of(record: HorizonRecord) -> Self {
        let mut slot = [0xff; LEN];
        if let Some(bytes) = slot.first_chunk_mut() {
            *bytes = record.to_bytes();
        }
        Self(slot)
    }

    /// The horizon that the slot shows, plus 1 if a bit of it is wrong; 0 if it shows none.
    fn shown(&self) -> u32 {
        shown(&self.0)
    }
}

/// The record that a slot shows.
fn record(slot: &[u8]) -> Option<HorizonRecord> {
    HorizonRecord::new(shown(slot) & HorizonRecord::MAX_UNIX_S)
}

/// As [`Slot::shown`]: if the rest of it is blank but for one bit, which may have changed. In
/// encrypted flash an erased slot may read as anything, even as a record.
fn shown(slot: &[u8]) -> u32 {
    let Some((record, rest)) = slot.split_first_chunk() else {
        return 0;
    };
    if changed_bits(rest) > 1 {
        return 0;
    }
    let bits = u64::from_le_bytes(*record);
    #[expect(clippy::cast_possible_truncation, reason = "the halves")]
    HorizonRecord::shown([bits as u32, (bits >> 32) as u32])
}

/// How many bits of blank bytes are 0. Without a sum that could overflow: its panic would be
/// linked.
fn changed_bits(blank: &[u8]) -> u32 {
    let zeros = blank.iter().map(|byte| byte.count_zeros());
    zeros.fold(0, u32::wrapping_add)
}

/// Error of `FlashHorizon`. A failed raise may be retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum FlashHorizonError<E> {
    /// The flash driver failed with this error.
    Flash(E),
    /// The driver reported success, but other bits are read back: the flash is worn or
    /// write-protected.
    NotWritten,
    /// The time is after [`HorizonRecord::MAX_UNIX_S`], the last that a record can hold. Nothing
    /// was written.
    OutOfRange,
    /// The flash has fewer than three pages, the minimum.
    TooSmall,
    /// The flash was written by a version of this library with this other format. Nothing was
    /// written.
    Version(u8),
}

// For `?` behind each call of the driver.
impl<E> From<E> for FlashHorizonError<E> {
    fn from(error: E) -> Self {
        Self::Flash(error)
    }
}

impl<E: Debug> Display for FlashHorizonError<E> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flash(error) => write!(f, "the flash failed: {error:?}"),
            Self::NotWritten => f.write_str("the flash shows other bits than were written"),
            Self::OutOfRange => write!(
                f,
                "past the last horizon that can be stored: at most {} is allowed",
                HorizonRecord::MAX_UNIX_S
            ),
            Self::TooSmall => f.write_str("the flash has fewer than three pages"),
            Self::Version(version) => write!(
                f,
                "the horizon in the flash has format {version}: only {} is known",
                HorizonRecord::VERSION
            ),
        }
    }
}

impl<E: Debug> Error for FlashHorizonError<E> {}

// The bytes of a log, for tools on a host: what a factory writes, and what a dump shows.

/// Sizes of a log in flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogGeometry {
    pages: u32,
    page_bytes: u32,
    slot_bytes: u32,
}

impl LogGeometry {
    /// Checks the sizes as firmware does: at least three pages, of at least four slots, which are
    /// powers of two of at least 8 bytes.
    #[must_use]
    pub const fn new(pages: u32, page_bytes: u32, slot_bytes: u32) -> Option<Self> {
        let is_slot = slot_bytes >= 8 && slot_bytes.is_power_of_two();
        if pages < 3
            || !is_slot
            || !page_bytes.is_multiple_of(slot_bytes)
            || page_bytes < slot_bytes.saturating_mul(4)
            || pages.checked_mul(page_bytes).is_none()
        {
            return None;
        }
        Some(Self {
            pages,
            page_bytes,
            slot_bytes,
        })
    }

    /// Bytes of all pages.
    #[must_use]
    pub const fn bytes(&self) -> u32 {
        self.pages.saturating_mul(self.page_bytes)
    }

    /// What a factory writes, by address; every other byte of all pages is `0xff`.
    #[must_use]
    pub const fn provisioned(&self, first: HorizonRecord) -> [(u32, [u8; 8]); 2] {
        [
            (0, first.to_bytes()),
            (self.slot_bytes, HorizonRecord::SEAL.to_bytes()),
        ]
    }

    /// What each page of a dump shows.
    pub fn pages<'a>(&self, dump: &'a [u8]) -> impl Iterator<Item = LogPage> + use<'a> {
        let slot_bytes = self.slot_bytes as usize;
        dump.chunks_exact(self.page_bytes as usize)
            .take(self.pages as usize)
            .map(move |page| LogPage::of(page, slot_bytes))
    }
}

/// What a page of a log shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogPage {
    /// The record in the first slot, higher than those of the pages before.
    pub head: Option<HorizonRecord>,
    /// Version of the format that the second slot names. Without it the head was tried, and perhaps
    /// never answered.
    pub version: Option<u8>,
    /// How many slots behind these show a record.
    pub records: u32,
    /// How many of all slots are neither blank nor a record: a power cut was there, or the flash is
    /// worn.
    pub damaged: u32,
    /// The highest record of the page.
    pub highest: Option<HorizonRecord>,
    /// Whether its erase has failed, so that it is marked as bad and shows nothing else.
    pub is_bad: bool,
}

impl LogPage {
    fn of(page: &[u8], slot_bytes: usize) -> Self {
        let mut shown = Self::default();
        for (number, slot) in page.chunks_exact(slot_bytes).enumerate() {
            let record = record(slot);
            // As the horizon decides: a head in front of a seal may be any number.
            let mark = Some(HorizonRecord::BAD_PAGE);
            let is_marked =
                record == mark || shown.head == mark && record != Some(HorizonRecord::SEAL);
            if number == 1 && is_marked {
                return Self {
                    is_bad: true,
                    ..Self::default()
                };
            }
            if record.is_none() && slot.iter().any(|byte| *byte != 0xff) {
                shown.damaged = shown.damaged.saturating_add(1);
            }
            match number {
                0 => shown.head = record,
                1 => {
                    shown.version = record
                        .map(HorizonRecord::version)
                        .filter(|version| *version != 0);
                }
                _ => shown.records = shown.records.saturating_add(record.is_some().into()),
            }
            if number != 1 {
                shown.highest = shown.highest.max(record);
            }
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slot_tolerates_one_changed_bit_behind_a_record() {
        let written = HorizonRecord::new(1_730_000_000);
        let blank = Slot::<16>::of(written.unwrap());
        assert_eq!(record(&blank.0), written);
        for first in 64..128 {
            let mut slot = blank.0;
            slot[first / 8] ^= 1 << (first % 8);
            assert_eq!(record(&slot), written, "{first}");
            for second in first + 1..128 {
                let mut slot = slot;
                slot[second / 8] ^= 1 << (second % 8);
                assert_eq!(record(&slot), None, "{first} {second}");
            }
        }
    }
}
