//! Endurance of a `FlashHorizon`.

/// Endurance of a [`FlashHorizon`](crate::FlashHorizon) in seconds, if it is raised every `block_s` seconds.
///
/// `page_bytes` is the driver's `ERASE_SIZE`, `slot_bytes` 8 unless a word of the flash is larger, and `cycles` the
/// number of erases that the manufacturer guarantees per page. Each boot begins a page, and so does a raise that
/// finds it full.
///
/// | block | boots a day | 3 pages of 2 KiB, 10,000 cycles | 16 pages |
/// |---|---|---|---|
/// | 60 s | 0 | 14.5 years | 77 years |
/// | 60 s | 10 | 5.2 years | 28 years |
/// | 600 s | 10 | 7.8 years | 41 years |
///
/// Returns 0 if a number of pages, a size or `block_s` is 0, or if a page has a single slot.
///
/// ```
/// use randflake_embedded::lifetime_s;
///
/// const TENTH_OF_A_YEAR: u64 = 3_155_760;
/// let tenths = |pages, block_s, boots| {
///     lifetime_s(pages, 2_048, 8, 10_000, block_s, boots) / TENTH_OF_A_YEAR
/// };
/// assert_eq!((tenths(3, 60, 0), tenths(16, 60, 0)), (145, 775));
/// assert_eq!((tenths(3, 60, 10), tenths(16, 60, 10)), (52, 279));
/// assert_eq!((tenths(3, 600, 10), tenths(16, 600, 10)), (77, 414));
/// ```
#[must_use]
pub const fn lifetime_s(
    pages: u32,
    page_bytes: u32,
    slot_bytes: u32,
    cycles: u32,
    block_s: u32,
    boots_per_day: u32,
) -> u64 {
    const DAY_S: u64 = 86_400;
    let Some(slots) = page_bytes.checked_div(slot_bytes) else {
        return 0;
    };
    // The seal takes a slot.
    let raises_per_page = (slots as u64).saturating_sub(1);
    let erases = (pages as u64).saturating_mul(cycles as u64);
    // How long a page lasts until it is full or a boot leaves it: filled_s * DAY_S / per_day, kept as a fraction of
    // integers.
    let filled_s = raises_per_page.saturating_mul(block_s as u64);
    let per_day = DAY_S.saturating_add((boots_per_day as u64).saturating_mul(filled_s));
    match erases
        .saturating_mul(filled_s)
        .saturating_mul(DAY_S)
        .checked_div(per_day)
    {
        Some(seconds) => seconds,
        None => 0,
    }
}
