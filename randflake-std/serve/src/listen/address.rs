//! Addresses to listen on: an address, or a socket that the service manager passes.

use core::net::SocketAddr;
use core::str::FromStr;
use std::env;
use std::io::ErrorKind;
use std::net::{TcpListener, ToSocketAddrs};

use listenfd::ListenFd;
use randflake_std::unstable::url::mistake_in_ipv6;

use randflake_common::failure::Failure;

/// Address to listen on, as `--resp` and `--http` take it.
#[derive(Clone, Debug)]
pub enum ListenAddress {
    /// Of this machine.
    At(SocketAddr),
    /// Of systemd: the socket of that name.
    Passed,
}

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // No host is called so: a name that is looked up needs a port.
        if text == "systemd" {
            return Ok(Self::Passed);
        }
        // Else the last group would be taken for the port.
        if let Some(mistake) = mistake_in_ipv6(text) {
            return Err(format!("it {mistake}"));
        }
        let found = text.to_socket_addrs().ok();
        let first = found.and_then(|mut found| found.next());
        first.map(Self::At).ok_or_else(|| {
            "an address and a port are allowed, such as 127.0.0.1:6380, [::1]:6380 or localhost:6380, or systemd for \
             the socket that it passes"
                .to_owned()
        })
    }
}

/// The sockets that the service manager passes.
pub(crate) struct Passed {
    sockets: ListenFd,
    names: Vec<String>,
}

impl Passed {
    /// It changes the environment, so it comes before the process has other threads.
    pub(crate) fn from_env() -> Self {
        let names = env::var("LISTEN_FDNAMES").unwrap_or_default();
        Self {
            names: names.split(':').map(str::to_owned).collect(),
            sockets: ListenFd::from_env(),
        }
    }

    /// Binds, or takes the socket of that name.
    pub(crate) fn bind(
        &mut self,
        address: &ListenAddress,
        name: &str,
    ) -> Result<TcpListener, Failure> {
        let failed = |problem: String| Failure::failed(format!("--{name}: {problem}"));
        match address {
            ListenAddress::At(address) => TcpListener::bind(address).map_err(|error| {
                let advice = match error.kind() {
                    ErrorKind::AddrInUse => {
                        "; another program listens there: end it, or take another port"
                    }
                    ErrorKind::AddrNotAvailable => {
                        "; take an address of this machine, or 0.0.0.0 for all"
                    }
                    ErrorKind::PermissionDenied => {
                        "; take a port from 1024 on, or a socket of systemd's"
                    }
                    _ => "",
                };
                failed(format!("{address} cannot be listened to: {error}{advice}"))
            }),
            ListenAddress::Passed => {
                // The variable names the sockets in their order, so the place of a name is that of
                // its socket.
                let at = self.names.iter().position(|own| own == name);
                let taken = match at {
                    Some(at) => self.sockets.take_tcp_listener(at),
                    None => Ok(None),
                };
                let socket = taken.map_err(|error| failed(error.to_string()))?;
                socket.ok_or_else(|| {
                    failed(format!(
                        "systemd has passed no socket named {name}: its socket unit needs ListenStream=ADDRESS and \
                         FileDescriptorName={name}"
                    ))
                })
            }
        }
    }
}

/// Whether only this machine reaches it.
pub(crate) fn is_local(address: SocketAddr) -> bool {
    // `::ffff:127.0.0.1` is this machine as well.
    address.ip().to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_address_without_brackets_is_not_cut_into_address_and_port() {
        for (text, said) in [
            (
                "::1:6380",
                "write [::1:6380], or [::1]:6380 if 6380 is the port",
            ),
            (
                "2001:db8::10:20",
                "write [2001:db8::10:20], or [2001:db8::10]:20",
            ),
            ("[fe80::1%eth0]:6380", "has a zone id"),
            ("fe80::1%1:6380", "has a zone id"),
            ("[::1]", "an address and a port are allowed"),
        ] {
            let refused = text.parse::<ListenAddress>().unwrap_err();
            assert!(refused.contains(said), "{text}: {refused}");
        }
        let taken = "[::1]:6380".parse();
        assert!(
            matches!(taken, Ok(ListenAddress::At(address)) if address.port() == 6380),
            "{taken:?}"
        );
    }
}
