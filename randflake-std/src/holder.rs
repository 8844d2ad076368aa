//! What a process is called in the records of a store.

use std::io;

/// `host/process id`.
pub(crate) fn process_name() -> String {
    format!("{}/{}", host_name(), std::process::id())
}

/// The name with a random number behind it: a copy of the process, or one of the same number in
/// another container, has another.
pub(crate) fn unique(name: &str) -> Result<String, io::Error> {
    Ok(format!("{name}/{:08x}", getrandom::u32()?))
}

#[cfg(target_os = "linux")]
fn host_name() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

#[cfg(not(target_os = "linux"))]
fn host_name() -> String {
    let name = ["HOSTNAME", "COMPUTERNAME"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok());
    name.unwrap_or_else(|| "localhost".to_owned())
}
