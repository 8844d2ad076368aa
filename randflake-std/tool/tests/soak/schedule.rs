//! Faults of each store, in rounds, and the time that a round takes. `cargo xtask deep soak`
//! includes this file, so that it refuses a time that is too short before it builds anything.

/// Stores one after the other, with short leases, each with the name of its test.
pub(crate) const STORES: [(Store, &str); 6] = [
    (Sqlite, "sqlite"),
    (Static, "static"),
    (Redis, "redis"),
    (Etcd, "etcd"),
    (Postgres, "postgres"),
    (Mariadb, "mariadb"),
];

/// Stores with leases of the default TTL, beside each other and the others. Static files are not
/// among them: who is killed waits there for the end of his own lease.
pub(crate) const WITH_LONG_LEASES: [(Store, &str); 5] = [
    (Sqlite, "sqlite_60_s"),
    (Redis, "redis_60_s"),
    (Etcd, "etcd_60_s"),
    (Postgres, "postgres_60_s"),
    (Mariadb, "mariadb_60_s"),
];

/// Faults in the order of a round, each with its name in the record.
pub(crate) const FAULTS: [(Fault, &str); 12] = [
    (EngineKilled, "engine killed"),
    (NetworkFails, "network cut, slow, loses replies"),
    (HoldersSuspended, "holders suspended"),
    (AnotherPromoted, "replica promoted, leader killed"),
    (ServeKilled, "`serve` killed"),
    (WallClockJumps, "wall clock jumps by an hour"),
    (EngineSuspended, "engine suspended"),
    (DataLost, "server emptied"),
    (FilesRemoved, "files of the store removed"),
    (FolderMoved, "its folder moved away and back"),
    (FilesRestored, "its files overwritten by older ones"),
    (ServeSuspended, "`serve` suspended"),
];

/// Seconds without a fault, before each.
pub(crate) const CALM: u32 = 5;
/// Seconds of a short lease.
pub(crate) const SHORT_TTL: u32 = 3;
/// Seconds of a long one.
pub(crate) const LONG_TTL: u32 = 60;
/// Seconds that a quarantine takes beyond the longest TTL.
const SKEWS: u32 = 20;
/// Minutes of a round on each store.
pub(crate) const LEAST_MINUTES: u32 = {
    let (mut least, mut at) = (least_seconds(), 0);
    while at < WITH_LONG_LEASES.len() {
        let seconds = round_seconds(WITH_LONG_LEASES[at].0, LONG_TTL);
        if seconds > least {
            least = seconds;
        }
        at += 1;
    }
    least.div_ceil(60)
};

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
    FilesRemoved,
    FolderMoved,
    FilesRestored,
    ServeSuspended,
}

use Fault::{
    AnotherPromoted, DataLost, EngineKilled, EngineSuspended, FilesRemoved, FilesRestored,
    FolderMoved, HoldersSuspended, NetworkFails, ServeKilled, ServeSuspended, WallClockJumps,
};

impl Fault {
    /// Whether every round on this store has it.
    pub(crate) const fn belongs_to(self, store: Store) -> bool {
        let in_files = matches!(store, Sqlite | Static);
        match self {
            EngineKilled | NetworkFails | AnotherPromoted | EngineSuspended | DataLost => !in_files,
            FilesRemoved | FolderMoved => in_files,
            // Of a static file nobody but its holder notices it, who may be killed before his next
            // look.
            FilesRestored => matches!(store, Sqlite),
            HoldersSuspended | ServeKilled | WallClockJumps | ServeSuspended => true,
        }
    }

    /// Seconds that it takes, until ids come again under new leases.
    const fn seconds(self, store: Store, ttl: u32) -> u32 {
        // As they were measured on two processors.
        let happens = match self {
            EngineKilled | ServeKilled | FilesRemoved => 2,
            NetworkFails | WallClockJumps => 3 * ttl / 2 + 2,
            EngineSuspended | FilesRestored => ttl + 1,
            AnotherPromoted => ttl + 5,
            HoldersSuspended | ServeSuspended => ttl + 4,
            DataLost => ttl + 8,
            FolderMoved => 2 * ttl + 2,
        };
        let leases_end = ttl + 4;
        let is_quarantined = match self {
            EngineKilled => matches!(store, Redis),
            AnotherPromoted => !matches!(store, Etcd),
            FilesRemoved | FolderMoved | FilesRestored => true,
            _ => false,
        };
        let until_ids = if is_quarantined {
            ttl + SKEWS + 2
        } else {
            leases_end
        };
        CALM + happens + until_ids
    }
}

/// Seconds of a round on a store.
pub(crate) const fn round_seconds(store: Store, ttl: u32) -> u32 {
    let (mut sum, mut at) = (0, 0);
    while at < FAULTS.len() {
        let fault = FAULTS[at].0;
        if fault.belongs_to(store) {
            sum += fault.seconds(store, ttl);
        }
        at += 1;
    }
    sum
}

/// Seconds of a round on every store, one after the other.
pub(crate) const fn least_seconds() -> u32 {
    let (mut sum, mut at) = (0, 0);
    while at < STORES.len() {
        sum += round_seconds(STORES[at].0, SHORT_TTL);
        at += 1;
    }
    sum
}
