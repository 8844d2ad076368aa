//! Faults of each store, in rounds, and the time that a round takes. `cargo xtask soak` includes this file, so that it
//! refuses a time that is too short before it builds anything.

/// Stores, each with the trial's name.
pub(crate) const STORES: [(Store, &str); 6] = [
    (Sqlite, "sqlite"),
    (Static, "static"),
    (Redis, "redis"),
    (Etcd, "etcd"),
    (Postgres, "postgres"),
    (Mariadb, "mariadb"),
];

/// Faults in the order of a round, each with its name in the record.
pub(crate) const FAULTS: [(Fault, &str); 9] = [
    (EngineKilled, "engine killed"),
    (NetworkFails, "network cut, slow, loses replies"),
    (HoldersSuspended, "holders suspended"),
    (AnotherPromoted, "replica promoted, leader killed"),
    (ServeKilled, "`serve` killed"),
    (WallClockJumps, "wall clock jumps by an hour"),
    (EngineSuspended, "engine suspended"),
    (DataLost, "server emptied"),
    (ServeSuspended, "`serve` suspended"),
];

/// Seconds without a fault, before each.
pub(crate) const CALM: u32 = 5;
/// Seconds of a lease.
pub(crate) const TTL: u32 = 3;
/// Seconds that a quarantine takes beyond the longest TTL.
const SKEWS: u32 = 20;
/// Minutes of a round on each store, one after the other.
pub(crate) const LEAST_MINUTES: u32 = least_seconds().div_ceil(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    Sqlite,
    Static,
    Redis,
    Etcd,
    Postgres,
    Mariadb,
}

use Store::{Etcd, Mariadb, Postgres, Redis, Sqlite, Static};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    EngineKilled,
    NetworkFails,
    HoldersSuspended,
    AnotherPromoted,
    ServeKilled,
    WallClockJumps,
    EngineSuspended,
    DataLost,
    ServeSuspended,
}

use Fault::{
    AnotherPromoted, DataLost, EngineKilled, EngineSuspended, HoldersSuspended, NetworkFails,
    ServeKilled, ServeSuspended, WallClockJumps,
};

impl Fault {
    /// Whether every round on this store has it.
    pub(crate) const fn belongs_to(self, store: Store) -> bool {
        match self {
            EngineKilled | NetworkFails | AnotherPromoted | EngineSuspended | DataLost => {
                !matches!(store, Sqlite | Static)
            }
            HoldersSuspended | ServeKilled | WallClockJumps | ServeSuspended => true,
        }
    }

    /// Seconds that it takes, until ids come again under new leases.
    const fn seconds(self, store: Store, ttl: u32) -> u32 {
        // As they were measured with an optimised build on two processors.
        let begin_to_end = match self {
            EngineKilled | ServeKilled => 2,
            EngineSuspended => ttl,
            AnotherPromoted => ttl + 3,
            NetworkFails | HoldersSuspended | WallClockJumps | ServeSuspended => 2 * ttl,
            DataLost => 3 * ttl,
        };
        let leases_end = 2 * ttl;
        let quarantined = match self {
            EngineKilled => matches!(store, Redis),
            AnotherPromoted => !matches!(store, Etcd),
            _ => false,
        };
        let quarantine = ttl + SKEWS;
        let settled = if quarantined && quarantine > leases_end {
            quarantine
        } else {
            leases_end
        };
        CALM + begin_to_end + settled
    }
}

/// Seconds of a round on a store.
pub(crate) const fn round_seconds(store: Store) -> u32 {
    let (mut sum, mut at) = (0, 0);
    while at < FAULTS.len() {
        let fault = FAULTS[at].0;
        if fault.belongs_to(store) {
            sum += fault.seconds(store, TTL);
        }
        at += 1;
    }
    sum
}

/// Seconds of a round on every store.
pub(crate) const fn least_seconds() -> u32 {
    let (mut sum, mut at) = (0, 0);
    while at < STORES.len() {
        sum += round_seconds(STORES[at].0);
        at += 1;
    }
    sum
}
