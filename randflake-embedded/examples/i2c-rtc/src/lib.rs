//! A DS3231 on an I2C bus, which sets a device's clock.
//!
//! The clock itself counts the processor's ticks: a chip on a bus needs `&mut` and a few hundred microseconds, so no
//! interrupt could ask it. It is asked at boot and, against drift, now and then from main code.
#![no_std]

use core::fmt::{self, Debug, Display, Formatter};
use core::time::Duration;

use ds323x::ic::DS3231;
use ds323x::interface::I2cInterface;
use ds323x::{DateTimeAccess, Ds323x};
use embedded_hal::i2c::I2c;
use randflake_embedded::randflake_core::{
    AtomicWord, Monotonic, SetClockError, TimeBounds, UnixClock,
};
use rtcc::DateTime;

pub type Rtc<I> = Ds323x<I2cInterface<I>, DS3231>;

/// Sets the clock to the chip's time, as far as the bounds believe it, and says to what. The chip counts whole
/// seconds, so it may be a second behind.
///
/// # Errors
///
/// The clock is as it was. If it knows no time yet, begin at the bounds' start.
pub fn set_clock<I: I2c, M: Monotonic, W: AtomicWord<Value = u32>>(
    rtc: &mut Rtc<I>,
    clock: &UnixClock<M, W>,
    bounds: &TimeBounds,
) -> Result<Duration, RtcError<I::Error>> {
    if rtc.has_been_stopped().map_err(RtcError::Chip)? {
        return Err(RtcError::Stopped);
    }
    let told = rtc.datetime().map_err(RtcError::Chip)?;
    let told = u64::try_from(told.and_utc().timestamp()).unwrap_or(0);
    let told = Duration::from_secs(told);
    clock.set_within(told, bounds).map_err(RtcError::Clock)
}

/// Sets the chip from a time that is trusted, of a server or a satellite.
///
/// # Errors
///
/// The bus failed, so that the chip may show anything until this succeeds; or the time is outside what the chip
/// counts, the years 2000 to 2100.
pub fn set_rtc<I: I2c>(rtc: &mut Rtc<I>, unix: Duration) -> Result<(), RtcError<I::Error>> {
    let seconds = i64::try_from(unix.as_secs()).unwrap_or(i64::MAX);
    let time = DateTime::from_timestamp(seconds, 0)
        .ok_or(RtcError::Chip(ds323x::Error::InvalidInputData))?;
    rtc.set_datetime(&time.naive_utc())
        .map_err(RtcError::Chip)?;
    // Last: a chip that was stopped is not believed before it has a time.
    rtc.clear_has_been_stopped_flag().map_err(RtcError::Chip)
}

/// Why the clock was not set.
#[derive(Debug)]
pub enum RtcError<E> {
    /// The chip did not answer, or shows what is no time.
    Chip(ds323x::Error<E>),
    /// It has stood still since it was set: its battery is empty, or was changed.
    Stopped,
    /// The clock refused.
    Clock(SetClockError),
}

impl<E: Debug> Display for RtcError<E> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chip(error) => write!(f, "the real-time clock failed: {error:?}"),
            Self::Stopped => f.write_str("the real-time clock has stood still: it must be set"),
            Self::Clock(error) => write!(f, "the clock was not set: {error}"),
        }
    }
}

impl<E: Debug> core::error::Error for RtcError<E> {}
