//! Table of the commands of the Redis protocol.

use crate::serve::access::Weight;

/// A command of the Redis protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RespCommand {
    Ping,
    Echo,
    Auth,
    Hello,
    Client,
    Commands,
    Config,
    Info,
    Select,
    Quit,
    Reset,
    Multi,
    Exec,
    Discard,
    Incr,
    IncrBy,
    Get,
    Mget,
    IdNext,
    IdInspect,
    LeaseAcquire,
    LeaseRenew,
    LeaseRelease,
    LeaseList,
}

/// What `COMMAND` tells of it, as in Redis: the number of words, or the least as a negative number; and the place of the
/// first key.
pub(super) struct CommandEntry {
    pub(super) name: &'static str,
    pub(super) arity: i8,
    pub(super) key: i8,
    pub(super) command: RespCommand,
    /// What it counts as, unless it counts itself once it knows how much is asked for.
    pub(super) weight: Option<Weight>,
}

/// A command that counts itself.
const fn entry(name: &'static str, arity: i8, key: i8, command: RespCommand) -> CommandEntry {
    CommandEntry {
        name,
        arity,
        key,
        command,
        weight: None,
    }
}

/// A command that is not about a namespace.
const fn general(
    name: &'static str,
    arity: i8,
    command: RespCommand,
    weight: Weight,
) -> CommandEntry {
    CommandEntry {
        weight: Some(weight),
        ..entry(name, arity, 0, command)
    }
}

/// The most used come first.
pub(super) const TABLE: [CommandEntry; 24] = [
    entry("incr", 2, 1, RespCommand::Incr),
    entry("get", 2, 1, RespCommand::Get),
    entry("id.next", -2, 1, RespCommand::IdNext),
    entry("mget", -2, 1, RespCommand::Mget),
    general("ping", -1, RespCommand::Ping, Weight::Small),
    entry("incrby", 3, 1, RespCommand::IncrBy),
    general("echo", 2, RespCommand::Echo, Weight::Small),
    general("auth", -2, RespCommand::Auth, Weight::Small),
    general("hello", -1, RespCommand::Hello, Weight::Small),
    general("multi", 1, RespCommand::Multi, Weight::Small),
    general("exec", 1, RespCommand::Exec, Weight::Small),
    general("discard", 1, RespCommand::Discard, Weight::Small),
    general("client", -2, RespCommand::Client, Weight::Small),
    general("command", -1, RespCommand::Commands, Weight::DESCRIPTION),
    general("config", -2, RespCommand::Config, Weight::Small),
    general("info", -1, RespCommand::Info, Weight::DESCRIPTION),
    general("select", 2, RespCommand::Select, Weight::Small),
    general("quit", -1, RespCommand::Quit, Weight::Small),
    general("reset", 1, RespCommand::Reset, Weight::Small),
    entry("id.inspect", -3, 1, RespCommand::IdInspect),
    entry("lease.acquire", -2, 1, RespCommand::LeaseAcquire),
    entry("lease.renew", -2, 0, RespCommand::LeaseRenew),
    entry("lease.release", -2, 0, RespCommand::LeaseRelease),
    entry("lease.list", -2, 1, RespCommand::LeaseList),
];

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
}
