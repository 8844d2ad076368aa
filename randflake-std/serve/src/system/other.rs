//! Where there is neither a service manager of systemd's kind nor SIGHUP.

use core::future::pending;
use std::io;

use super::ServiceSignal;

pub(crate) fn ready(_: &str) {}

pub(crate) fn reloading() {}

pub(crate) fn stopping() {}

pub(crate) fn status(_: &str) {}

pub(crate) async fn watchdog() {}

pub(crate) fn allow_many_files() {}

pub(crate) fn is_journaled() -> bool {
    false
}

/// Ctrl-C, the only signal here.
pub(crate) struct Signals;

impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "its twin may fail")]
    pub(crate) fn watch() -> io::Result<Self> {
        Ok(Self)
    }

    pub(crate) async fn next(&mut self) -> ServiceSignal {
        match tokio::signal::ctrl_c().await {
            Ok(()) => ServiceSignal::Stop,
            Err(_) => pending().await,
        }
    }
}
