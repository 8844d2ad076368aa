//! Generating with a bounded wait for the next tick.

use embedded_hal::delay::DelayNs;
use embedded_hal_async::delay::DelayNs as AsyncDelayNs;
use randflake_core::{GenerateError, Id};

/// Generates an id, waiting at most `limit_ms` milliseconds when the tick is exhausted or the clock
/// is behind.
///
/// ```
/// # struct Delay<'a>(&'a randflake_core::ManualClock);
/// # impl embedded_hal::delay::DelayNs for Delay<'_> {
/// #     fn delay_ns(&mut self, ns: u32) { self.0.advance_ms(ns.div_ceil(1_000_000).into()); }
/// # }
/// use core::sync::atomic::AtomicU32;
/// use randflake_core::{Generator, Lease, ManualClock, Randflake, Sparx64};
/// use randflake_embedded::wait;
///
/// let clock = ManualClock::at_unix_ms(1_733_706_296_500); // half a second before the lease
/// let lease = Lease::new(Randflake, 42, 3_706_297, 3_706_357)?;
/// let key = Sparx64::new(&[7; 16]);
/// let generator = Generator::<Randflake, AtomicU32, _>::new(lease, &clock, key)?;
/// # let mut delay = Delay(&clock);
/// let id = wait(&mut delay, 2_000, || generator.generate())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// The error of `generate`, at once if waiting cannot help or would exceed the limit.
pub fn wait(
    delay: &mut impl DelayNs,
    limit_ms: u32,
    mut generate: impl FnMut() -> Result<Id, GenerateError>,
) -> Result<Id, GenerateError> {
    let mut left_ms = limit_ms;
    loop {
        let error = match generate() {
            Ok(id) => return Ok(id),
            Err(error) => error,
        };
        delay.delay_ms(take(&mut left_ms, error)?);
    }
}

/// [`wait`] for async tasks, through the `DelayNs` of `embedded-hal-async`.
///
/// # Errors
///
/// As for `wait`.
pub async fn wait_async(
    delay: &mut impl AsyncDelayNs,
    limit_ms: u32,
    mut generate: impl FnMut() -> Result<Id, GenerateError>,
) -> Result<Id, GenerateError> {
    let mut left_ms = limit_ms;
    loop {
        let error = match generate() {
            Ok(id) => return Ok(id),
            Err(error) => error,
        };
        delay.delay_ms(take(&mut left_ms, error)?).await;
    }
}

/// Subtracts the next wait from the time left and returns it, or the error if the time left is too
/// short.
fn take(left_ms: &mut u32, error: GenerateError) -> Result<u32, GenerateError> {
    // At least a millisecond, so that the limit is reached even if the clock stands still.
    let wait_ms = error.retry_in_ms().ok_or(error)?.max(1);
    // A wait that a delay cannot express is longer than any limit.
    let wait_ms = u32::try_from(wait_ms).map_err(|_| error)?;
    *left_ms = left_ms.checked_sub(wait_ms).ok_or(error)?;
    Ok(wait_ms)
}
