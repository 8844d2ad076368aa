//! Where there is neither a service manager of systemd's kind nor SIGHUP.

use core::future::pending;
use std::io;

use super::ServiceSignal;

pub(in crate::serve) fn ready(_: &str) {}

pub(in crate::serve) fn reloading() {}

pub(in crate::serve) fn stopping() {}

pub(in crate::serve) fn status(_: &str) {}

pub(in crate::serve) async fn watchdog() {}

pub(in crate::serve) fn allow_many_files() {}

pub(in crate::serve) fn is_journaled() -> bool {
    false
}

/// Ctrl-C, the only signal here.
pub(in crate::serve) struct Signals;

impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "its twin may fail")]
    pub(in crate::serve) fn watch() -> io::Result<Self> {
        Ok(Self)
    }

    pub(in crate::serve) async fn next(&mut self) -> ServiceSignal {
        match tokio::signal::ctrl_c().await {
            Ok(()) => ServiceSignal::Stop,
            Err(_) => pending().await,
        }
    }
}
