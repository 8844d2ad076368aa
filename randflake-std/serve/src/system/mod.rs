//! The operating system and its service manager.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(super) use unix::{
    Signals, allow_many_files, is_journaled, ready, reloading, status, stopping, watchdog,
};
#[cfg(not(unix))]
mod other;
#[cfg(not(unix))]
pub(super) use other::{
    Signals, allow_many_files, is_journaled, ready, reloading, status, stopping, watchdog,
};

/// Request from outside: a signal of the operating system or the service manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServiceSignal {
    Reload,
    Stop,
}
