//! Unix time as time since boot plus an offset.

use core::time::Duration;

use super::{Clock, Monotonic};
use crate::{AtomicWord, ConstWord, SetClockError, TimeBounds};

/// Unix time as a [`Monotonic`] time plus an offset that synchronisation sets; unknown until then.
///
/// For devices whose time comes from outside: a server, a satellite receiver, a real-time clock.
/// Reads never wait for a setting in progress, so interrupts may do both. It needs only 32-bit
/// words and shows times up to 2106-02-07 06:28:15 UTC.
///
/// ```
/// use core::sync::atomic::AtomicU32;
/// use core::time::Duration;
/// use randflake_core::{Clock, Uptime, UnixClock};
///
/// let counter = || 5_000; // milliseconds, in earnest read from a timer
/// let clock = UnixClock::<_, AtomicU32>::new(Uptime::<1_000, _, AtomicU32>::new(counter));
/// assert_eq!(clock.now(), None);
/// clock.set(Duration::from_secs(1_733_706_297))?;
/// assert_eq!(clock.now(), Some(Duration::from_secs(1_733_706_297)));
/// # Ok::<(), randflake_core::SetClockError>(())
/// ```
#[derive(Debug)]
pub struct UnixClock<M, W> {
    monotonic: M,
    /// Twice the number of settings, plus 1 while one is in progress. Setting `n` writes
    /// `offsets[n % 2]`, so the offset in force is never half written.
    version: W,
    offsets: [Offset<W>; 2],
    /// Offset of the last trusted setting, from which bounded steps are counted.
    trusted: Offset<W>,
}

/// Offset added to the monotonic time.
#[derive(Debug)]
struct Offset<W> {
    seconds: W,
    nanos: W,
}

impl<M, W: ConstWord<Value = u32>> UnixClock<M, W> {
    /// Creates a clock that does not know the time; it can be a `static`: see [`ConstWord`].
    pub const fn new(monotonic: M) -> Self {
        Self {
            monotonic,
            version: W::ZERO,
            offsets: [Offset::ZERO, Offset::ZERO],
            trusted: Offset::ZERO,
        }
    }
}

impl<M: Monotonic, W: AtomicWord<Value = u32>> UnixClock<M, W> {
    /// Sets the time unconditionally: for an authenticated time. Otherwise use
    /// [`set_within`](Self::set_within).
    ///
    /// # Errors
    ///
    /// On an error the clock is unchanged.
    ///
    /// - [`OutOfRange`](SetClockError::OutOfRange): the time is past 2106-02-07 06:28:15 UTC, or so
    ///   soon after 1970 that the device would have started before;
    /// - [`Busy`](SetClockError::Busy): another setting is in progress, which this call
    ///   interrupted.
    pub fn set(&self, unix: Duration) -> Result<(), SetClockError> {
        let offset = self.offset_to(unix)?;
        // The version is read last, so a setting that came in between is overridden. `set_within`
        // reads it first: it has judged by what was set then, so it must fail instead.
        self.change(self.version.load(), offset, Some(offset))
    }

    /// Sets the time within `bounds` and returns the time set: see [`TimeBounds::believe`].
    ///
    /// Steps are counted from the time by the last [`set`](Self::set), so any number of wrong times
    /// moves the clock no further ahead than one does. Before the first `set` they are counted from
    /// the start of the bounds at the first call.
    ///
    /// # Errors
    ///
    /// As for [`set`](Self::set).
    pub fn set_within(
        &self,
        received: Duration,
        bounds: &TimeBounds,
    ) -> Result<Duration, SetClockError> {
        // Read first: if the clock is set between here and the claim, the claim fails.
        let version = self.version.load();
        // Version 0, or 1 during the first setting: there is no offset yet.
        let is_set = version & !1 != 0;
        let trusted = if is_set {
            Some(self.later(self.trusted.load()))
        } else {
            bounds.step_base()
        };
        let believed = bounds.believe(received, trusted);
        let offset = self.offset_to(believed)?;
        // The first setting leaves a time to count steps from. Later wrong times are counted from
        // it as well, and so move the clock no further together than one of them does.
        let first = (!is_set).then(|| {
            let counted_from = trusted.and_then(|time| self.offset_to(time).ok());
            counted_from.unwrap_or(offset)
        });
        self.change(version, offset, first)?;
        Ok(believed)
    }

    /// Monotonic clock that the offset is added to.
    pub fn monotonic(&self) -> &M {
        &self.monotonic
    }

    #[inline]
    fn offset(&self, version: u32) -> &Offset<W> {
        let [even, odd] = &self.offsets;
        if version & 2 == 0 { even } else { odd }
    }

    /// Offset with which the clock shows `unix` now.
    fn offset_to(&self, unix: Duration) -> Result<(u32, u32), SetClockError> {
        between(self.monotonic.uptime(), unix).ok_or(SetClockError::OutOfRange)
    }

    /// The current time with a given offset.
    #[inline]
    fn later(&self, offset: Duration) -> Duration {
        self.monotonic.uptime().saturating_add(offset)
    }

    /// Stores the offset, and the trusted one if given, unless the clock was set since `version`
    /// was read.
    fn change(
        &self,
        version: u32,
        offset: (u32, u32),
        trusted: Option<(u32, u32)>,
    ) -> Result<(), SetClockError> {
        // An odd version means that a setting is in progress. A second setting, by an interrupt, is
        // refused: it could not wait for what it interrupted.
        let claimed = version | 1;
        if version == claimed || !self.version.compare_exchange(version, claimed) {
            return Err(SetClockError::Busy);
        }
        // The unused place is written first and the version after it: a reader in between finds the
        // former offset whole.
        let after = version.wrapping_add(2);
        self.offset(after).store(offset);
        if let Some(trusted) = trusted {
            // One copy will do: a caller that reads it half written finds another version when it
            // claims, and fails as `Busy`.
            self.trusted.store(trusted);
        }
        // Cannot fail: only the owner of the claim changes an odd version.
        self.version.compare_exchange(claimed, after);
        Ok(())
    }
}

