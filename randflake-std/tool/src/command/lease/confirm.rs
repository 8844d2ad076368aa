//! Confirmation of what cannot be undone.

use std::io::{self, BufRead, IsTerminal, Write};

use crate::failure::Failure;

/// Asks somebody at a terminal to type a name; another answer fails with what was not done.
pub(super) fn confirm(question: &str, name: &str, not_done: &str) -> Result<(), Failure> {
    let stdin = io::stdin();
    // A script that pipes the name in would have confirmed it without a person: `--yes` says so in
    // plain.
    if !stdin.is_terminal() {
        return Err(Failure::usage(
            "standard input is no terminal, so nobody can be asked: add --yes",
        ));
    }
    let mut stderr = io::stderr();
    // If the question cannot be written, nobody types the name, and that is refused below.
    _ = write!(stderr, "{question}").and_then(|()| stderr.flush());
    let mut answer = String::new();
    let read = stdin.lock().read_line(&mut answer);
    read.map_err(|error| Failure::failed(format!("standard input: {error}")))?;
    // The name and not `y`: whoever asked for the wrong namespace notices while typing.
    if answer.trim() != name {
        return Err(Failure::failed(not_done));
    }
    Ok(())
}
