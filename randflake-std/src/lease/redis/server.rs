//! By what a server is known.

use redis::{ErrorKind, RedisError, RedisResult, ServerErrorKind};

/// Commands by which keys may come back as they were.
pub(super) const REPLACING: &str = "copy debug move restore restore-asking swapdb";

/// A process of Redis, and what was done to its keys.
#[derive(Debug)]
pub(super) struct Server {
    /// Of the process.
    pub(super) run_id: String,
    /// The replication id of the master that it took over from; empty if it did not.
    pub(super) promoted: String,
    /// How often keys may have been replaced.
    pub(super) replaced: u64,
}

impl Server {
    /// As the server tells. It forgets after a while whom it took over from, which is `noted` then.
    pub(super) fn told(
        run_id: &str,
        replication: &str,
        commands: &str,
        noted: Option<String>,
    ) -> RedisResult<Self> {
        if field(replication, "role") == "slave" {
            let sentence = "it is a replica: name its master in the URL";
            let kind = ErrorKind::Server(ServerErrorKind::ReadOnly);
            return Err(RedisError::from((kind, sentence)));
        }
        let promoted = field(replication, "master_replid2").trim_start_matches('0');
        let calls = |line: &str| -> Option<u64> {
            let (name, told) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
            let (calls, _) = told.split_once(',')?;
            calls.parse().ok().filter(|_| is_replacing(name))
        };
        Ok(Self {
            run_id: run_id.to_owned(),
            promoted: if promoted.is_empty() {
                noted.unwrap_or_default()
            } else {
                promoted.to_owned()
            },
            replaced: commands
                .lines()
                .filter_map(calls)
                .fold(0, u64::saturating_add),
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

    /// The one of a fingerprint.
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

/// What the server tells of a name; empty if it does not.
pub(super) fn field<'i>(info: &'i str, name: &str) -> &'i str {
    let value = |line: &'i str| line.strip_prefix(name)?.strip_prefix(':');
    info.lines().find_map(value).unwrap_or_default()
}
