//! The command `randflake segment`.

mod init;
mod issue;
mod resume;
mod status;
mod terms;

use clap::Subcommand;

use crate::failure::Failure;

/// Issue sequential numbers: 1, 2, 3 and so on
///
/// The numbers are unique within a namespace, over restarts and all processes at once, and no clock is
/// needed. The store counts them; a run that is killed leaves a gap of at most 65536. A new counter is begun
/// once, with init: one that is not there may have been lost.
///
/// A counter may begin anew each day (init --daily), or count in steps (init --from 2 --step 5). It then does so for every
/// client; one that says something else is refused.
///
/// Unlike ids they tell how many there are and in which order they were made, unless --encrypt.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  randflake segment init                       once, for a new counter
  randflake segment -n 3
  randflake segment init --namespace invoices
  randflake segment --namespace invoices
  randflake segment init --namespace orders --daily
  randflake segment --namespace orders         20261128-000001
  randflake segment init --namespace eu --from 2 --step 5
  randflake segment --encrypt -n 1000 > ids.txt
  randflake segment init --store redis://ids.example
  randflake segment resume 1000001"
)]
pub(crate) struct SegmentArgs {
    #[command(subcommand)]
    command: Option<SegmentCommand>,
    #[command(flatten)]
    issue: issue::SegmentIssueArgs,
}

#[derive(Debug, Subcommand)]
enum SegmentCommand {
    Init(init::SegmentInitArgs),
    Status(status::SegmentStatusArgs),
    Resume(resume::SegmentResumeArgs),
}

impl SegmentArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match &self.command {
            None => self.issue.run(),
            Some(SegmentCommand::Init(args)) => args.run(),
            Some(SegmentCommand::Status(args)) => args.run(),
            Some(SegmentCommand::Resume(args)) => args.run(),
        }
    }
}
