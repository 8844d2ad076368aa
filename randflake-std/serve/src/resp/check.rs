//! What is said of a command before it is executed: whether there is one, and whether the client may send it now.

use super::session::{CommandArgs, RespSession};
use super::table::{self, CommandEntry};
use crate::access::Weight;
use crate::service::refusal::{Refusal, RefusalKind};

impl RespSession {
    /// The command, if it is one that the client may send, and its count against the quotas.
    pub(super) fn check(
        &mut self,
        words: CommandArgs<'_>,
    ) -> Result<&'static CommandEntry, Refusal> {
        // Counted before anything is answered, also what is wrong: errors cost the server as much as replies.
        let entry = table::find(words.get(0).unwrap_or_default());
        let right = entry.filter(|entry| entry.allows(words.len()));
        let weight = match right {
            // What is only kept is counted as what it is when it is executed. Not at all would make MULTI a way to have
            // commands read and kept for nothing.
            Some(entry) if !self.keeps(entry) => entry.weight(words.len()),
            _ => Weight::Small,
        };
        match &self.principal {
            Some(principal) => principal.take_request(weight)?,
            None => self.count_greeting()?,
        }
        let entry = entry.ok_or_else(|| unknown(words))?;
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
        /// More than any client's library sends. A token cannot be guessed, but each guess costs a hash.
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
    /// Of each word, and of how many words, in bytes: a refusal must not be as long as what it refuses.
    const SHOWN: usize = 64;
    const WORDS: usize = 8;
    let shown = |word: &[u8]| String::from_utf8_lossy(&word[..word.len().min(SHOWN)]).into_owned();
    let name = shown(words.get(0).unwrap_or_default());
    let arguments = words.from(1).take(WORDS);
    let arguments: Vec<_> = arguments
        .map(|word| format!("'{}' ", shown(word)))
        .collect();
    Refusal::invalid(format!(
        "unknown command '{name}', with args beginning with: {}",
        arguments.concat()
    ))
}
