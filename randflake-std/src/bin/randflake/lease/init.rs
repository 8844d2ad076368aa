//! `randflake lease init`

use crate::failure::Failure;
use crate::output::print_line;
use crate::store::LeaseArgs;

/// Declare that the namespace is new, so that it grants at once
///
/// A server that has lost its data looks like a new one. Where the two cannot be told apart, a new namespace
/// waits until every lease that may have been forgotten has expired, unless this declares that there was none.
/// A namespace that has leases is refused, and one that was dropped or is in quarantine for another reason.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    store: LeaseArgs,
}

impl Args {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut store = self.store.open()?;
        store.end_quarantine()?;
        print_line("the namespace grants leases")
    }
}
