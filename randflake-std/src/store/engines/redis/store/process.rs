//! Identity of a Redis server process, parsed from `INFO`.

use redis::{ErrorKind, RedisError, RedisResult, ServerErrorKind};

/// Commands by which keys may come back as they were. A replica takes over all of its master's, and the server forgets
/// after a while that it was one.
pub(super) const REPLACING: &str =
    "copy debug failover move replicaof restore restore-asking slaveof swapdb";

/// Sections of `INFO` that tell it, and how keys are evicted.
pub(super) const SECTIONS: [&str; 4] = ["server", "replication", "commandstats", "memory"];

/// A process of Redis, and what was done to its keys.
#[derive(Debug)]
pub(super) struct RedisProcess {
    /// Run id of the server process.
    pub(super) run_id: String,
    /// The replication id of the master that it took over from; empty if it did not.
    pub(super) promoted: String,
    /// How often keys may have been replaced.
    pub(super) replaced: u64,
}

impl RedisProcess {
    /// Parses what the server tells in its `INFO`. It forgets after a while whom it took over from,
    /// which is the `former` master that the store has noted.
    pub(super) fn parse(info: &str, former: Option<String>) -> RedisResult<Self> {
        // Its texts may be old, and it refuses to write.
        if field(info, "role") == "slave" {
            let sentence = "it is a replica: name its master in the URL";
            let kind = ErrorKind::Server(ServerErrorKind::ReadOnly);
            return Err(RedisError::from((kind, sentence)));
        }
        // Forty zeros if it was never a replica.
        // Zeros at the start of an id go too. `write.lua` does the same, so both compare alike.
        let promoted = field(info, "master_replid2").trim_start_matches('0');
        let calls = |line: &str| -> Option<u64> {
            let (name, figures) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
            let (calls, _) = figures.split_once(',')?;
            calls.parse().ok().filter(|_| is_replacing(name))
        };
        Ok(Self {
            run_id: field(info, "run_id").to_owned(),
            promoted: if promoted.is_empty() {
                former.unwrap_or_default()
            } else {
                promoted.to_owned()
            },
            replaced: info.lines().filter_map(calls).fold(0, u64::saturating_add),
        })
    }

    pub(super) fn fingerprint(&self) -> String {
        let Self {
            run_id,
            promoted,
            replaced,
        } = self;
        format!("{run_id}:{promoted}:{replaced}")
    }

    /// The process of a fingerprint.
    pub(super) fn of(fingerprint: &str) -> Self {
        let mut parts = fingerprint.split(':');
        let mut part = || parts.next().unwrap_or_default();
        Self {
            run_id: part().to_owned(),
            promoted: part().to_owned(),
            replaced: part().parse().unwrap_or(0),
        }
    }
}

fn is_replacing(command: &str) -> bool {
    REPLACING.split(' ').any(|name| name == command)
}

/// Whether a server takes several sections in one `INFO`: from Redis 7 on, and every Valkey.
pub(super) fn takes_sections(info: &str) -> bool {
    let (major, _) = field(info, "redis_version")
        .split_once('.')
        .unwrap_or_default();
    // Valkey says 7.2.4 here, for programs such as this one.
    major.parse::<u32>().is_ok_and(|major| major >= 7)
}

/// What the server tells of a name; empty if it does not.
pub(super) fn field<'i>(info: &'i str, name: &str) -> &'i str {
    let value = |line: &'i str| line.strip_prefix(name)?.strip_prefix(':');
    info.lines().find_map(value).unwrap_or_default()
}
