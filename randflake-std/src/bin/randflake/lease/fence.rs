//! `randflake lease fence`

use crate::failure::Failure;
use crate::output::stdout;
use crate::store::LeaseArgs;

/// Grant nothing until every lease that there may be is over
///
/// For a store that was set back in a way that it cannot notice, as when the whole machine or its disk
/// was: it may have forgotten leases that are in use. Leases that it knows go on meanwhile.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    store: LeaseArgs,
}

impl Args {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let wait = self.store.open()?.fence()?;
        let mut out = stdout();
        writeln!(
            out,
            "nothing is granted for {} s",
            wait.as_millis().div_ceil(1_000)
        )?;
        Ok(out.flush()?)
    }
}
