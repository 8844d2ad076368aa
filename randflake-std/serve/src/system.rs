//! The operating system and its service manager.

#[cfg(not(unix))]
pub(super) use other::{
    Signals, allow_many_files, is_journaled, ready, reloading, status, stopping, watchdog,
};
#[cfg(unix)]
pub(super) use unix::{
    Signals, allow_many_files, is_journaled, ready, reloading, status, stopping, watchdog,
};

/// Request from outside: a signal of the operating system or the service manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServiceSignal {
    Reload,
    Stop,
}

/// Signals, systemd's readiness and watchdog, and the limit of open files.
#[cfg(unix)]
mod unix {
    use core::time::Duration;
    use std::{env, io};

    use rustix::fs::fstat;
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    use sd_notify::NotifyState;
    use tokio::signal::unix::{Signal, SignalKind, signal};
    use tokio::time::{MissedTickBehavior, interval};

    use super::ServiceSignal;

    /// Tells the service manager; without one nothing happens.
    fn notify(states: &[NotifyState<'_>]) {
        // It may be gone, and then nobody wants to know.
        _ = sd_notify::notify(states);
    }

    pub(crate) fn ready(message: &str) {
        notify(&[NotifyState::Ready, NotifyState::Status(message)]);
    }

    pub(crate) fn reloading() {
        // systemd asks for the time with it (`Type=notify-reload`), to tell this answer from one to
        // an earlier reload.
        match NotifyState::monotonic_usec_now() {
            Ok(now) => notify(&[NotifyState::Reloading, now]),
            Err(_) => notify(&[NotifyState::Reloading]),
        }
    }

    pub(crate) fn stopping() {
        notify(&[NotifyState::Stopping]);
    }

    pub(crate) fn status(message: &str) {
        notify(&[NotifyState::Status(message)]);
    }

    /// Says in time that the runtime's timers and tasks still run, if somebody watches.
    pub(crate) async fn watchdog() {
        let Some(limit) = sd_notify::watchdog_enabled() else {
            return;
        };
        // Half of it, as sd_watchdog_enabled(3) advises: one beat may be late.
        let mut beats = interval((limit / 2).max(Duration::from_millis(1)));
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            beats.tick().await;
            notify(&[NotifyState::Watchdog]);
        }
    }

    /// A connection is an open file, and the usual limit of 1,024 is for programs that use
    /// `select`.
    pub(crate) fn allow_many_files() {
        let limit = getrlimit(Resource::Nofile);
        let most = Rlimit {
            current: limit.maximum,
            ..limit
        };
        // Otherwise connections wait to be accepted.
        _ = setrlimit(Resource::Nofile, most);
    }

    /// Whether standard error is the journal of systemd, which adds the time to each line.
    pub(crate) fn is_journaled() -> bool {
        // Device and inode of that socket, as systemd.exec(5) says. The variable alone is inherited
        // by programs whose standard error is another one.
        let (Ok(journal), Ok(found)) = (env::var("JOURNAL_STREAM"), fstat(io::stderr())) else {
            return false;
        };
        journal == format!("{}:{}", found.st_dev, found.st_ino)
    }

    /// SIGTERM, SIGINT and SIGHUP.
    pub(crate) struct Signals {
        terminate: Signal,
        interrupt: Signal,
        hang_up: Signal,
    }

    impl Signals {
        pub(crate) fn watch() -> io::Result<Self> {
            Ok(Self {
                terminate: signal(SignalKind::terminate())?,
                interrupt: signal(SignalKind::interrupt())?,
                hang_up: signal(SignalKind::hangup())?,
            })
        }

        pub(crate) async fn next(&mut self) -> ServiceSignal {
            tokio::select! {
                _ = self.terminate.recv() => ServiceSignal::Stop,
                _ = self.interrupt.recv() => ServiceSignal::Stop,
                _ = self.hang_up.recv() => ServiceSignal::Reload,
            }
        }
    }
}

/// Where there is neither a service manager of systemd's kind nor SIGHUP.
#[cfg(not(unix))]
mod other {
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
}
