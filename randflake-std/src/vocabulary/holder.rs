//! What a process is called in the records of a store.

use std::io;

use super::Record;

/// With the random number of [`unique`] behind the longest name of an application's choice, and more.
pub(crate) const MAX_LEN: usize = 128;
/// The longest name of an application's choice.
pub(crate) const MAX_NAME_LEN: usize = 96;
/// What the names of holders begin with that are devices; their numbers follow, in hex.
pub(crate) const DEVICE: &str = "device/";

/// `host/process id`.
pub(crate) fn process_name() -> String {
    let host = host_name().replace(char::is_control, "?");
    format!("{host}/{}", std::process::id())
}

/// What `lease list` calls the holder for whom a process of this machine stands: its leases are not released by hand while
/// it runs.
///
/// # Errors
///
/// When the operating system has no random number.
#[doc(hidden)]
pub fn holder_of_process(process: u32) -> io::Result<String> {
    let host = host_name().replace(char::is_control, "?");
    unique(&format!("{host}/{process}"))
}

/// Whether a store may keep it: it is shown to people.
pub(crate) fn is_allowed(holder: &str) -> bool {
    holder.len() <= MAX_LEN && !holder.contains(char::is_control)
}

/// Whether an application may choose it: also none that might be a device's.
pub(crate) fn is_name_allowed(name: &str) -> bool {
    let is_device = name == DEVICE.trim_end_matches('/') || name.starts_with(DEVICE);
    (1..=MAX_NAME_LEN).contains(&name.len()) && is_allowed(name) && !is_device
}

/// The name with a random number behind it: a copy of the process, or one of the same number in
/// another container, has another.
pub(crate) fn unique(name: &str) -> Result<String, io::Error> {
    Ok(format!("{name}/{:08x}", getrandom::u32()?))
}

impl Record {
    /// Whether its holder is a process that runs on this machine; `None` when the name does not tell,
    /// because it is another machine's or one of the application's choice.
    ///
    /// The process may also be a later one of the same number.
    #[must_use]
    pub fn is_holder_running(&self) -> Option<bool> {
        let mut parts = self.holder.rsplitn(3, '/');
        let (_random, process, host) = (parts.next()?, parts.next()?, parts.next()?);
        let process = process.parse::<u32>().ok()?;
        if host == host_name() {
            is_running(process)
        } else {
            None
        }
    }
}

#[cfg(unix)]
fn is_running(process: u32) -> Option<bool> {
    use rustix::io::Errno;
    use rustix::process::{Pid, test_kill_process};

    let process = Pid::from_raw(i32::try_from(process).ok()?)?;
    Some(test_kill_process(process) != Err(Errno::SRCH))
}

#[cfg(not(unix))]
fn is_running(_: u32) -> Option<bool> {
    None
}

#[cfg(target_os = "linux")]
pub(crate) fn host_name() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn host_name() -> String {
    let name = ["HOSTNAME", "COMPUTERNAME"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok());
    name.unwrap_or_else(|| "localhost".to_owned())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::vocabulary::{Grant, Token};

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
        assert_eq!(
            is_running(&format!("{}/2147483647/0", host_name())),
            Some(false)
        );
        for other in [
            "elsewhere/1/0",
            "billing/0",
            "",
            &format!("{}/0/0", host_name()),
        ] {
            assert_eq!(is_running(other), None, "{other:?}");
        }
    }
}
