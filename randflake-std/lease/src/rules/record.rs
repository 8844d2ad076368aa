//! Records that a store keeps.

use core::time::Duration;

use super::{Form, HistoryLink};
use crate::types::Terms;
use crate::types::{ClientGrant, Grant, LastWrite, QuarantineCause, StoreError, Token};

/// Stored record of a namespace.
#[derive(Clone, Debug)]
pub struct NamespaceRecord {
    /// Which versions of records and holders it allows.
    pub versions: Versions,
    /// Terms that all holders share.
    pub terms: Terms,
    /// Random number made with the record: a recreated record has another.
    pub namespace_nonce: u64,
    /// Number of writes of the record.
    pub writes: u64,
    /// Nothing is granted before this tick.
    pub quarantine: u64,
    /// Start and cause of the last quarantine.
    pub reason: QuarantineReason,
    /// Fingerprint of the engine when the record was written: see
    /// [`Continuity`](super::Continuity).
    pub fingerprint: String,
    /// Identity of the engine that the record is of: see [`Continuity`](super::Continuity).
    pub identity: String,
    /// Versions and tail of this record.
    pub form: Form,
}

/// Which versions a namespace allows. An upgrade raises both; nothing lowers what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Versions {
    /// The highest version that a record may require of its readers.
    pub written: u8,
    /// The least version that a process must know to acquire. While an upgrade looks for older
    /// holders it is higher than `written`.
    pub holder: u8,
}

impl Versions {
    /// Of a namespace that is made: the oldest programs may use it, until somebody raises it.
    pub const FIRST: Self = Self {
        written: 1,
        holder: 1,
    };
}

impl NamespaceRecord {
    /// Begin of a tick of its layout, as time since the Unix epoch.
    pub(crate) fn unix(&self, tick: u64) -> Duration {
        Duration::from_millis(self.terms.spec.unix_ms(tick))
    }

    /// Refuses a namespace that was dropped and not reopened.
    pub(crate) fn check_dropped(&self) -> Result<(), StoreError> {
        if self.reason.is_dropped {
            let until = self.unix(self.quarantine);
            return Err(StoreError::Dropped { until });
        }
        Ok(())
    }

    /// The record with a quarantine at least until a time, because a lease that it knows nothing of
    /// may be in use until then; both are times since the Unix epoch. `None` if that time is past,
    /// or the record says so already.
    pub(super) fn quarantined_until(&self, now: Duration, until: Duration) -> Option<Self> {
        let spec = &self.terms.spec;
        let tick = spec.tick_at(now).filter(|_| now < until)?;
        // In ticks of this record's layout, of which the last one may have begun by then. `until`
        // is the first moment after the lease, so the tick before it is the last that counts.
        let end = spec.tick_at(until.saturating_sub(Duration::from_millis(1)))? + 1;
        let mut reason = self.reason;
        // A running quarantine keeps its start and, unless it is `New`, its cause.
        if tick >= self.quarantine {
            reason.since = tick;
            reason.cause = QuarantineCause::Lost;
        } else if reason.cause == QuarantineCause::New {
            // A namespace in which leases are in use is not new.
            reason.cause = QuarantineCause::Lost;
        }
        // Never shortened: it may wait for leases of others as well.
        let quarantine = self.quarantine.max(end);
        // A write for nothing would make everybody's next write fail once.
        let is_changed = reason != self.reason || quarantine != self.quarantine;
        is_changed.then(|| Self {
            writes: self.writes.saturating_add(1),
            quarantine,
            reason,
            ..self.clone()
        })
    }
}

/// Start and cause of a quarantine, and whether the namespace was dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuarantineReason {
    /// The tick at which the quarantine began.
    pub since: u64,
    /// Cause of the quarantine.
    pub cause: QuarantineCause,
    /// The namespace was dropped, and nobody has opened it since: it may be opened with any terms.
    pub is_dropped: bool,
}

/// Stored record of a node id, from its first lease on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRecord {
    /// Node id of the record.
    pub node_id: u32,
    /// The first tick of the lease.
    pub start: u64,
    /// The first tick after it.
    pub end: u64,
    /// Higher than that of any earlier lease of the node id, and at least `start`.
    pub fencing_token: u64,
    /// Number of writes of the lease: 1 by the acquire, one more by each renewal. A renewal
    /// presents the number of the last write; a copy of the holder presents one that is too low.
    pub serial: u64,
    /// Token of the acquire.
    pub token: Token,
    /// Nonce of the last write, which tells its repetition from the write of a copy.
    pub nonce: u64,
    /// Whether it was not released.
    pub held: bool,
    /// Whether a copy of the holder has tried to renew it.
    pub contested: bool,
    /// Link to the earlier leases of the node id.
    pub past: HistoryLink,
    /// Name of the holder.
    pub holder: String,
    /// The highest version that its holder knew at its last write.
    pub capabilities: u8,
    /// Versions and tail of this record.
    pub form: Form,
}

impl NodeRecord {
    /// The grant, as its holder knows it.
    #[must_use]
    pub fn grant(&self) -> Grant {
        Grant {
            node_id: self.node_id,
            start: self.start,
            end: self.end,
            fencing_token: self.fencing_token,
            token: self.token,
        }
    }

    /// Serial and nonce of the last write.
    #[must_use]
    pub fn last_write(&self) -> LastWrite {
        LastWrite {
            serial: self.serial,
            nonce: self.nonce,
        }
    }

    /// The grant as a holder elsewhere presents it at the next renewal.
    #[must_use]
    pub fn client_grant(&self) -> ClientGrant {
        ClientGrant {
            grant: self.grant(),
            last_write: self.last_write(),
        }
    }

    /// Whether it is the record of this grant, and not of an earlier or a later one of the node id.
    #[must_use]
    pub fn is_of(&self, grant: &Grant) -> bool {
        self.fencing_token == grant.fencing_token && self.token == grant.token
    }
}
