//! Signals on Unix systems.

use std::io;
use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Calls `raise` with the number of each signal, in a thread.
pub(super) fn watch(raise: impl Fn(u8) + Send + 'static) -> io::Result<()> {
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