impl<W: ConstWord<Value = u32>> Offset<W> {
    const ZERO: Self = Self {
        seconds: W::ZERO,
        nanos: W::ZERO,
    };
}

impl<W: AtomicWord<Value = u32>> Offset<W> {
    /// Stores an offset that nobody else writes: the exchanges cannot fail.
    // By exchange, as a word has no plain store.
    fn store(&self, (seconds, nanos): (u32, u32)) {
        for (word, value) in [(&self.seconds, seconds), (&self.nanos, nanos)] {
            word.compare_exchange(word.load(), value);
        }
    }

    #[inline]
    fn load(&self) -> Duration {
        let seconds = self.seconds.load();
        // Already below a second; the bound tells the compiler so, which removes a division and a
        // panic.
        let nanos = self.nanos.load().min(999_999_999);
        Duration::new(seconds.into(), nanos)
    }
}

/// Difference of two times in seconds and nanoseconds. The subtraction of `Duration` leaves a panic
/// in the code.
fn between(earlier: Duration, later: Duration) -> Option<(u32, u32)> {
    const NANOS_PER_SECOND: u32 = 1_000_000_000;
    let seconds = later.as_secs().checked_sub(earlier.as_secs())?;
    // Two words of 32 bits: a 64-bit atomic is a lock on a small processor.
    let (later, earlier) = (later.subsec_nanos(), earlier.subsec_nanos());
    let (seconds, nanos) = match later.checked_sub(earlier) {
        Some(nanos) => (seconds, nanos),
        None => (
            seconds.checked_sub(1)?,
            later.wrapping_add(NANOS_PER_SECOND).wrapping_sub(earlier),
        ),
    };
    Some((u32::try_from(seconds).ok()?, nanos))
}

impl<M: Monotonic, W: AtomicWord<Value = u32>> Clock for UnixClock<M, W> {
    #[inline]
    fn now(&self) -> Option<Duration> {
        loop {
            let version = self.version.load() & !1;
            // Nothing was ever set; 1, during the first setting, is 0 here too.
            if version == 0 {
                return None;
            }
            let offset = self.offset(version).load();
            // If unchanged, the offset was not overwritten while it was read: only the setting
            // after next writes to the same slot.
            if self.version.load() & !1 == version {
                return Some(self.later(offset));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;
    use core::sync::atomic::AtomicU32;

    use super::*;
    use crate::LocalWord;

    struct Manual(Cell<Duration>);

    impl Monotonic for &Manual {
        fn uptime(&self) -> Duration {
            self.0.get()
        }
    }

    const T: Duration = Duration::from_millis(1_733_706_297_250);

    #[test]
    fn it_runs_on_from_each_setting() {
        let uptime = Manual(Cell::new(Duration::from_millis(1_750)));
        let clock = UnixClock::<_, LocalWord<u32>>::new(&uptime);
        assert_eq!(clock.now(), None);
        for told in [T, T + Duration::from_secs(9), Duration::from_secs(9)] {
            assert_eq!(clock.set(told), Ok(()));
            assert_eq!(clock.now(), Some(told));
            uptime.0.set(uptime.0.get() + Duration::from_millis(800));
            assert_eq!(clock.now(), Some(told + Duration::from_millis(800)));
        }
    }

    #[test]
    fn what_it_cannot_show_changes_nothing() {
        let uptime = Manual(Cell::new(Duration::from_secs(10)));
        let clock = UnixClock::<_, LocalWord<u32>>::new(&uptime);
        let last = Duration::from_secs(u32::MAX.into());
        for unix in [
            Duration::from_secs(9),
            Duration::MAX,
            last + Duration::from_secs(11),
        ] {
            assert_eq!(clock.set(unix), Err(SetClockError::OutOfRange));
            assert_eq!(clock.now(), None);
        }
        assert_eq!(clock.set(last), Ok(()));
        assert_eq!(clock.now(), Some(last));
    }

    #[test]
    fn interrupted_setting_shows_the_former_time() {
        let uptime = Manual(Cell::new(Duration::ZERO));
        let clock = UnixClock::<_, AtomicU32>::new(&uptime);
        clock.set(T).unwrap();
        // As the setting leaves it when it is interrupted after its claim and its first store.
        assert!(AtomicWord::compare_exchange(&clock.version, 2, 3));
        clock.offsets[0]
            .seconds
            .store(7, core::sync::atomic::Ordering::SeqCst);
        assert_eq!(clock.now(), Some(T));
        assert_eq!(clock.set(T), Err(SetClockError::Busy));
        assert_eq!(clock.now(), Some(T));
    }

    /// Readers beside a writer see times that were set, never a mixture of two.
    #[test]
    fn no_reader_sees_half_a_setting() {
        extern crate std;

        struct Zero;
        impl Monotonic for Zero {
            fn uptime(&self) -> Duration {
                Duration::ZERO
            }
        }
        let times = if cfg!(miri) { 50 } else { 200_000 };
        let clock = UnixClock::<_, AtomicU32>::new(Zero);
        // Seconds and nanoseconds of a time that was set are equal.
        let set = |n: u32| clock.set(Duration::new(n.into(), n)).unwrap();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| (1..=times).for_each(set));
            while !writer.is_finished() {
                let now = clock.now().unwrap_or_default();
                assert_eq!(now.as_secs(), u64::from(now.subsec_nanos()));
            }
        });
        assert_eq!(clock.now(), Some(Duration::new(times.into(), times)));
    }
}
