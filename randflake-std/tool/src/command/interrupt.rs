//! Ctrl-C and SIGTERM: the work ends at a whole line, and what it holds is released.
//!
//! Without this a run that is ended would keep its node ids leased for up to a TTL.

use core::sync::atomic::{AtomicU8, Ordering};
use core::time::Duration;
use std::io;
use std::process;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::failure::{Failure, SIGNALLED};

/// Longest time from a signal to the end of the process: the work may be waiting for a reader, or
/// for a store.
const GRACE: Duration = Duration::from_secs(3);

type Release = Box<dyn FnOnce() + Send>;

/// Watches for signals from its creation on.
pub(crate) struct Interrupt(Arc<SignalState>);

#[derive(Default)]
struct SignalState {
    /// Number of the latest signal; 0 before there was one.
    signal: AtomicU8,
    release: Mutex<Option<Release>>,
    /// Wakes a pause. It goes with the lock of `release`.
    signalled: Condvar,
}

impl Interrupt {
    pub(crate) fn watch() -> Result<Self, Failure> {
        let state = Arc::new(SignalState::default());
        let seen = Arc::clone(&state);
        watch(move |signal| seen.raise(signal))
            .map_err(|error| Failure::failed(format!("signals cannot be watched: {error}")))?;
        Ok(Self(state))
    }

    /// Sets what releases the leases at a signal.
    ///
    /// It runs at once, in another thread: the work itself may be waiting for a reader that does
    /// not read.
    pub(crate) fn on_signal(&self, release: impl FnOnce() + Send + 'static) {
        // Stored before the signal is looked at, and a signal is set before it takes what is
        // stored: one of the two sees the other.
        *self.0.release() = Some(Box::new(release));
        // A signal that came before found nothing to release.
        if self.0.signal.load(Ordering::SeqCst) != 0 {
            self.0.end();
        }
    }

    /// Sleeps, and fails at once when there is a signal. The caller holds nothing meanwhile.
    pub(crate) fn pause(&self, time: Duration) -> Result<(), Failure> {
        let state = &*self.0;
        let woken =
            state
                .signalled
                .wait_timeout_while(state.release(), time, |_: &mut Option<Release>| {
                    state.signal.load(Ordering::SeqCst) == 0
                });
        drop(woken.unwrap_or_else(PoisonError::into_inner));
        self.check()
    }

    /// Fails once there was a signal.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match self.0.signal.load(Ordering::Relaxed) {
            0 => Ok(()),
            signal => Err(Failure::Interrupted(signal)),
        }
    }
}

impl SignalState {
    fn raise(self: &Arc<Self>, signal: u8) {
        let exit = move || process::exit(i32::from(SIGNALLED + signal));
        if self.signal.swap(signal, Ordering::SeqCst) != 0 {
            // A user who asks twice does not want to wait.
            exit();
        }
        // A thread of its own, so that a second signal is heard meanwhile.
        let state = Arc::clone(self);
        let ending = thread::Builder::new().spawn(move || {
            state.end();
            thread::sleep(GRACE);
            exit();
        });
        if ending.is_err() {
            // The leases are not released then, and expire.
            exit();
        }
    }

    fn end(&self) {
        let release = self.release().take();
        // No pause misses this: the lock was taken after the signal was set, and a pause looks at
        // the signal under it.
        self.signalled.notify_all();
        if let Some(release) = release {
            release();
        }
    }

    fn release(&self) -> MutexGuard<'_, Option<Release>> {
        self.release.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls `raise` with the number of each signal, in a thread.
#[cfg(unix)]
fn watch(raise: impl Fn(u8) + Send + 'static) -> io::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    // Through a pipe to a thread, since almost nothing may be called in a signal handler itself.
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for signal in signals.forever() {
                raise(u8::try_from(signal).unwrap_or_default());
            }
        })?;
    Ok(())
}

/// Without Unix signals an ended run does not release its leases, which expire.
#[cfg(not(unix))]
fn watch(_: impl Fn(u8) + Send + 'static) -> io::Result<()> {
    Ok(())
}
