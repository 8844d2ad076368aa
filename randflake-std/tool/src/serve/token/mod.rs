//! The command `randflake token`.

mod expiry;
mod file;
mod list;
mod new;
mod revoke;
mod rotate;

use clap::Subcommand;

use crate::failure::Failure;

/// Make tokens for the clients of `randflake serve`, list, replace and revoke them
#[derive(Debug, clap::Args)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    New(new::New),
    List(list::List),
    Rotate(rotate::Rotate),
    Revoke(revoke::Revoke),
}

impl TokenArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match &self.command {
            Command::New(new) => new.run(),
            Command::List(list) => list.run(),
            Command::Rotate(rotate) => rotate.run(),
            Command::Revoke(revoke) => revoke.run(),
        }
    }
}
