//! The command `randflake lease`.

mod acquire;
mod confirm;
mod device;
mod document;
mod drop;
mod image;
mod init;
mod list;
mod namespaces;
mod provision;
mod quarantine;
mod release;
mod renew;
mod snapshot;
mod status;
mod ticket;
mod upgrade;

use clap::Subcommand;

use crate::failure::Failure;
#[cfg(feature = "serve")]
pub(crate) use document::LeaseDocument;
#[cfg(feature = "serve")]
pub(crate) use list::LeaseRow;
pub(crate) use snapshot::Snapshot;
#[cfg(feature = "serve")]
pub(crate) use ticket::{TicketKeyArgs, device_id};

/// Take leases of node ids, show them, end them by hand, or give one to a device
#[derive(Debug, clap::Args)]
pub(crate) struct LeaseCommandArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Acquire(acquire::LeaseAcquireArgs),
    Renew(renew::LeaseRenewArgs),
    Release(release::LeaseReleaseArgs),
    List(list::LeaseListArgs),
    Status(status::LeaseStatusArgs),
    Namespaces(namespaces::LeaseNamespacesArgs),
    Drop(drop::LeaseDropArgs),
    Quarantine(quarantine::LeaseQuarantineArgs),
    Init(init::LeaseInitArgs),
    Upgrade(upgrade::LeaseUpgradeArgs),
    Ticket(ticket::LeaseTicketArgs),
    Device(device::LeaseDeviceArgs),
    Provision(provision::LeaseProvisionArgs),
}

impl LeaseCommandArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match &self.command {
            Command::Acquire(args) => args.run(),
            Command::Renew(args) => args.run(),
            Command::Namespaces(args) => args.run(),
            Command::Drop(args) => args.run(),
            Command::List(args) => args.run(),
            Command::Status(args) => args.run(),
            Command::Release(args) => args.run(),
            Command::Quarantine(args) => args.run(),
            Command::Init(args) => args.run(),
            Command::Upgrade(args) => args.run(),
            Command::Ticket(args) => args.run(),
            Command::Device(args) => args.run(),
            Command::Provision(args) => args.run(),
        }
    }
}
