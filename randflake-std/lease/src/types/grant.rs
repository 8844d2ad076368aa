//! Requests for leases and their answers: grants, their losses, and what clients elsewhere present.

use core::fmt::{self, Display, Formatter};
use core::str::FromStr;
use core::time::Duration;

use randflake_core::{AnyLayout, Lease, LeaseError};
use sha2::{Digest, Sha256};

use super::StoreError;

/// Request to acquire node ids.
#[derive(Clone, Copy, Debug)]
pub struct AcquireRequest<'a> {
    /// Names the request: new for each one, the same when it is repeated.
    pub token: Token,
    /// Names the process, for people and to tell it from a copy. At most 128 bytes, without control
    /// characters.
    pub holder: &'a str,
    /// Node ids to acquire.
    pub nodes: NodeIds<'a>,
    /// Length of the leases in ticks, at least 1 and at most the namespace's longest TTL.
    pub ttl: u64,
}

/// Node ids to acquire: any, or chosen ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeIds<'a> {
    /// This number of any free node ids, at least 1.
    Any(u32),
    /// Exactly these node ids, each once.
    These(&'a [u32]),
}

impl NodeIds<'_> {
    /// Number of node ids requested.
    #[must_use]
    pub fn count(&self) -> u32 {
        match self {
            Self::Any(count) => *count,
            // No cut: so long a list names a node id twice, and the rule refuses it.
            Self::These(chosen) => u32::try_from(chosen.len()).unwrap_or(u32::MAX),
        }
    }

    /// Whether a node id is one of them.
    pub(crate) fn allow(&self, node_id: u32) -> bool {
        match self {
            Self::Any(_) => true,
            Self::These(chosen) => chosen.contains(&node_id),
        }
    }
}

/// A node id granted for an interval of ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Node id that was granted.
    pub node_id: u32,
    /// First tick of the grant.
    pub start: u64,
    /// The first tick after the grant.
    pub end: u64,
    /// Higher than that of any earlier grant of this node id, and at least `start`. A resource
    /// compares it to refuse a stale holder.
    pub fencing_token: u64,
    /// Token of the acquire that it came from.
    pub token: Token,
}

impl Grant {
    /// The lease to make a generator of.
    ///
    /// # Errors
    ///
    /// [`LeaseError`] when the layout has no such node id or interval.
    pub fn lease<L: AnyLayout>(&self, layout: L) -> Result<Lease<L>, LeaseError> {
        Lease::new(layout, self.node_id, self.start, self.end)
    }
}

/// What an acquire granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acquisition {
    /// As many as were asked for, of distinct node ids and in their order.
    pub grants: Vec<Grant>,
    /// For each grant, the write that made it: who renews it elsewhere [presents](ClientGrant) it.
    pub last_writes: Vec<LastWrite>,
    /// The store's clock, as time since the Unix epoch.
    pub now: Duration,
}

impl Acquisition {
    /// The grants as a holder elsewhere presents them at the first renewal.
    #[must_use]
    pub fn client_grant(&self) -> Vec<ClientGrant> {
        let grants = self.grants.iter().zip(&self.last_writes);
        grants
            .map(|(&grant, &last_write)| ClientGrant { grant, last_write })
            .collect()
    }
}

/// The outcome of a renewal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renewal {
    /// For each grant, in the order given, its new end, or why it is no longer held.
    pub ends: Vec<Result<u64, Loss>>,
    /// The store's clock, as time since the Unix epoch.
    pub now: Duration,
}

/// A lease as the store knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Node id, interval and tokens.
    pub grant: Grant,
    /// A copy of its holder has tried to renew it: both have issued the same ids since the copy was
    /// made.
    pub contested: bool,
    /// Name of the holder.
    pub holder: String,
    /// The highest version of records that the holder knew at its last write.
    pub version: u8,
}

/// A random 128-bit number that makes an acquire idempotent: it can be repeated when its reply was
/// lost. It is not secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token([u8; 16]);

impl Token {
    /// A new token from the operating system's random source.
    ///
    /// # Errors
    ///
    /// When the operating system has none.
    pub fn random() -> Result<Self, std::io::Error> {
        // Copies of a machine may draw the same token. The nonces of their writes differ, because
        // fresh nonces include the clocks.
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// The token with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Bytes of the token.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0
    }
}

impl Display for Token {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

/// Reason why a holder has lost its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Loss {
    /// The lease expired before it was renewed; another holder may have the node id since.
    Expired,
    /// The lease was released by somebody else, such as an operator.
    Released,
    /// A copy of this process has renewed the lease: both have issued the same ids since they were
    /// copied.
    Contested,
    /// The store has forgotten the lease, or the whole namespace, before it expired. Nothing is
    /// granted until everything that it may have forgotten has expired.
    Forgotten,
}

impl Loss {
    /// All reasons, for counters that begin at zero.
    pub const ALL: [Self; 4] = [
        Self::Expired,
        Self::Released,
        Self::Contested,
        Self::Forgotten,
    ];

    /// Name of the reason for logs and metrics: `expired`, `released`, `contested` or `forgotten`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Released => "released",
            Self::Contested => "contested",
            Self::Forgotten => "forgotten",
        }
    }
}

/// Number of leases that a handle has lost, by reason: see [`Loss`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Losses {
    /// Expired before they were renewed: the store did not answer in time, or the process stood
    /// still.
    pub expired: u64,
    /// Released by somebody else, such as an operator.
    pub released: u64,
    /// Renewal by a copy of this process: both have issued the same ids since the copy was made.
    /// Above 0, an operator must act: see [`Loss::Contested`].
    pub contested: u64,
    /// Forgotten by the store before they expired. Above 0, an operator must act: see
    /// [`Loss::Forgotten`].
    pub forgotten: u64,
}

impl Losses {
    /// Counts one more loss of a reason.
    pub fn count(&mut self, loss: Loss) {
        let count = match loss {
            Loss::Expired => &mut self.expired,
            Loss::Released => &mut self.released,
            Loss::Contested => &mut self.contested,
            Loss::Forgotten => &mut self.forgotten,
        };
        *count += 1;
    }
}

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
