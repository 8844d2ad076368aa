//! Table of the commands of the Redis protocol: all that is said of a command but how it is executed.

use super::session::{Answered, CommandArgs, RespSession};
use super::{general, ids, transaction};
use crate::access::Weight;

/// What executes a command.
#[derive(Clone, Copy)]
pub(super) enum Action {
    /// A function that answers at once.
    Now(fn(&mut RespSession, CommandArgs<'_>) -> Answered),
    // Those that wait, for ids, memory or the store. By name: a table of futures would allocate one for each id.
    Incr,
    IncrBy,
    Get,
    Mget,
    IdNext,
    NumberNext,
    Commands,
    Info,
    LeaseAcquire,
    LeaseRenew,
    LeaseRelease,
    LeaseList,
}

/// A command of the Redis protocol.
pub(super) struct CommandEntry {
    pub(super) name: &'static str,
    /// Number of words, or the least as a negative number, as `COMMAND` tells it.
    pub(super) arity: i8,
    /// Place of the first key, which is a namespace; 0 if it has none.
    pub(super) key: i8,
    /// What it counts as; `MGET` as so many for each namespace.
    pub(super) weight: Weight,
    /// Whether only a client with a token may send it, where one is needed.
    pub(super) needs_token: bool,
    /// Whether it is kept for `EXEC` after `MULTI`.
    pub(super) is_queued: bool,
    pub(super) action: Action,
}

/// A command about ids or leases.
const fn entry(name: &'static str, arity: i8, key: i8, action: Action) -> CommandEntry {
    CommandEntry {
        name,
        arity,
        key,
        weight: Weight::ONE,
        needs_token: true,
        is_queued: true,
        action,
    }
}

/// A command that is not about a namespace.
const fn general(name: &'static str, arity: i8, action: Action, weight: Weight) -> CommandEntry {
    CommandEntry {
        weight,
        ..entry(name, arity, 0, action)
    }
}

impl CommandEntry {
    /// A small one that answers at once.
    const fn now(
        name: &'static str,
        arity: i8,
        run: fn(&mut RespSession, CommandArgs<'_>) -> Answered,
    ) -> Self {
        general(name, arity, Action::Now(run), Weight::Small)
    }

    const fn without_token(self) -> Self {
        Self {
            needs_token: false,
            ..self
        }
    }

    /// Executed at once, also after `MULTI`.
    const fn never_queued(self) -> Self {
        Self {
            is_queued: false,
            ..self
        }
    }
}

/// The most used come first.
pub(super) const TABLE: [CommandEntry; 25] = [
    entry("incr", 2, 1, Action::Incr),
    entry("get", 2, 1, Action::Get),
    entry("id.next", -2, 1, Action::IdNext),
    entry("mget", -2, 1, Action::Mget),
    CommandEntry::now("ping", -1, general::ping),
    entry("incrby", 3, 1, Action::IncrBy),
    CommandEntry::now("echo", 2, general::echo),
    CommandEntry::now("auth", -2, general::auth).without_token(),
    CommandEntry::now("hello", -1, general::hello).without_token(),
    CommandEntry::now("multi", 1, transaction::multi).never_queued(),
    CommandEntry::now("exec", 1, transaction::exec).never_queued(),
    CommandEntry::now("discard", 1, transaction::discard).never_queued(),
    CommandEntry::now("client", -2, general::client),
    general("command", -1, Action::Commands, Weight::DESCRIPTION),
    CommandEntry::now("config", -2, general::config),
    general("info", -1, Action::Info, Weight::DESCRIPTION),
    CommandEntry::now("select", 2, general::select),
    // Redis, too, executes these two between MULTI and EXEC instead of queueing them.
    CommandEntry::now("quit", -1, general::quit)
        .without_token()
        .never_queued(),
    CommandEntry::now("reset", 1, general::reset)
        .without_token()
        .never_queued(),
    entry("id.inspect", -3, 1, Action::Now(ids::inspect)),
    entry("number.next", -2, 1, Action::NumberNext),
    entry("lease.acquire", -2, 1, Action::LeaseAcquire),
    // No key: the namespace of these two stands in the object, not in a word of its own.
    entry("lease.renew", -2, 0, Action::LeaseRenew),
    entry("lease.release", -2, 0, Action::LeaseRelease),
    entry("lease.list", -2, 1, Action::LeaseList),
];

/// The row of a name in any case. A search from the top: for the commands that are asked for a million times a second it ends
/// at once, and a hash would cost more.
pub(super) fn find(name: &[u8]) -> Option<&'static CommandEntry> {
    let mut entries = TABLE.iter();
    entries.find(|entry| entry.name.as_bytes().eq_ignore_ascii_case(name))
}

impl CommandEntry {
    /// Whether a command may have so many words.
    pub(super) fn allows(&self, words: usize) -> bool {
        let arity = usize::from(self.arity.unsigned_abs());
        if self.arity < 0 {
            words >= arity
        } else {
            words == arity
        }
    }

    /// What it counts as with so many words.
    pub(super) fn weight(&self, words: usize) -> Weight {
        match self.action {
            Action::Mget => Weight::Each(words.saturating_sub(1) as u64),
            _ => self.weight,
        }
    }
}
