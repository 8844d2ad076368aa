//! The command `randflake uuid`.

mod generate;
mod inspect;
mod keys;

use clap::Subcommand;

use crate::failure::Failure;
pub(crate) use keys::{KeysArgs, secret};

/// Make and check tagged UUIDs: ids with a tag that only a holder of the key can make
///
/// They are UUIDs of version 8 for columns of type uuid. Their keys are numbered files in a directory, and a namespace goes on from
/// one key to the next by `randflake lease next-key`.
#[derive(Debug, clap::Args)]
pub(crate) struct UuidArgs {
    #[command(subcommand)]
    command: UuidCommand,
}

#[derive(Debug, Subcommand)]
enum UuidCommand {
    Generate(generate::UuidGenerateArgs),
    Inspect(inspect::UuidInspectArgs),
}

impl UuidArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match &self.command {
            UuidCommand::Generate(args) => args.run(),
            UuidCommand::Inspect(args) => args.run(),
        }
    }
}
