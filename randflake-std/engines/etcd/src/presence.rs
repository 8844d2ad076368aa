//! Idle connection to the member that answers, by whose end a holder notices that the member is
//! gone.

use core::time::Duration;
use std::io::ErrorKind;
use std::net::TcpStream;
use std::{process, slice};

use randflake_lease::unstable::net::{Addresses, Attempt};
use randflake_lease::unstable::url::Host;

/// A member that cannot be reached in this time counts as gone.
const CONNECT_LIMIT: Duration = Duration::from_secs(1);

/// An idle connection to a member, which ends when the member does: its HTTP client does not tell.
///
/// A cluster that is set back is stopped for that, so a client that knew the members of before
/// looks at it soon.
#[derive(Debug)]
pub(crate) struct Presence {
    members: Vec<Addresses>,
    /// Place of the member that is watched, and the process that has connected.
    of: Option<(usize, u32)>,
    connection: Option<TcpStream>,
}

impl Presence {
    pub(crate) fn of(members: &[Host]) -> Self {
        Self {
            members: members
                .iter()
                .map(|member: &Host| Addresses::of(slice::from_ref(member)))
                .collect(),
            of: None,
            connection: None,
        }
    }

    /// Begins to watch a member, before a lease is read or granted there; returns whether it can be
    /// reached.
    pub(crate) fn watch(&mut self, member: usize) -> bool {
        let of = (member, process::id());
        if self.of != Some(of) {
            // Another member has answered since. A child has no connection of its own.
            (self.of, self.connection) = (Some(of), None);
        }
        let kept = self.connection.take();
        self.connection = kept.or_else(|| connect(&mut self.members[member]));
        self.connection.is_some()
    }

    /// Whether a member has gone since it is watched, as far as is known.
    pub(crate) fn has_gone(&mut self, member: usize) -> bool {
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

fn connect(member: &mut Addresses) -> Option<TcpStream> {
    let connection = member
        .first_that_answers(CONNECT_LIMIT, |address, attempt: &Attempt| {
            TcpStream::connect_timeout(&address, attempt.limit)
        })
        .ok()?;
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
    fn only_an_unreachable_member_has_gone() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        let member = |listener: &TcpListener| Host {
            name: "127.0.0.1".to_owned(),
            port: listener.local_addr().unwrap().port(),
        };
        let mut presence = Presence::of(&[member(&listener), member(&other)]);
        assert!(presence.watch(0));
        let (accepted, _) = listener.accept().unwrap();
        assert!(!presence.has_gone(0));
        drop(accepted);
        while !presence.has_gone(0) {
            std::thread::yield_now();
        }
        // It is connected to anew.
        assert!(!presence.has_gone(0));
        assert!(!presence.has_gone(1));
        drop(listener);
        assert!(presence.has_gone(0));
    }
}
