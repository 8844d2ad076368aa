//! The commands there are.

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
}

const fn entry(name: &'static str, arity: i8, key: i8, command: Command) -> Entry {
    Entry {
        name,
        arity,
        key,
        command,
    }
}

/// The most used come first.
pub(super) const TABLE: [Entry; 21] = [
    entry("incr", 2, 1, Command::Incr),
    entry("get", 2, 1, Command::Get),
    entry("id.next", -2, 1, Command::IdNext),
    entry("mget", -2, 1, Command::Mget),
    entry("ping", -1, 0, Command::Ping),
    entry("incrby", 3, 1, Command::IncrBy),
    entry("echo", 2, 0, Command::Echo),
    entry("auth", -2, 0, Command::Auth),
    entry("hello", -1, 0, Command::Hello),
    entry("client", -2, 0, Command::Client),
    entry("command", -1, 0, Command::Commands),
    entry("config", -2, 0, Command::Config),
    entry("info", -1, 0, Command::Info),
    entry("select", 2, 0, Command::Select),
    entry("quit", -1, 0, Command::Quit),
    entry("reset", 1, 0, Command::Reset),
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
