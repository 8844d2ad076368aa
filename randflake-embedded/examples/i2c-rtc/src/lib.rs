//! A DS3231 on an I2C bus, which sets a device's clock.
//!
//! The clock itself counts the processor's ticks: a chip on a bus needs `&mut` and a few hundred
//! microseconds, so no interrupt could ask it. It is asked at boot and, against drift, now and then
//! from main code.
#![no_std]

use core::fmt::{self, Debug, Display, Formatter};
use core::time::Duration;

use ds323x::Ds323x;
use ds323x::ic::DS3231;
use ds323x::interface::I2cInterface;
use embedded_hal::i2c::I2c;
use randflake_embedded::randflake_core::{AtomicWord, Monotonic, TimeBounds, UnixClock};
use randflake_embedded::{RtcError, set_clock_from_rtc};

pub type Rtc<I> = Ds323x<I2cInterface<I>, DS3231>;

/// Sets the clock to the chip's time, as far as the bounds believe it, and says to what. The chip
/// counts whole seconds, so it may be a second behind.
///
/// # Errors
///
/// The clock is as it was. If it knows no time yet, begin at the bounds' start.
pub fn set_clock<I: I2c, M: Monotonic, W: AtomicWord<Value = u32>>(
    rtc: &mut Rtc<I>,
    clock: &UnixClock<M, W>,
    bounds: &TimeBounds,
) -> Result<Duration, ChipError<I::Error>> {
    if rtc.has_been_stopped().map_err(RtcError::Rtc)? {
        return Err(ChipError::Stopped);
    }
    Ok(set_clock_from_rtc(rtc, clock, bounds)?)
}

/// Sets the chip from a time that is trusted, of a server or a satellite.
///
/// # Errors
///
/// The bus failed, so that the chip may show anything until this succeeds; or the time is outside
/// what the chip counts, the years 2000 to 2100.
pub fn set_rtc<I: I2c>(rtc: &mut Rtc<I>, unix: Duration) -> Result<(), ChipError<I::Error>> {
    randflake_embedded::set_rtc(rtc, unix)?;
    // Last: a chip that was stopped is not believed before it has a time.
    Ok(rtc.clear_has_been_stopped_flag().map_err(RtcError::Rtc)?)
}

/// Why the clock was not set.
#[derive(Debug)]
pub enum ChipError<E> {
    /// It has stood still since it was set: its battery is empty, or was changed.
    Stopped,
    /// As for any real-time clock.
    Rtc(RtcError<ds323x::Error<E>>),
}

impl<E> From<RtcError<ds323x::Error<E>>> for ChipError<E> {
    fn from(error: RtcError<ds323x::Error<E>>) -> Self {
        Self::Rtc(error)
    }
}

impl<E: Debug> Display for ChipError<E> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped => f.write_str("the real-time clock has stood still: it must be set"),
            Self::Rtc(error) => Display::fmt(error, f),
        }
    }
}

impl<E: Debug> core::error::Error for ChipError<E> {}
