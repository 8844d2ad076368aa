//! Time since boot from `embassy-time`.

use core::time::Duration;

use embassy_time::Instant;
use randflake_core::Monotonic;

/// What `embassy-time` has counted since its driver was started, whatever its tick rate.
///
/// The program chooses the driver, usually through a feature of its HAL crate. The driver counts 64 bits,
/// so nothing has to be called in time.
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
        Duration::from_micros(Instant::now().as_micros())
    }
}
