//! The command `randflake lease`, and its subcommands by topic.
//!
//! `factory` writes the memory of a device, and `check` reads it.

mod administration;
mod check;
mod devices;
mod factory;
mod grants;
mod line;
mod listing;
mod provision;

use clap::Subcommand;

use crate::failure::Failure;

#[cfg(feature = "serve")]
pub(crate) use devices::TicketKeyArgs;

/// Take leases of node ids, show them, end them by hand, or give one to a device
#[derive(Debug, clap::Args)]
pub(crate) struct LeaseCommandArgs {
    #[command(subcommand)]
    command: LeaseCommand,
}

#[derive(Debug, Subcommand)]
enum LeaseCommand {
    Acquire(grants::LeaseAcquireArgs),
    Renew(grants::LeaseRenewArgs),
    Release(grants::LeaseReleaseArgs),
    List(listing::LeaseListArgs),
    Status(listing::LeaseStatusArgs),
    Namespaces(listing::LeaseNamespacesArgs),
    Drop(administration::LeaseDropArgs),
    Quarantine(administration::LeaseQuarantineArgs),
    Init(administration::LeaseInitArgs),
    Upgrade(administration::LeaseUpgradeArgs),
    NextKey(administration::LeaseNextKeyArgs),
    Ticket(devices::LeaseTicketArgs),
    Device(devices::LeaseDeviceArgs),
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
