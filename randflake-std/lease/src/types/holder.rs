//! Holders of leases, and what tells processes of the same number apart.

use core::fmt::{self, Display, Formatter};
use std::io;

use super::Record;

/// Longest stored name: that of an application, the random number of [`unique`], and some room.
pub(crate) const MAX_LEN: usize = 128;
/// Longest name that an application may choose.
pub const MAX_NAME_LEN: usize = 96;
/// Prefix of the names of devices; the number of the device follows in hex.
pub(crate) const DEVICE: &str = "device/";

/// Default name of a holder: `host/process id/identity`, the last where the system tells it.
#[must_use]
pub fn process_name() -> String {
    name_of(std::process::id())
}

fn name_of(process: u32) -> String {
    // A name is shown in terminals and logs: no machine's name may contain control sequences.
    let host = host_name().replace(char::is_control, "?");
    match ProcessIdentity::of(process) {
        Some(identity) => format!("{host}/{process}/{identity}"),
        None => format!("{host}/{process}"),
    }
}

/// Name of a holder on behalf of a process of this machine, as `lease list` shows it: its leases
/// are not released by hand while it runs.
///
/// # Errors
///
/// When the operating system has no random number.
pub fn holder_of_process(process: u32) -> io::Result<String> {
    unique(&name_of(process))
}

/// Whether a name may be stored: names are shown to people.
pub(crate) fn is_allowed(holder: &str) -> bool {
    holder.len() <= MAX_LEN && !holder.contains(char::is_control)
}

/// Whether an application may choose a name: not one that a device may have.
#[must_use]
pub fn is_name_allowed(name: &str) -> bool {
    // Also the bare word: with the random number behind it, it would begin as a device's name.
    let is_device = name == DEVICE.trim_end_matches('/') || name.starts_with(DEVICE);
    (1..=MAX_NAME_LEN).contains(&name.len()) && is_allowed(name) && !is_device
}

/// Appends a random number to a name: a copy of the process, or one with the same number in another
/// container, has another.
///
/// # Errors
///
/// When the operating system has no random number.
pub fn unique(name: &str) -> Result<String, io::Error> {
    // Nine bytes more than a name of an application may have still fit in `MAX_LEN`.
    Ok(format!("{name}/{:08x}", getrandom::u32()?))
}

/// Whether one machine may have several processes of a number.
#[cfg(target_os = "linux")]
const HAS_CONTAINERS: bool = true;
#[cfg(not(target_os = "linux"))]
const HAS_CONTAINERS: bool = false;

impl Record {
    /// Whether its holder is a process that runs on this machine; `None` when that cannot be told.
    ///
    /// It cannot be told of a process of another machine, container (PID namespace) or start of the
    /// machine, of a holder whose name the application chose, and on Linux of one whose version
    /// named it by host and number alone.
    #[must_use]
    pub fn is_holder_running(&self) -> Option<bool> {
        let mut parts = self.holder.rsplitn(3, '/');
        // From the right: a host's name may contain slashes, the other parts do not.
        let (_random, last, rest) = (parts.next()?, parts.next()?, parts.next()?);
        if let Some(identity) = ProcessIdentity::parse(last) {
            let (_host, process) = rest.rsplit_once('/')?;
            return identity.is_running(process.parse().ok()?);
        }
        let process = last.parse::<u32>().ok()?;
        // Containers of one host name have the same numbers.
        if HAS_CONTAINERS || !is_this_host(rest, &host_name()) {
            return None;
        }
        is_there(process)
    }
}

#[cfg(unix)]
pub(super) fn is_there(process: u32) -> Option<bool> {
    use rustix::io::Errno;
    use rustix::process::{Pid, test_kill_process};

    // No 0: the system would take it for this group of processes.
    let process = Pid::from_raw(i32::try_from(process).ok()?)?;
    // Every other error, such as `EPERM`, is about a process that is there.
    Some(test_kill_process(process) != Err(Errno::SRCH))
}

#[cfg(not(unix))]
pub(super) fn is_there(_: u32) -> Option<bool> {
    None
}

/// Whether a name is this machine's. One that every machine without a name has tells nothing.
fn is_this_host(name: &str, own: &str) -> bool {
    name == own && !["", "localhost"].contains(&name)
}

#[cfg(unix)]
pub(crate) fn host_name() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

#[cfg(not(unix))]
pub(crate) fn host_name() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_else(|_| "localhost".to_owned())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::types::{Grant, Token};

    fn is_running(holder: &str) -> Option<bool> {
        let token = Token::from_bytes([0; 16]);
        let grant = Grant {
            node_id: 0,
            start: 0,
            end: 1,
            fencing_token: 1,
            token,
        };
        let holder = holder.to_owned();
        Record {
            grant,
            contested: false,
            holder,
            version: 1,
        }
        .is_holder_running()
    }

    #[test]
    fn a_holder_s_name_tells_whether_it_runs_here() {
        assert_eq!(is_running(&unique(&process_name()).unwrap()), Some(true));
        // Linux counts processes up to 2^22 at most.
        let gone = process_name().replace(&std::process::id().to_string(), "2147483647");
        assert_eq!(is_running(&format!("{gone}/0")), Some(false));
        for other in [
            "elsewhere/1/0",
            "billing/0",
            "",
            &format!("{}/0/0", host_name()),
        ] {
            assert_eq!(is_running(other), None, "{other:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_of_the_same_number_is_told_apart() {
        let own = format!("web-1/{}", std::process::id());
        let identity = ProcessIdentity::of(std::process::id()).unwrap().to_string();
        let (scope, start) = identity.split_once('.').unwrap();
        let other = u32::from_str_radix(scope, 16).unwrap() ^ 1;
        for (identity, expected) in [
            (identity.clone(), Some(true)),
            // One that began at another time: the number was given again.
            (format!("{scope}.{start}0"), Some(false)),
            // Another container, or start of the machine.
            (format!("{other:08x}.{start}"), None),
        ] {
            assert_eq!(
                is_running(&format!("{own}/{identity}/0")),
                expected,
                "{identity}"
            );
        }
        // By an earlier version.
        assert_eq!(
            is_running(&format!("{}/{}/0", host_name(), std::process::id())),
            None
        );
    }

    #[test]
    fn a_name_that_many_machines_have_is_none() {
        assert!(is_this_host("web-1", "web-1"));
        for (name, own) in [("web-1", "web-2"), ("localhost", "localhost"), ("", "")] {
            assert!(!is_this_host(name, own), "{name:?}");
        }
    }
}

/// Identity of a process, beside its number, as names of holders have it: `scope.start` in hex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessIdentity {
    /// Where and since when numbers of processes count: boot id, PID namespace and time namespace.
    ///
    /// The number of a PID namespace is given again when its processes have ended, so of an equal
    /// scope either this is that namespace, or all processes of it have ended.
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

    /// Whether the process of this number and identity runs; `None` if it is of another machine,
    /// start of the machine or container, about whose processes nothing is known here.
    pub(crate) fn is_running(self, process: u32) -> Option<bool> {
        if system::scope()? != self.scope {
            return None;
        }
        match system::start(process) {
            Some(start) => Some(start == self.start),
            None if is_there(process) == Some(false) => Some(false),
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
            // The name of the program, in brackets, may have spaces and brackets itself. The start
            // is field 22.
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
