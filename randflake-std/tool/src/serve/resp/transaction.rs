//! `MULTI`, `EXEC` and `DISCARD`: commands that are kept, and executed one after the other without others between.
//!
//! Clients send them around pipelines. Nothing is undone if one fails, as in Redis: its error is among the replies.

use core::ops::Range;
use core::time::Duration;

use tokio::time::Instant;

use super::reply::Replies;
use super::session::{CommandArgs, RespSession};
use super::table::RespCommand;
use crate::serve::access::Weight;
use crate::serve::memory::Share;
use crate::serve::service::refusal::{Refusal, RefusalKind};

/// What a transaction may take.
const MOST: usize = 4 << 20;
/// How long a command waits for memory to be kept in.
const PATIENCE: Duration = Duration::from_secs(5);

/// Commands that wait for `EXEC`.
#[derive(Default)]
pub(super) struct RespTransaction {
    queue: Queue,
    /// A command was refused when it was to be kept: none is executed.
    is_spoilt: bool,
    memory: Option<Share>,
}

/// Commands, in the order in which they came.
#[derive(Default)]
pub(super) struct Queue {
    input: Vec<u8>,
    /// Of the words of all commands.
    places: Vec<Range<usize>>,
    /// Where the words of each command end.
    ends: Vec<usize>,
}

impl Queue {
    /// What it takes with another command.
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
    /// Whether that is kept now, and executed later.
    pub(super) fn is_queued(&self, command: RespCommand) -> bool {
        let is_own = matches!(
            command,
            RespCommand::Multi
                | RespCommand::Exec
                | RespCommand::Discard
                | RespCommand::Quit
                | RespCommand::Reset
        );
        self.transaction.is_some() && !is_own
    }

    /// Keeps a command for `EXEC`.
    pub(super) async fn enqueue(
        &mut self,
        words: CommandArgs<'_>,
        out: &mut Replies,
    ) -> Result<(), Refusal> {
        self.principal()?.take_request(Weight::Small)?;
        let account = &self.account;
        let transaction = self.transaction.get_or_insert_default();
        let len = transaction.queue.len_with(words);
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
        transaction.queue.push(words);
        out.simple("QUEUED");
        Ok(())
    }

    /// A command was refused: if there is a transaction, it will not be executed.
    pub(super) fn spoil(&mut self) {
        if let Some(transaction) = &mut self.transaction {
            transaction.is_spoilt = true;
        }
    }
}

/// Begins and ends transactions. After `EXEC` the commands are in `session.executing`, and the reply has begun.
pub(super) fn answer(
    session: &mut RespSession,
    command: RespCommand,
    out: &mut Replies,
) -> Result<(), Refusal> {
    let without = |name| Refusal::invalid(format!("{name} without MULTI"));
    match command {
        RespCommand::Multi if session.transaction.is_some() => {
            return Err(Refusal::invalid("MULTI calls can not be nested"));
        }
        RespCommand::Multi => {
            session.transaction = Some(RespTransaction::default());
            out.simple("OK");
        }
        RespCommand::Discard => {
            let transaction = session.transaction.take();
            drop(transaction.ok_or_else(|| without("DISCARD"))?);
            out.simple("OK");
        }
        _ => {
            let transaction = session.transaction.take();
            let transaction = transaction.ok_or_else(|| without("EXEC"))?;
            if transaction.is_spoilt {
                session.service.counters.refused(RefusalKind::Invalid);
                let told = "Transaction discarded because of previous errors.";
                out.error("EXECABORT", told);
                return Ok(());
            }
            out.array(transaction.queue.ends.len());
            session.executing = Some(transaction);
        }
    }
    Ok(())
}

impl RespTransaction {
    pub(super) fn commands(&self) -> impl Iterator<Item = CommandArgs<'_>> {
        self.queue.commands()
    }
}
