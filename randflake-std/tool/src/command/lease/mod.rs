//! The command `randflake lease`: a file for each subcommand.
//!
//! Shared by them: `document` the leases that a program keeps, `confirm` a question, `image`
//! the memory of a device, `factory` what is written there, `ledger` which device has which node id, `dump`
//! what a file says of a memory, `region` the pages of a horizon there.

mod acquire;
mod check;
mod confirm;
mod device;
mod document;
mod drop;
mod dump;
mod factory;
mod image;
mod init;
mod ledger;
mod line;
mod list;
mod namespaces;
mod next_key;
mod provision;
mod quarantine;
mod region;
mod release;
mod renew;
mod status;
mod ticket;
mod upgrade;

use clap::Subcommand;

use crate::failure::Failure;
#[cfg(feature = "serve")]
pub(crate) use ticket::TicketKeyArgs;

/// Take leases of node ids, show them, end them by hand, or give one to a device
#[derive(Debug, clap::Args)]
pub(crate) struct LeaseCommandArgs {
    #[command(subcommand)]
    command: LeaseCommand,
}

#[derive(Debug, Subcommand)]
enum LeaseCommand {
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
    NextKey(next_key::LeaseNextKeyArgs),
    Ticket(ticket::LeaseTicketArgs),
    Device(device::LeaseDeviceArgs),
    Provision(provision::LeaseProvisionArgs),
    Line(line::LeaseLineArgs),
    Check(check::LeaseCheckArgs),
}

impl LeaseCommandArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match &self.command {
            LeaseCommand::Acquire(args) => args.run(),
            LeaseCommand::Renew(args) => args.run(),
            LeaseCommand::Namespaces(args) => args.run(),
            LeaseCommand::Drop(args) => args.run(),
            LeaseCommand::List(args) => args.run(),
            LeaseCommand::Status(args) => args.run(),
            LeaseCommand::Release(args) => args.run(),
            LeaseCommand::Quarantine(args) => args.run(),
            LeaseCommand::Init(args) => args.run(),
            LeaseCommand::Upgrade(args) => args.run(),
            LeaseCommand::NextKey(args) => args.run(),
            LeaseCommand::Ticket(args) => args.run(),
            LeaseCommand::Device(args) => args.run(),
            LeaseCommand::Provision(args) => args.run(),
            LeaseCommand::Line(args) => args.run(),
            LeaseCommand::Check(args) => args.run(),
        }
    }
}
