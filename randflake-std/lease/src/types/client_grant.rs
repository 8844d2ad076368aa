//! Presented grants: leases whose holder is elsewhere, renewed on its behalf.

use core::fmt::{self, Display, Formatter};
use core::str::FromStr;
use core::time::Duration;

use sha2::{Digest, Sha256};

use super::Loss;
use super::{Grant, StoreError};

/// The last write of a lease, as its store answered it.
///
/// Each renewal and release presents it. A copy of the holder presents an older one, and learns
/// that the lease is contested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastWrite {
    /// How often the lease was written: 1 by the acquire, one more by each renewal.
    pub serial: u64,
    /// Random number of the write.
    pub nonce: u64,
}

/// A grant as a holder elsewhere presents it: a client of a server, or a program that keeps it in a
/// file between two runs of the command line tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientGrant {
    /// The grant as its holder knows it.
    pub grant: Grant,
    /// Last write that was reported to its holder.
    pub last_write: LastWrite,
}

/// The outcome of a renewal of presented grants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientRenewal {
    /// For each grant, in the order given, what its holder presents next, or why it is no longer
    /// held.
    pub outcomes: Vec<Result<ClientGrant, Loss>>,
    /// The store's clock, as time since the Unix epoch.
    pub now: Duration,
}

/// Name of one renewal or release by a holder elsewhere: new for each, the same when it is
/// repeated.
///
/// The nonce of the write follows from it. So a repetition after a lost reply is recognized by any
/// server of the store, none of which remembers anything, and a copy of the holder, which makes up
/// another name, is not taken for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(String);

impl RequestId {
    /// Description of allowed names, for messages.
    pub const ALLOWED: &'static str = "8 to 64 of a-z, A-Z, 0-9, '-', '_', '.' and ':', new for each renewal and release and \
         the same when it is repeated,";

    /// The nonce of the write that this request makes after another one.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] when the last write was this very request's: a name that is used for
    /// each renewal would let two copies of a holder pass for one.
    pub(crate) fn nonce_after(&self, presented: &ClientGrant) -> Result<u64, StoreError> {
        let LastWrite { serial, nonce } = presented.last_write;
        // The hash tells which request made a write, without a memory of requests.
        if self.nonce_of(&presented.grant, serial) == nonce {
            return Err(StoreError::Invalid(format!(
                "the request {:?} has made the last write of node id {}: each renewal and release needs a new name; to \
                 repeat one, present the same grant again",
                self.0, presented.grant.node_id
            )));
        }
        // Saturating, because a client may present any serial.
        Ok(self.nonce_of(&presented.grant, serial.saturating_add(1)))
    }

    fn nonce_of(&self, grant: &Grant, serial: u64) -> u64 {
        // The token and the serial: the same name means another write for another lease, and for
        // the next renewal.
        let digest = Sha256::new()
            .chain_update(grant.token.to_bytes())
            .chain_update(grant.node_id.to_be_bytes())
            .chain_update(serial.to_be_bytes())
            .chain_update(&self.0)
            .finalize();
        let (first, _) = digest.split_at(size_of::<u64>());
        first
            .iter()
            .fold(0, |number, byte| number << u8::BITS | u64::from(*byte))
    }
}

impl FromStr for RequestId {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
        // Eight characters: a shorter name is likely to be used twice.
        if (8..=64).contains(&text.len()) && text.chars().all(is_allowed) {
            return Ok(Self(text.to_owned()));
        }
        Err(StoreError::Invalid(format!(
            "the request is named {text:?}: {} are allowed",
            Self::ALLOWED
        )))
    }
}

impl Display for RequestId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
