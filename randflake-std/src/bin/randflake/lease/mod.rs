//! `randflake lease`

mod init;
mod list;
mod quarantine;
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
    Quarantine(quarantine::Args),
    Init(init::Args),
    Ticket(ticket::Args),
}

impl Args {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match &self.command {
            Command::List(args) => args.run(),
            Command::Status(args) => args.run(),
            Command::Release(args) => args.run(),
            Command::Quarantine(args) => args.run(),
            Command::Init(args) => args.run(),
            Command::Ticket(args) => args.run(),
        }
    }
}
