//! How much memory clients may make the server hold: all of them, those of one token, and those of one address.

use core::net::IpAddr;

/// Limits of memory in bytes.
#[derive(Clone, Copy, Debug)]
pub struct MemoryLimits {
    /// Of all clients: requests, answers and TLS handshakes. An eighth of it is for clients that have not sent a token.
    pub all: usize,
    /// Of the connections of one token; a quarter of all unless given.
    pub per_token: Option<usize>,
    /// Of the connections of one address; a quarter of all unless given, and no limit for this machine's own.
    pub per_address: Option<usize>,
}

impl Default for MemoryLimits {
    fn default() -> Self {
        Self {
            all: 128 << 20,
            per_token: None,
            per_address: None,
        }
    }
}

impl MemoryLimits {
    pub(super) fn of_token(self) -> usize {
        self.per_token.unwrap_or(self.all / 4)
    }

    /// `None`: no limit but that of all.
    pub(super) fn of_address(self, client: IpAddr) -> Option<usize> {
        match self.per_address {
            Some(limit) => Some(limit),
            None if client.to_canonical().is_loopback() => None,
            None => Some(self.all / 4),
        }
    }
}
