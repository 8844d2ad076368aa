//! Commands of the Redis protocol: their table, what is checked before one is executed, and
//! `COMMAND`, which shows them.

use std::time::Instant;

use super::reply::Replies;
use super::session::{Answered, Answering, CommandArgs, RespSession, later};
use super::{general, ids, leases, session};
use crate::access::Weight;
use crate::counters::AnswerStatus;
use crate::log::{self, LogEntry};
use crate::refusal::{Refusal, RefusalKind};

/// Function that executes a command, and is given the session of its client.
#[derive(Clone, Copy)]
enum Run {
    /// It answers at once.
    Now(fn(&mut RespSession, CommandArgs<'_>) -> Answered),
    /// It may wait.
    Wait(for<'a> fn(&'a mut RespSession, CommandArgs<'a>) -> Answering<'a>),
}

/// A command of the Redis protocol.
struct CommandEntry {
    name: &'static str,
    /// Number of words, or the least as a negative number, as `COMMAND` tells it.
    arity: i8,
    /// Place of the first key, which is a namespace; 0 if it has none.
    key: i8,
    /// What it counts as.
    weight: Weight,
    /// Whether only a client with a token may send it, where one is needed.
    needs_token: bool,
    /// Whether it is kept for `EXEC` after `MULTI`.
    is_queued: bool,
    /// Whether each word from the key on is a namespace.
    is_of_many: bool,
    run: Run,
}

/// A command about ids or leases.
const fn entry(name: &'static str, arity: i8, key: i8, run: Run) -> CommandEntry {
    CommandEntry {
        name,
        arity,
        key,
        weight: Weight::ONE,
        needs_token: true,
        is_queued: true,
        is_of_many: false,
        run,
    }
}

/// A command that is not about a namespace.
const fn general(name: &'static str, arity: i8, run: Run, weight: Weight) -> CommandEntry {
    CommandEntry {
        weight,
        ..entry(name, arity, 0, run)
    }
}

impl CommandEntry {
    /// A small one that answers at once.
    const fn now(
        name: &'static str,
        arity: i8,
        run: fn(&mut RespSession, CommandArgs<'_>) -> Answered,
    ) -> Self {
        general(name, arity, Run::Now(run), Weight::Small)
    }

    const fn without_token(self) -> Self {
        Self {
            needs_token: false,
            ..self
        }
    }

    /// Counted for each namespace that it names.
    const fn of_many(self) -> Self {
        Self {
            is_of_many: true,
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
static TABLE: [CommandEntry; 25] = [
    entry("incr", 2, 1, Run::Wait(ids::incr)),
    entry("get", 2, 1, Run::Wait(ids::get)),
    entry("id.next", -2, 1, Run::Wait(ids::next)),
    entry(
        "mget",
        -2,
        1,
        Run::Wait(|session, words| later(ids::mget(session, words))),
    )
    .of_many(),
    CommandEntry::now("ping", -1, general::ping),
    entry("incrby", 3, 1, Run::Wait(ids::incr_by)),
    CommandEntry::now("echo", 2, general::echo),
    CommandEntry::now("auth", -2, general::auth).without_token(),
    CommandEntry::now("hello", -1, general::hello).without_token(),
    CommandEntry::now("multi", 1, session::multi).never_queued(),
    CommandEntry::now("exec", 1, session::exec).never_queued(),
    CommandEntry::now("discard", 1, session::discard).never_queued(),
    CommandEntry::now("client", -2, general::client),
    general(
        "command",
        -1,
        Run::Wait(|session, words| later(commands(session, words))),
        Weight::DESCRIPTION,
    ),
    CommandEntry::now("config", -2, general::config),
    general(
        "info",
        -1,
        Run::Wait(|session, _| later(general::info(session))),
        Weight::DESCRIPTION,
    ),
    CommandEntry::now("select", 2, general::select),
    // Redis, too, executes these two between MULTI and EXEC instead of queueing them.
    CommandEntry::now("quit", -1, general::quit)
        .without_token()
        .never_queued(),
    CommandEntry::now("reset", 1, general::reset)
        .without_token()
        .never_queued(),
    entry("id.inspect", -3, 1, Run::Now(ids::inspect)),
    entry(
        "number.next",
        -2,
        1,
        Run::Wait(|session, words| later(ids::next_number(session, words))),
    ),
    entry(
        "lease.acquire",
        -2,
        1,
        Run::Wait(|session, words| later(leases::acquire(session, words))),
    ),
    // No key: the namespace of these two stands in the object, not in a word of its own.
    entry(
        "lease.renew",
        -2,
        0,
        Run::Wait(|session, words| later(leases::renew(session, words))),
    ),
    entry(
        "lease.release",
        -2,
        0,
        Run::Wait(|session, words| later(leases::release(session, words))),
    ),
    entry(
        "lease.list",
        -2,
        1,
        Run::Wait(|session, words| later(leases::list(session, words))),
    ),
];

/// The row of a name in any case. A search from the top: for the commands that are asked for a
/// million times a second it ends at once, and a hash would cost more.
fn find(name: &[u8]) -> Option<&'static CommandEntry> {
    let mut entries = TABLE.iter();
    entries.find(|entry| entry.name.as_bytes().eq_ignore_ascii_case(name))
}

impl CommandEntry {
    /// Whether a command may have so many words.
    fn allows(&self, words: usize) -> bool {
        let arity = usize::from(self.arity.unsigned_abs());
        if self.arity < 0 {
            words >= arity
        } else {
            words == arity
        }
    }

    /// What it counts as with so many words.
    fn weight(&self, words: usize) -> Weight {
        if self.is_of_many {
            Weight::Each(words.saturating_sub(1) as u64)
        } else {
            self.weight
        }
    }
}

/// Whether it begins with the name of a command.
pub(super) fn is_known(words: CommandArgs<'_>) -> bool {
    find(words.get(0).unwrap_or_default()).is_some()
}

impl RespSession {
    /// Executes a command and writes its reply.
    pub(super) async fn answer(&mut self, words: CommandArgs<'_>) {
        self.look_up_token();
        let begun = self.service.log.begin();
        let refused = self.execute(words).await.err();
        let kind = refused.as_ref().map(|refusal| refusal.kind);
        let status = kind.map_or(AnswerStatus::Ok, AnswerStatus::of_refusal);
        self.count_answer(status);
        if let Some(refusal) = refused {
            self.service.counters.refused(refusal.kind);
            self.out.refusal(&refusal);
        }
        if begun.is_some() {
            self.note(begun, words, kind);
        }
    }

    fn note(&self, begun: Option<Instant>, words: CommandArgs<'_>, refused: Option<RefusalKind>) {
        let entry = find(words.get(0).unwrap_or_default());
        let of_namespace = entry.filter(|entry| entry.key > 0);
        let name = of_namespace.and_then(|_| words.text(1).ok());
        self.service.log.end(
            begun,
            &LogEntry {
                protocol: "resp",
                peer: self.account.peer(),
                token: self.principal.as_ref().map(|principal| principal.name()),
                request: entry.map_or("?", |entry| entry.name),
                // Any other word may be a token in the wrong place.
                namespace: name.filter(|name| self.service.serves(name)),
                answer: log::answer(refused),
            },
        );
    }

    async fn execute(&mut self, words: CommandArgs<'_>) -> Answered {
        // Redis, too, refuses to execute a transaction of which a command could not be queued.
        let checked = self.check(words);
        let entry = checked.inspect_err(|_| self.spoil())?;
        if self.keeps(entry) {
            let queued = self.enqueue(words).await;
            return queued.inspect_err(|_| self.spoil());
        }
        match entry.run {
            Run::Now(run) => run(self, words),
            Run::Wait(run) => match run(self, words) {
                Answering::Now(answered) => answered,
                Answering::Later(answered) => answered.await,
            },
        }
    }

    /// Whether a command is kept for `EXEC` now.
    fn keeps(&self, entry: &CommandEntry) -> bool {
        entry.is_queued && self.transaction.is_some()
    }

    /// The command, if it is one that the client may send, and its count against the quotas.
    fn check(&mut self, words: CommandArgs<'_>) -> Result<&'static CommandEntry, Refusal> {
        // Counted before anything is answered, also what is wrong: errors cost the server as much
        // as replies.
        let found = find(words.get(0).unwrap_or_default());
        let right = found.filter(|entry| entry.allows(words.len()));
        let weight = match right {
            // What is only kept is counted as what it is when it is executed. Not at all would make
            // MULTI a way to have commands read and kept for nothing.
            Some(entry) if !self.keeps(entry) => entry.weight(words.len()),
            _ => Weight::Small,
        };
        match &self.principal {
            Some(principal) => principal.take_request(weight)?,
            None => self.count_greeting()?,
        }
        let entry = found.ok_or_else(|| unknown(words))?;
        if !entry.allows(words.len()) {
            let name = entry.name;
            let message = format!("wrong number of arguments for '{name}' command");
            return Err(Refusal::invalid(message));
        }
        if entry.needs_token {
            self.check_token()?;
        }
        Ok(entry)
    }

    /// Ends a connection on which tokens are tried without end.
    fn count_greeting(&mut self) -> Result<(), Refusal> {
        /// More than any client's library sends. A token cannot be guessed, but each guess costs a
        /// hash.
        const MOST: u32 = 100;
        self.greetings += 1;
        if self.greetings <= MOST {
            return Ok(());
        }
        self.is_over = true;
        let message = format!("{MOST} commands came without a token: AUTH is the first");
        Err(Refusal::new(RefusalKind::Unauthenticated, message))
    }
}

/// The refusal of an unknown command, as Redis words it.
fn unknown(words: CommandArgs<'_>) -> Refusal {
    /// Of each word, and of how many words, in bytes: a refusal must not be as long as what it
    /// refuses.
    const SHOWN: usize = 64;
    const WORDS: usize = 8;
    let shown = |word: &[u8]| String::from_utf8_lossy(&word[..word.len().min(SHOWN)]).into_owned();
    let name = shown(words.get(0).unwrap_or_default());
    let arguments: Vec<_> = words
        .from(1)
        .take(WORDS)
        .map(|word| format!("'{}' ", shown(word)))
        .collect();
    Refusal::invalid(format!(
        "unknown command '{name}', with args beginning with: {}",
        arguments.concat()
    ))
}

/// Memory of a command's description, in bytes.
const DESCRIPTION: usize = 128;

/// `COMMAND [COUNT | DOCS ... | INFO name ...]`
async fn commands(session: &mut RespSession, words: CommandArgs<'_>) -> Answered {
    session.hold(DESCRIPTION * words.len()).await?;
    let out = &mut session.out;
    let subcommand = words.get(1).unwrap_or_default().to_ascii_uppercase();
    match &*subcommand {
        b"COUNT" => out.number(TABLE.len()),
        b"DOCS" => out.map(0),
        b"INFO" if words.len() > 2 => {
            out.array(words.len() - 2);
            for name in words.from(2) {
                match find(name) {
                    Some(entry) => describe(entry, out),
                    None => out.null(),
                }
            }
        }
        b"" | b"INFO" => {
            out.array(TABLE.len());
            for entry in &TABLE {
                describe(entry, out);
            }
        }
        _ => {
            return Err(Refusal::invalid(
                "unknown subcommand: COMMAND COUNT, DOCS and INFO are allowed",
            ));
        }
    }
    Ok(())
}

fn describe(entry: &CommandEntry, out: &mut Replies) {
    out.array(6);
    out.bulk(entry.name.as_bytes());
    out.number(entry.arity);
    out.array(1);
    out.simple(if entry.key == 0 { "fast" } else { "write" });
    // A namespace is a key, to clients that ask where the keys are.
    let last = if entry.is_of_many { -1 } else { entry.key };
    out.number(entry.key);
    out.number(last);
    out.number(i8::from(entry.key != 0));
}
