//! `randflake lease`

mod fence;
mod list;
mod release;
mod snapshot;
mod status;
mod ticket;

use clap::Subcommand;

use crate::failure::Failure;
pub(crate) use snapshot::Snapshot;

/// Show the leases of node ids, end one by hand, or give one to a device
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(list::Args),
    Status(status::Args),
    Release(release::Args),
    Fence(fence::Args),
    Ticket(ticket::Args),
}

impl Args {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match &self.command {
            Command::List(args) => args.run(),
            Command::Status(args) => args.run(),
            Command::Release(args) => args.run(),
            Command::Fence(args) => args.run(),
            Command::Ticket(args) => args.run(),
        }
    }
}
