//! `MULTI`, `EXEC` and `DISCARD`: commands that are kept, and executed one after the other without others between.
//!
//! Clients send them around pipelines. Nothing is undone if one fails, as in Redis: its error is among the replies.

use core::ops::Range;
use core::time::Duration;

use tokio::time::Instant;

use super::session::{Answered, CommandArgs, RespSession};
use super::table::CommandEntry;
use crate::memory::Share;
use crate::service::refusal::{Refusal, RefusalKind};

/// What a transaction may take, in bytes: four of the longest commands. Redis has no limit but the client's buffer.
const MOST: usize = 4 << 20;
/// How long a command waits for memory to be kept in.
const PATIENCE: Duration = Duration::from_secs(5);

/// Commands that wait for `EXEC`, in the order in which they came.
#[derive(Default)]
pub(super) struct RespTransaction {
    input: Vec<u8>,
    /// Places in `input` of the words of all commands.
    places: Vec<Range<usize>>,
    /// Where the words of each command end.
    ends: Vec<usize>,
    /// A command was refused when it was to be kept: none is executed.
    is_spoilt: bool,
    memory: Option<Share>,
}

impl RespTransaction {
    /// Bytes that it takes with another command.
    fn len_with(&self, words: CommandArgs<'_>) -> usize {
        let input = self.input.len() + words.from(0).map(<[u8]>::len).sum::<usize>();
        let places = (self.places.len() + words.len()) * size_of::<Range<usize>>();
        input + places + (self.ends.len() + 1) * size_of::<usize>()
    }

    fn push(&mut self, words: CommandArgs<'_>) {
        for word in words.from(0) {
            let begin = self.input.len();
            self.input.extend_from_slice(word);
            self.places.push(begin..self.input.len());
        }
        self.ends.push(self.places.len());
    }

    pub(super) fn commands(&self) -> impl Iterator<Item = CommandArgs<'_>> {
        let begins = core::iter::once(0).chain(self.ends.iter().copied());
        let bounds = begins.zip(&self.ends);
        bounds.map(|(begin, &end)| CommandArgs::new(&self.input, &self.places[begin..end]))
    }
}

impl RespSession {
    /// Whether a command is kept for `EXEC` now.
    pub(super) fn keeps(&self, entry: &CommandEntry) -> bool {
        entry.is_queued && self.transaction.is_some()
    }

    /// Keeps a command for `EXEC`.
    pub(super) async fn enqueue(&mut self, words: CommandArgs<'_>) -> Answered {
        let account = &self.account;
        let transaction = self.transaction.get_or_insert_default();
        if !transaction.is_spoilt {
            let len = transaction.len_with(words);
            if len > MOST {
                return Err(Refusal::invalid(format!(
                    "the transaction is too long: {MOST} bytes of commands are allowed, send EXEC before"
                )));
            }
            let memory = transaction.memory.take().or_else(|| account.share());
            if let Some(mut memory) = memory {
                // Vectors grow to twice what they hold.
                memory.grow(2 * len, Instant::now() + PATIENCE).await?;
                transaction.memory = Some(memory);
            }
            transaction.push(words);
        }
        // Also for one that was spoilt: the client reads a reply for each command, and EXEC
        // refuses.
        self.out.simple("QUEUED");
        Ok(())
    }

    /// A command was refused: if there is a transaction, it will not be executed. So nothing of it is kept: without this, a
    /// client that is refused memory would keep what it has without paying for it.
    pub(super) fn spoil(&mut self) {
        if let Some(transaction) = &mut self.transaction {
            *transaction = RespTransaction {
                is_spoilt: true,
                ..RespTransaction::default()
            };
        }
    }
}

/// `MULTI`: keeps the commands that follow, until `EXEC`.
pub(super) fn multi(session: &mut RespSession, _: CommandArgs<'_>) -> Answered {
    if session.transaction.is_some() {
        return Err(Refusal::invalid("MULTI calls can not be nested"));
    }
    session.transaction = Some(RespTransaction::default());
    session.out.simple("OK");
    Ok(())
}

/// `DISCARD`: forgets the commands that were kept.
pub(super) fn discard(session: &mut RespSession, _: CommandArgs<'_>) -> Answered {
    end(session, "DISCARD")?;
    session.out.simple("OK");
    Ok(())
}

/// `EXEC`: begins the reply, and leaves the commands in `session.executing`.
pub(super) fn exec(session: &mut RespSession, _: CommandArgs<'_>) -> Answered {
    let transaction = end(session, "EXEC")?;
    if transaction.is_spoilt {
        session.service.counters.refused(RefusalKind::Invalid);
        let message = "Transaction discarded because of previous errors.";
        session.out.error("EXECABORT", message);
        return Ok(());
    }
    session.out.array(transaction.ends.len());
    session.executing = Some(transaction);
    Ok(())
}

fn end(session: &mut RespSession, name: &str) -> Result<RespTransaction, Refusal> {
    let transaction = session.transaction.take();
    transaction.ok_or_else(|| Refusal::invalid(format!("{name} without MULTI")))
}
