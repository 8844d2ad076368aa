//! Time since boot from `embassy-time`.

use core::time::Duration;

use embassy_time::Instant;
use randflake_core::Monotonic;

/// Time since `embassy-time` started its driver, at any tick rate.
///
/// The program chooses the driver, usually by a feature of its HAL crate. Its counter has 64 bits
/// and does not wrap in practice, so no function has to be called regularly.
///
/// ```
/// use core::sync::atomic::AtomicU32;
/// use core::time::Duration;
/// use randflake_core::{Clock, UnixClock};
/// use randflake_embedded::EmbassyUptime;
///
/// let clock = UnixClock::<_, AtomicU32>::new(EmbassyUptime);
/// assert_eq!(clock.now(), None, "no synchronisation yet");
/// clock.set(Duration::from_secs(1_733_706_297))?;
/// assert!(clock.now() >= Some(Duration::from_secs(1_733_706_297)));
/// # Ok::<(), randflake_core::SetClockError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct EmbassyUptime;

impl Monotonic for EmbassyUptime {
    #[inline]
    fn uptime(&self) -> Duration {
        // Converted by `embassy-time`, as the program chooses its tick rate.
        Duration::from_micros(Instant::now().as_micros())
    }
}
