//! `MULTI`, `EXEC` and `DISCARD`: commands that are kept, and executed one after the other without others between.
//!
//! Clients send them around pipelines. Nothing is undone if one fails, as in Redis: its error is among the replies.

use core::time::Duration;

use tokio::time::Instant;

use super::session::{Answered, CommandArgs, RespSession, RespTransaction};
use crate::refusal::{Refusal, RefusalKind};

/// What a transaction may take, in bytes: four of the longest commands. Redis has no limit but the client's buffer.
const MOST: usize = 4 << 20;
/// How long a command waits for memory to be kept in.
const PATIENCE: Duration = Duration::from_secs(5);

impl RespSession {
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
            let memory = transaction.memory.take().or_else(|| account.long_permit());
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
            *transaction = RespTransaction::spoilt();
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
