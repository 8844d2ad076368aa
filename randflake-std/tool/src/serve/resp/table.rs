//! The commands there are.

use crate::serve::access::Weight;

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
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
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) arity: i8,
    pub(super) key: i8,
    pub(super) command: Command,
    /// What it counts as, unless it counts itself once it knows how much is asked for.
    pub(super) weight: Option<Weight>,
}

/// A command that counts itself.
const fn entry(name: &'static str, arity: i8, key: i8, command: Command) -> Entry {
    Entry {
        name,
        arity,
        key,
        command,
        weight: None,
    }
}

/// A command that is not about a namespace.
const fn general(name: &'static str, arity: i8, command: Command, weight: Weight) -> Entry {
    Entry {
        weight: Some(weight),
        ..entry(name, arity, 0, command)
    }
}

/// The most used come first.
pub(super) const TABLE: [Entry; 24] = [
    entry("incr", 2, 1, Command::Incr),
    entry("get", 2, 1, Command::Get),
    entry("id.next", -2, 1, Command::IdNext),
    entry("mget", -2, 1, Command::Mget),
    general("ping", -1, Command::Ping, Weight::Small),
    entry("incrby", 3, 1, Command::IncrBy),
    general("echo", 2, Command::Echo, Weight::Small),
    general("auth", -2, Command::Auth, Weight::Small),
    general("hello", -1, Command::Hello, Weight::Small),
    general("multi", 1, Command::Multi, Weight::Small),
    general("exec", 1, Command::Exec, Weight::Small),
    general("discard", 1, Command::Discard, Weight::Small),
    general("client", -2, Command::Client, Weight::Small),
    general("command", -1, Command::Commands, Weight::DESCRIPTION),
    general("config", -2, Command::Config, Weight::Small),
    general("info", -1, Command::Info, Weight::DESCRIPTION),
    general("select", 2, Command::Select, Weight::Small),
    general("quit", -1, Command::Quit, Weight::Small),
    general("reset", 1, Command::Reset, Weight::Small),
    entry("id.inspect", -3, 1, Command::IdInspect),
    entry("lease.acquire", -2, 1, Command::LeaseAcquire),
    entry("lease.renew", -2, 0, Command::LeaseRenew),
    entry("lease.release", -2, 0, Command::LeaseRelease),
    entry("lease.list", -2, 1, Command::LeaseList),
];

pub(super) fn find(name: &[u8]) -> Option<&'static Entry> {
    let mut entries = TABLE.iter();
    entries.find(|entry| entry.name.as_bytes().eq_ignore_ascii_case(name))
}

impl Entry {
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
