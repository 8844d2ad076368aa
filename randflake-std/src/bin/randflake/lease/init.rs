//! `randflake lease init`

use crate::failure::Failure;
use crate::output::print_line;
use crate::store::LeaseArgs;

/// Declare that the namespace is new, so that it grants at once
///
/// A server that has lost its data looks like a new one. Where the two cannot be told apart, a new namespace
/// waits until every lease that may have been forgotten has expired, unless this declares that there was none.
/// A namespace that has leases is refused, and one that was dropped or is in quarantine for another reason.
///
/// A dropped namespace is opened again by --reopen, and by nothing else. It may have another layout, secret and longest TTL
/// then, and grants once every lease from before has expired.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Open a namespace that was dropped, with the layout given here
    #[arg(long)]
    reopen: bool,
    #[command(flatten)]
    store: LeaseArgs,
}

impl Args {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut store = self.store.open()?;
        if self.reopen {
            if let Some(quarantine) = store.reopen_namespace()? {
                return print_line(quarantine);
            }
        } else {
            store.end_quarantine()?;
        }
        print_line("the namespace grants leases")
    }
}
