//! How long the flash lasts.

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
