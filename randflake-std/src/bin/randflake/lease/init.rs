//! `randflake lease init`

use randflake_std::lease::QuarantineCause;

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
        let cause = store.quarantined()?;
        if let Some(quarantine) = cause.filter(|it| it.cause != QuarantineCause::New) {
            return Err(Failure::failed(format!(
                "namespace {:?} is not new: {quarantine}; to end a quarantine that was set wrongly, while no process has a \
                 lease of this namespace: randflake lease quarantine --end",
                store.namespace().name()
            )));
        }
        let leases = store.list()?.len();
        if leases > 0 {
            return Err(Failure::failed(format!(
                "namespace {:?} is not new, it has leases of {leases} node ids; to end a quarantine that was set \
                 wrongly: randflake lease quarantine --end",
                store.namespace().name()
            )));
        }
        store.end_quarantine()?;
        print_line("the namespace grants leases")
    }
}
