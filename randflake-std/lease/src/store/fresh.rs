//! Numbers that nobody else has.

use crate::clock::{MonotonicTime, wall_exact};

/// The origin of a record and the nonce of a write. A copy of this process, or of its machine, shares the state of all
/// random sources, the kernel's too; it does not share the time at which it goes on.
pub(super) fn fresh() -> Result<(u64, u64), getrandom::Error> {
    /// Spreads the clocks' low bits over the word: 2^64 divided by the golden ratio.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

    // A wall clock that cannot be read leaves the monotonic one.
    let wall_ns = wall_exact().unwrap_or_default().as_nanos();
    let wall_ns = u64::try_from(wall_ns).unwrap_or(u64::MAX);
    let time = wall_ns
        .wrapping_mul(SPREAD)
        .wrapping_add(MonotonicTime::exact().nanos())
        .wrapping_mul(SPREAD);
    Ok((
        getrandom::u64()? ^ time,
        getrandom::u64()? ^ time.rotate_left(32),
    ))
}
