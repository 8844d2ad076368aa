//! The log of horizons in flash: which page is kept, where the next record goes, which pages are erased.
//!
//! ```text
//! page | head | seal | record | record | ...     records rise
//! ```
//!
//! What a cut leaves of a write or an erase is *torn*: it shows its former content, its new one or nothing, and may
//! show another of these at each read. A torn slot that shows nothing looks like one that was never written, and must
//! not be written. So nothing is ever written into a page that this boot has not erased:
//!
//! 1. The first raise of a boot begins a page: it erases the page behind the kept one, writes its record as the *head*
//!    and then the *seal*, each read back, and only then answers. A head is higher than all that was seen or tried. Later
//!    records are appended; a page that failed is left, and the next one begun.
//! 2. A seal says that the head before it is firm. Of the sealed pages, that with the highest head is *kept*.
//! 3. The horizon is the highest of all heads and of the records of the kept page: a head without a seal was tried,
//!    perhaps in the page that replaced the last answered one. Records of other pages are below the kept head.
//! 4. Before it answers, a raise that began a page erases each other page that shows no head. It is blank, or hides one
//!    that is higher than all that were seen; if that showed later, it would pass for the newest.
//!    If that erase fails, the page is marked as *bad* in both slots, and no longer used: over a mark that was read back,
//!    no head shows again.
//! 5. A raise begins two pages at most: the second, if the driver failed in the first. A page whose erase was dropped is
//!    erased again.
//!
//! The `DESIGN.md` of `randflake-embedded` says what that withstands, and why no rule is idle.

mod calls;
mod dump;
mod error;
mod flash;
mod slot;

pub use dump::{LogGeometry, LogPage};
pub use error::FlashHorizonError;
pub use flash::{AsyncLogFlash, LogFlash};

/// Longest time from a page's head to a record of it. A cell that reads falsely can raise the horizon by no more, unless
/// in a head.
const WINDOW_S: u32 = 1 << 20;

/// Whether a record, 0 if none, belongs to the page of a head.
fn is_within(record: u32, head: u32) -> bool {
    record
        .checked_sub(head)
        .is_some_and(|ahead| ahead < WINDOW_S)
}

/// A horizon in pages of flash, without the flash. A record takes `SLOT` bytes, a power of two, at least 8.
///
/// The state of `FlashHorizon` in `randflake-embedded`, which has the documentation for users, and of the C library.
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
    /// Where the next record goes, if there is a `head`. Else the page that was erased last, at first the kept one: that
    /// behind it is begun.
    next: u32,
    /// Head of the kept page, if this boot has answered from it and nothing failed since. Else 0: a page must be begun.
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
