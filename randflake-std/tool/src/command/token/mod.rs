//! The command `randflake token`.

mod expiry;
mod handed;
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
    command: TokenCommand,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
    New(new::New),
    List(list::List),
    Rotate(rotate::Rotate),
    Revoke(revoke::Revoke),
}

impl TokenArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match &self.command {
            TokenCommand::New(new) => new.run(),
            TokenCommand::List(list) => list.run(),
            TokenCommand::Rotate(rotate) => rotate.run(),
            TokenCommand::Revoke(revoke) => revoke.run(),
        }
    }
}
