//! The two scripts: one reads, the other writes if what was read is still so.

use core::time::Duration;

use redis::{Script, ScriptInvocation};

use super::connection::Connection;
use crate::lease::StoreError;
use crate::ledger::{Change, NodeRecord};

macro_rules! script {
    ($name:literal) => {
        Script::new(concat!(
            include_str!("lua/rights.lua"),
            include_str!("lua/server.lua"),
            include_str!($name)
        ))
    };
}

#[derive(Debug)]
pub(super) struct Scripts {
    pub(super) look: Script,
    pub(super) commit: Script,
}

impl Scripts {
    pub(super) fn new() -> Self {
        Self {
            look: script!("lua/look.lua"),
            commit: script!("lua/commit.lua"),
        }
    }
}

/// A process of Redis.
#[derive(Clone, Debug, Default)]
pub(super) struct Server {
    run_id: String,
    /// The replication id of the master that it took over from; empty if it did not.
    promoted: String,
}

impl Server {
    /// As it was when a record with that fingerprint was written, if it is the same: the server forgets after a while
    /// whom it took over from.
    pub(super) fn after(mut self, fingerprint: Option<&str>) -> Self {
        if let Some(fingerprint) = fingerprint
            && self.promoted.is_empty()
        {
            self.promoted = Self::of(fingerprint).promoted;
        }
        self
    }

    /// The one of a fingerprint.
    pub(super) fn of(fingerprint: &str) -> Self {
        let mut parts = fingerprint.split(':').map(str::to_owned);
        Self {
            run_id: parts.next().unwrap_or_default(),
            promoted: parts.next().unwrap_or_default(),
        }
    }

    /// With how often keys may have been replaced, and the mark of the node ids' hash.
    pub(super) fn fingerprint(&self, replaced: u64, mark: &str) -> String {
        format!("{}:{}:{replaced}:{mark}", self.run_id, self.promoted)
    }
}

/// What was read.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) now: Duration,
    pub(super) server: Server,
    /// How often keys may have been replaced.
    pub(super) replaced: u64,
    pub(super) eviction: String,
    pub(super) record: Option<String>,
    pub(super) mark: Option<String>,
    /// Whether every record has a hint.
    pub(super) is_indexed: bool,
    pub(super) free_from: Option<u64>,
    pub(super) hints: Hints,
    pub(super) nodes: Vec<(u32, Option<String>)>,
}

/// Node ids that were never leased, for the next commit to note.
#[derive(Clone, Debug, Default)]
pub(super) struct Hints {
    unused: u64,
    nodes: Vec<u32>,
}

impl Look {
    pub(super) fn of(
        connection: &mut Connection,
        invocation: &ScriptInvocation<'_>,
    ) -> Result<Self, StoreError> {
        type Index = (bool, u64, Option<f64>, Vec<u32>);
        type Server = (String, String, u64, String);
        type Reply = (
            (u64, u32),
            Server,
            Option<String>,
            Option<String>,
            Index,
            Vec<u32>,
            Vec<Option<String>>,
        );
        let reply: Reply = connection.run(|redis| invocation.invoke(redis))?;
        let (time, server, record, mark, index, nodes, records) = reply;
        let (run_id, promoted, replaced, eviction) = server;
        let (is_indexed, unused, free_from, hints) = index;
        Ok(Self {
            now: duration(time),
            server: self::Server { run_id, promoted },
            replaced,
            eviction,
            record,
            mark,
            is_indexed,
            free_from: free_from.map(tick),
            hints: Hints {
                unused,
                nodes: hints,
            },
            nodes: nodes.into_iter().zip(records).collect(),
        })
    }

    /// Keys of leases have no time to live, so the other policies leave them alone.
    pub(super) fn fault(&self) -> Option<String> {
        let policy = &self.eviction;
        policy.starts_with("allkeys").then(|| {
            format!(
                "the Redis server's maxmemory-policy is {policy}, by which it forgets leases when its memory \
                 is full: set noeviction, or a policy that begins with volatile-"
            )
        })
    }
}

/// What to write.
#[derive(Debug, Default)]
pub(super) struct Write {
    pub(super) server: Server,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
    pub(super) mark: Option<String>,
    pub(super) hints: Hints,
    pub(super) change: Option<Change>,
}

impl Write {
    /// When it was written; `None`: something had changed.
    pub(super) fn run(
        &self,
        connection: &mut Connection,
        invocation: &mut ScriptInvocation<'_>,
    ) -> Result<Option<Duration>, StoreError> {
        let micros = |time: Duration| time.as_micros().to_string();
        let window = self.change.as_ref().and_then(|change| change.window);
        let window = window.map(|(least, most)| (micros(least), micros(most)));
        let (least, most) = window.unwrap_or_default();
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let unused = Some(self.hints.unused).filter(|unused| *unused > 0);
        invocation
            .arg(&self.server.run_id)
            .arg(&self.server.promoted)
            .arg(least)
            .arg(most)
            .arg(text(&self.before))
            .arg(text(&self.after))
            .arg(text(&self.mark))
            .arg(unused.map_or(String::new(), |unused| unused.to_string()))
            .arg(self.hints.nodes.len())
            .arg(&self.hints.nodes);
        for node in self.change.iter().flat_map(|change| &change.nodes) {
            let before = node.before.as_ref().map(NodeRecord::to_text);
            invocation
                .arg(node.after.node_id)
                .arg(text(&before))
                .arg(node.after.to_text())
                .arg(node.after.end);
        }
        let ((is_done, time), is_again): ((bool, (u64, u32)), bool) =
            connection.run_noting(|redis| invocation.invoke(redis))?;
        if is_again && !is_done {
            return Err(StoreError::unavailable(
                "the connection broke during a write: whether it was made is not known",
            ));
        }
        Ok(is_done.then(|| duration(time)))
    }
}

fn duration((seconds, micros): (u64, u32)) -> Duration {
    Duration::new(seconds, micros.saturating_mul(1_000))
}

/// A score of a sorted set, which is always a whole number here.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "ticks are below 2^53, and a cast saturates"
)]
fn tick(score: f64) -> u64 {
    score as u64
}
