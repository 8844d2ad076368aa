//! Whether the member that answers is still there: by a connection that nothing is sent on.

use core::time::Duration;
use std::io::ErrorKind;
use std::net::{TcpStream, ToSocketAddrs};
use std::process;

/// A member that cannot be reached in this time counts as gone.
const CONNECT_LIMIT: Duration = Duration::from_secs(1);

/// An idle connection to a member, which ends when the member does: its HTTP client does not tell.
///
/// A cluster that is set back is stopped for that, so whoever knew the members of before looks at it soon.
#[derive(Debug, Default)]
pub(super) struct Presence {
    /// The member that is watched, as `HOST:PORT`, and the process that has connected.
    of: Option<(String, u32)>,
    connection: Option<TcpStream>,
}

impl Presence {
    /// Begins to watch a member, before a lease is read or granted there; returns whether it can be reached.
    pub(super) fn watch(&mut self, member: &str) -> bool {
        let of = (member.to_owned(), process::id());
        if self.of.as_ref() != Some(&of) {
            // Another member has answered since. A child has no connection of its own.
            (self.of, self.connection) = (Some(of), None);
        }
        self.connection = self.connection.take().or_else(|| connect(member));
        self.connection.is_some()
    }

    /// Whether a member has gone since it is watched, as far as is known.
    pub(super) fn has_gone(&mut self, member: &str) -> bool {
        if !self.watch(member) {
            return true;
        }
        let has_gone = self.connection.as_ref().is_some_and(|it| !is_open(it));
        if has_gone {
            self.connection = None;
        }
        has_gone
    }
}

fn connect(member: &str) -> Option<TcpStream> {
    let mut addresses = member.to_socket_addrs().ok()?;
    let connect = |address| TcpStream::connect_timeout(&address, CONNECT_LIMIT).ok();
    let connection = addresses.find_map(connect)?;
    connection.set_nonblocking(true).ok()?;
    Some(connection)
}

fn is_open(connection: &TcpStream) -> bool {
    match connection.peek(&mut [0]) {
        // Its end. A member says nothing to a client that has not spoken.
        Ok(count) => count > 0,
        Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
    }
}

#[cfg(test)]
#[cfg(not(miri))]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_member_that_ends_or_cannot_be_reached_has_gone_and_one_that_is_there_has_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let member = listener.local_addr().unwrap().to_string();
        let mut presence = Presence::default();
        assert!(presence.watch(&member));
        let (accepted, _) = listener.accept().unwrap();
        assert!(!presence.has_gone(&member));
        drop(accepted);
        while !presence.has_gone(&member) {
            std::thread::yield_now();
        }
        // It is connected to anew.
        assert!(!presence.has_gone(&member));
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(!presence.has_gone(&other.local_addr().unwrap().to_string()));
        drop(listener);
        assert!(presence.has_gone(&member));
    }
}
