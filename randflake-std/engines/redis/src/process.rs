//! Identity of a Redis server process, parsed from `INFO`.

use redis::{ErrorKind, RedisError, RedisResult, ServerErrorKind};

/// Commands by which keys may come back as they were. A replica takes over all of its master's, and
/// the server forgets after a while that it was one.
pub(crate) const REPLACING: &str =
    "copy debug failover move replicaof restore restore-asking slaveof swapdb";

/// Sections of `INFO` that tell it, and how keys are evicted.
pub(crate) const SECTIONS: [&str; 4] = ["server", "replication", "commandstats", "memory"];

/// A process of Redis, and what was done to its keys.
#[derive(Debug)]
pub(crate) struct RedisProcess {
    /// Run id of the server process.
    pub(crate) run_id: String,
    /// The replication id of the master that it took over from; empty if it did not.
    pub(crate) promoted: String,
    /// How often keys may have been replaced.
    pub(crate) replaced: u64,
}

impl RedisProcess {
    /// Parses what the server tells in its `INFO`. It forgets after a while whom it took over from,
    /// which is the `former` master that the store has noted.
    pub(crate) fn parse(info: &str, former: Option<String>) -> RedisResult<Self> {
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

    pub(crate) fn fingerprint(&self) -> String {
        let Self {
            run_id,
            promoted,
            replaced,
        } = self;
        format!("{run_id}:{promoted}:{replaced}")
    }

    /// The process of a fingerprint.
    pub(crate) fn of(fingerprint: &str) -> Self {
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

/// A policy of eviction by which leases are forgotten. A namespace has no time to live, so the
/// others leave it alone.
pub(crate) fn fault(info: &str) -> Option<String> {
    let policy = field(info, "maxmemory_policy");
    policy.starts_with("allkeys").then(|| {
        format!(
            "the Redis server's maxmemory-policy is {policy}, by which it forgets leases when its memory is full: \
             set noeviction, or a policy that begins with volatile-"
        )
    })
}

/// Whether a server takes several sections in one `INFO`: from Redis 7 on, and every Valkey.
pub(crate) fn takes_sections(info: &str) -> bool {
    let (major, _) = field(info, "redis_version")
        .split_once('.')
        .unwrap_or_default();
    // Valkey says 7.2.4 here, for programs such as this one.
    major.parse::<u32>().is_ok_and(|major| major >= 7)
}

/// Whether a server only watches others.
pub(crate) fn is_sentinel(info: &str) -> bool {
    field(info, "redis_mode") == "sentinel"
}

/// What the server tells of a name; empty if it does not.
fn field<'i>(info: &'i str, name: &str) -> &'i str {
    info.lines()
        .find_map(|line: &'i str| line.strip_prefix(name)?.strip_prefix(':'))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN_ID: &str = "d8c4c8ee22f9e1f5e23cb2f7dc0a63a2d30b8d7b";
    const FORMER: &str = "5f2bd1b3b4a1c0e8f1a2d3c4b5a6978812345678";

    /// As Redis 7.0.15 answers, without most lines: the first time as a master since its start.
    fn info(changes: &[(&str, &str)]) -> String {
        let lines = [
            "# Server",
            "redis_version:7.0.15",
            "redis_mode:standalone",
            "run_id:d8c4c8ee22f9e1f5e23cb2f7dc0a63a2d30b8d7b",
            "# Replication",
            "role:master",
            "master_replid:8f8a4d6a3a1d7be1a4bf6e5a0d0e4c8d0c9e7f31",
            "master_replid2:0000000000000000000000000000000000000000",
            "# Memory",
            "maxmemory_policy:noeviction",
            "# Commandstats",
            "cmdstat_evalsha:calls=12,usec=345,usec_per_call=28.75,rejected_calls=0,failed_calls=0",
            "cmdstat_restore:calls=2,usec=30,usec_per_call=15.00,rejected_calls=0,failed_calls=0",
            "cmdstat_replicaof:calls=1,usec=9,usec_per_call=9.00,rejected_calls=0,failed_calls=0",
        ];
        let text = lines.join("\r\n");
        changes
            .iter()
            .fold(text, |text, (from, to)| text.replace(from, to))
    }

    fn parse(changes: &[(&str, &str)], former: Option<&str>) -> String {
        let former = former.map(str::to_owned);
        let process = RedisProcess::parse(&info(changes), former).unwrap();
        let fingerprint = process.fingerprint();
        assert_eq!(RedisProcess::of(&fingerprint).fingerprint(), fingerprint);
        fingerprint
    }

    #[test]
    fn process_is_identified_by_run_master_and_keys() {
        assert_eq!(parse(&[], None), format!("{RUN_ID}::3"));
        // After a restart, and after commands by which keys come back.
        assert_eq!(
            parse(&[("d8c4", "0123")], None),
            format!("0123{}::3", &RUN_ID[4..])
        );
        let again = [
            ("restore:calls=2", "restore:calls=7"),
            ("replicaof", "unknown"),
        ];
        assert_eq!(parse(&again, None), format!("{RUN_ID}::7"));
    }

    /// The server tells for a while whom it took over from; then the store's note does.
    #[test]
    fn a_promoted_replica_stays_known_as_one() {
        let promoted = [("0000000000000000000000000000000000000000", FORMER)];
        let fingerprint = format!("{RUN_ID}:{FORMER}:3");
        assert_eq!(parse(&promoted, None), fingerprint);
        assert_eq!(parse(&[], Some(FORMER)), fingerprint);
        let earlier = "another";
        assert_eq!(parse(&promoted, Some(earlier)), fingerprint);
        // Zeros in front go, as in `write.lua`.
        let zeros = [("0000000000000000000000000000000000000000", "00ab")];
        assert_eq!(parse(&zeros, None), format!("{RUN_ID}:ab:3"));
    }

    #[test]
    fn a_replica_is_refused() {
        let refused = RedisProcess::parse(&info(&[("role:master", "role:slave")]), None)
            .unwrap_err()
            .to_string();
        assert!(refused.contains("name its master"), "{refused}");
    }

    /// Not what another version or server writes there.
    #[test]
    fn what_is_no_count_is_none() {
        let damaged = [("calls=2,", "calls=x,"), ("calls=1,", "calls=1;")];
        assert_eq!(parse(&damaged, None), format!("{RUN_ID}::0"));
        let most = format!("calls={},", u64::MAX);
        assert_eq!(
            parse(&[("calls=2,", &most)], None),
            format!("{RUN_ID}::{}", u64::MAX)
        );
    }

    #[test]
    fn a_policy_that_evicts_leases_is_a_fault() {
        for (policy, is_fault) in [
            ("noeviction", false),
            ("volatile-lru", false),
            ("allkeys-lru", true),
            ("allkeys-random", true),
        ] {
            let fault = fault(&info(&[("noeviction", policy)]));
            assert_eq!(fault.is_some(), is_fault, "{policy}");
            assert!(fault.is_none_or(|fault| fault.contains(policy)));
        }
    }

    #[test]
    fn sections_are_taken_together_from_version_7_on() {
        for (version, takes) in [
            ("6.2.14", false),
            ("7.0.15", true),
            ("8.2.1", true),
            ("x", false),
        ] {
            assert_eq!(takes_sections(&info(&[("7.0.15", version)])), takes);
        }
        assert!(!takes_sections(""));
    }
}
