//! The command `randflake lease quarantine`.

use randflake_std::date::{span, utc};

use crate::failure::Failure;
use crate::output::print_line;
use crate::store::LeaseArgs;

/// Grant nothing until every lease that there may be has expired
///
/// For a store that was set back in a way that it cannot notice, as when the whole machine or its disk
/// was: it may have forgotten leases that are in use. Leases that it knows are renewed meanwhile.
#[derive(Debug, clap::Args)]
pub(crate) struct LeaseQuarantineArgs {
    /// End a quarantine that was set wrongly, such as by a clock that was ahead
    ///
    /// Whoever ends one too early lets ids repeat: no process may hold a lease that the store has forgotten.
    #[arg(long)]
    end: bool,
    #[command(flatten)]
    store: LeaseArgs,
}

impl LeaseQuarantineArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut store = self.store.open()?;
        if self.end {
            // Whatever the quarantine is for, unlike `lease init`: the store cannot know that its
            // clock was wrong.
            store.administration().override_quarantine()?;
            return print_line("the namespace grants leases");
        }
        let wait = span(store.administration().start_quarantine()?);
        let until = store
            .administration()
            .current_quarantine()?
            .map(|quarantine| quarantine.until);
        let until = utc(until.unwrap_or_default());
        print_line(format_args!("nothing is granted for {wait}, until {until}"))
    }
}
