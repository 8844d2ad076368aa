//! Clocks by other crates: time since boot from `embassy-time`, and setting from a real-time clock.

#[cfg(feature = "rtcc")]
pub use rtc::{RtcError, set_clock_from_rtc, set_rtc};
#[cfg(feature = "embassy-time")]
pub use uptime::EmbassyUptime;

#[cfg(feature = "embassy-time")]
mod uptime {
    //! Time since boot from `embassy-time`.

    use core::time::Duration;

    use embassy_time::Instant;
    use randflake_core::Monotonic;

    /// Time since `embassy-time` started its driver, at any tick rate.
    ///
    /// The program chooses the driver, usually by a feature of its HAL crate. Its counter has 64
    /// bits and does not wrap in practice, so no function has to be called regularly.
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
}

#[cfg(feature = "rtcc")]
mod rtc {
    //! Setting the clock from a real-time clock with an `rtcc` driver.

    use core::error::Error;
    use core::fmt::{self, Debug, Display, Formatter};
    use core::time::Duration;

    use randflake_core::{AtomicWord, Monotonic, SetClockError, TimeBounds, UnixClock};
    use rtcc::{DateTime, DateTimeAccess};

    /// Sets the clock from a real-time clock (UTC) if `bounds` accept its time, and returns the
    /// time set.
    ///
    /// Many chips report whether they stopped, as after an empty battery. `rtcc` has no function
    /// for that: ask the driver first, and start from [`TimeBounds::start`] if so.
    ///
    /// ```
    /// # struct Chip;
    /// # impl rtcc::DateTimeAccess for Chip {
    /// #     type Error = core::convert::Infallible;
    /// #     fn datetime(&mut self) -> Result<rtcc::NaiveDateTime, Self::Error> {
    /// #         Ok(rtcc::DateTime::from_timestamp(1_733_706_297, 0).unwrap().naive_utc())
    /// #     }
    /// #     fn set_datetime(&mut self, _: &rtcc::NaiveDateTime) -> Result<(), Self::Error> { Ok(()) }
    /// # }
    /// # let mut chip = Chip;
    /// use core::sync::atomic::AtomicU32;
    /// use core::time::Duration;
    /// use randflake_core::{Clock, TimeBounds, UnixClock, Uptime};
    /// use randflake_embedded::set_clock_from_rtc;
    ///
    /// let counter = || 5_000; // milliseconds, in earnest read from a timer
    /// let clock = UnixClock::<_, AtomicU32>::new(Uptime::<1_000, _, AtomicU32>::new(counter));
    /// let bounds = TimeBounds::from_horizon(Duration::from_secs(1_733_700_000));
    /// set_clock_from_rtc(&mut chip, &clock, &bounds)?;
    /// assert_eq!(clock.now(), Some(Duration::from_secs(1_733_706_297)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// On an error the clock is unchanged.
    ///
    /// - [`Rtc`](RtcError::Rtc): the chip did not answer, or returned an invalid time;
    /// - [`Clock`](RtcError::Clock): as for [`UnixClock::set_within`].
    pub fn set_clock_from_rtc<R: DateTimeAccess, M: Monotonic, W: AtomicWord<Value = u32>>(
        rtc: &mut R,
        clock: &UnixClock<M, W>,
        bounds: &TimeBounds,
    ) -> Result<Duration, RtcError<R::Error>> {
        let time = rtc.datetime().map_err(RtcError::Rtc)?.and_utc();
        // A time before 1970 becomes 1970, which `bounds` reject as well.
        let unix = u64::try_from(time.timestamp()).map_or(Duration::ZERO, |s| {
            Duration::new(s, time.timestamp_subsec_nanos())
        });
        clock.set_within(unix, bounds).map_err(RtcError::Clock)
    }

    /// Sets a real-time clock to a trusted time, for instance from a server or a satellite, in
    /// whole seconds of UTC.
    ///
    /// # Errors
    ///
    /// - [`Rtc`](RtcError::Rtc): the chip did not answer (its time is unknown until this succeeds),
    ///   or cannot count such a year;
    /// - [`Clock`](RtcError::Clock): the time is past 2106-02-07 06:28:15 UTC, where the device's
    ///   clock ends.
    pub fn set_rtc<R: DateTimeAccess>(
        rtc: &mut R,
        unix: Duration,
    ) -> Result<(), RtcError<R::Error>> {
        // 32 bits, because a device's clock ends there: a later time could be set but never be read
        // back.
        let time = u32::try_from(unix.as_secs())
            .ok()
            .and_then(|seconds| DateTime::from_timestamp(seconds.into(), 0))
            .ok_or(RtcError::Clock(SetClockError::OutOfRange))?;
        // UTC, as `set_clock_from_rtc` reads it: the chip knows no time zone.
        rtc.set_datetime(&time.naive_utc()).map_err(RtcError::Rtc)
    }

    /// Error of setting a clock.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[cfg_attr(feature = "defmt", derive(defmt::Format))]
    #[non_exhaustive]
    pub enum RtcError<E> {
        /// The driver of the real-time clock failed with this error.
        Rtc(E),
        /// The clock of the device refused the time.
        Clock(SetClockError),
    }

    impl<E: Debug> Display for RtcError<E> {
        fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
            match self {
                Self::Rtc(error) => write!(f, "the real-time clock failed: {error:?}"),
                Self::Clock(error) => write!(f, "the clock was not set: {error}"),
            }
        }
    }

    impl<E: Debug> Error for RtcError<E> {}
}
