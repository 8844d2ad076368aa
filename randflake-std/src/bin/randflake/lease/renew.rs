//! `randflake lease renew`

use core::time::Duration;

use super::document::GrantArgs;
use crate::date;
use crate::failure::Failure;
use crate::store::StoreArgs;

/// Renew leases that `lease acquire` gave
///
/// Reads what it has printed, from standard input unless --grant names a file, and prints the same with the new ends.
/// After exit status 1 the leases may have been renewed or not: they last until their old ends at least, and the same
/// renewal may be repeated. A lease that is lost must not be used any more; the others are printed.
///
/// Two that renew the same leases are not told apart: give each process leases of its own.
///
/// Exit status: 0 all are renewed, 1 failed, 2 wrong arguments or input, 4 at least one is lost.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake lease renew --grant lease.json --json > new.json && mv new.json lease.json")]
pub(crate) struct Args {
    #[command(flatten)]
    grant: GrantArgs,
    /// How long they last from now: seconds, or a time such as 90s or 5m [default: 1m]
    #[arg(long, value_name = "TIME", value_parser = date::duration)]
    ttl: Option<Duration>,
    /// Print an object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreArgs,
}

impl Args {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let document = self.grant.read()?;
        let mut store = document.open(&self.store)?;
        let document = document.renewed(&mut *store, self.ttl)?;
        document.print(self.json)?;
        let lost = document.lost.iter();
        let lost: Vec<_> = lost
            .map(|lost| format!("{} ({})", lost.node, lost.reason))
            .collect();
        if lost.is_empty() {
            return Ok(());
        }
        Err(Failure::Lost(format!(
            "lost are the leases of node ids {}: issue no more ids with them",
            lost.join(", ")
        )))
    }
}
