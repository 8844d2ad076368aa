//! What tells a process from another one of the same number, as in each container or after a restart of the machine.

use core::fmt::{self, Display, Formatter};

/// Identity of a process, beside its number, as names of holders have it: `scope.start` in hex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessIdentity {
    /// Where and since when numbers of processes count: boot id, PID namespace and time namespace.
    ///
    /// The number of a PID namespace is given again when its processes have ended, so of an equal scope either this is
    /// that namespace, or all processes of it have ended.
    scope: u32,
    /// When the process began, in clock ticks of the system.
    start: u64,
}

impl ProcessIdentity {
    /// Identity of a process of this PID namespace; `None` where the system does not tell.
    pub(crate) fn of(process: u32) -> Option<Self> {
        Some(Self {
            scope: system::scope()?,
            start: system::start(process)?,
        })
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (scope, start) = text.split_once('.')?;
        Some(Self {
            scope: u32::from_str_radix(scope, 16).ok()?,
            start: u64::from_str_radix(start, 16).ok()?,
        })
    }

    /// Whether the process of this number and identity runs; `None` if it is of another machine, start of the machine or
    /// container, about whose processes nothing is known here.
    pub(crate) fn is_running(self, process: u32) -> Option<bool> {
        if system::scope()? != self.scope {
            return None;
        }
        match system::start(process) {
            Some(start) => Some(start == self.start),
            None if super::holder::is_there(process) == Some(false) => Some(false),
            None => None,
        }
    }
}

impl Display for ProcessIdentity {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}.{:x}", self.scope, self.start)
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    pub(super) fn scope() -> Option<u32> {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let boot = u32::from_str_radix(boot.get(..8)?, 16).ok()?;
        let pids = namespace("pid")?;
        // Starts of processes are shifted in one. Kernels before 5.6 have none.
        let times = namespace("time").unwrap_or(0);
        Some(boot ^ pids ^ times.rotate_left(16))
    }

    /// The number of a namespace, which has 32 bits.
    fn namespace(kind: &str) -> Option<u32> {
        let file = fs::metadata(format!("/proc/self/ns/{kind}")).ok()?;
        u32::try_from(file.ino()).ok()
    }

    pub(super) fn start(process: u32) -> Option<u64> {
        let own = Stat::read("self")?;
        if process == std::process::id() {
            return Some(own.start);
        }
        // A `/proc` of another PID namespace has other processes under these numbers.
        if own.process != std::process::id() {
            return None;
        }
        Some(Stat::read(&process.to_string())?.start)
    }

    struct Stat {
        process: u32,
        start: u64,
    }

    impl Stat {
        fn read(name: &str) -> Option<Self> {
            let text = fs::read_to_string(format!("/proc/{name}/stat")).ok()?;
            // The name of the program, in brackets, may have spaces and brackets itself. The start is field 22.
            let (process, _) = text.split_once(' ')?;
            let (_, fields) = text.rsplit_once(") ")?;
            Some(Self {
                process: process.parse().ok()?,
                start: fields.split(' ').nth(22 - 3)?.parse().ok()?,
            })
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub(super) fn scope() -> Option<u32> {
        None
    }

    pub(super) fn start(_: u32) -> Option<u64> {
        None
    }
}
