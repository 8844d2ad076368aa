//! Endurance of a `NorHorizon`.

/// Endurance of a [`NorHorizon`](crate::NorHorizon) in seconds, if it is raised every `block_s` seconds.
///
/// `page_bytes` is the driver's `ERASE_SIZE`, `slot_bytes` 8 unless the flash writes more at once, and `cycles` the
/// number of erases that the manufacturer guarantees per page. A raise takes one slot, the first raise after a boot
/// one more.
///
/// | block | two pages of 2 KiB, 10,000 cycles | and 10 boots a day |
/// |---|---|---|
/// | 60 s | 9.7 years | 9.7 years |
/// | 600 s | 97 years | 85 years |
///
/// Each boot is assumed to raise the horizon. Returns 0 if a size, or `block_s`, is 0.
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
    // The first raise of a boot takes a slot for its mark and one for its record.
    let slots_per_day = raises_per_day.saturating_add((boots_per_day as u64).saturating_mul(2));
    // Both pages wear alike, as they are used in turn.
    let slots = (slots as u64)
        .saturating_mul(2)
        .saturating_mul(cycles as u64);
    match slots.saturating_mul(DAY_S).checked_div(slots_per_day) {
        Some(seconds) => seconds,
        // `block_s` is longer than a day, and there are no boots.
        None => slots.saturating_mul(block_s as u64),
    }
}
