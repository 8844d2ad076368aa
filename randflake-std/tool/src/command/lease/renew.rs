//! The command `randflake lease renew`.

use core::time::Duration;

use randflake_std::lease::RequestId;

use super::document::{self, GrantArgs, request_id};
use crate::failure::{Failure, say};
use crate::store::StoreArgs;
use randflake_common::date;

/// Renew leases that `lease acquire` gave
///
/// Reads what it has printed, from standard input unless --grant names a file, and prints the same with the new ends.
/// After exit status 1 the leases may have been renewed or not: they last until their old ends at least. Repeat the
/// renewal of the same file with the same --request: it gets the same answer. A lease that is lost must not be used any
/// more; the others are printed.
///
/// Each renewal makes what was printed before it obsolete. Of two programs with copies of one file, the first to renew goes
/// on, and the other one's leases are lost as contested.
///
/// Exit status: 0 all are renewed, 1 failed, 2 wrong arguments or input, 4 at least one is lost.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake lease renew --grant lease.json --request $(uuidgen) --json > new.json && mv new.json lease.json")]
pub(crate) struct LeaseRenewArgs {
    #[command(flatten)]
    grant: GrantArgs,
    /// The name of this renewal: new for each one, such as from uuidgen, and the same when it is repeated
    #[arg(long, value_name = "ID", value_parser = request_id)]
    request: RequestId,
    /// How long they last from now: seconds, or a time such as 90s or 5m [default: 1m]
    #[arg(long, value_name = "TIME", value_parser = date::duration)]
    ttl: Option<Duration>,
    /// Print a JSON object, which the next renewal or the release needs
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreArgs,
}

impl LeaseRenewArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let document = self.grant.read()?;
        let mut store = document::open(&document, &self.store)?;
        let document = document.renewed(&mut store, &self.request, self.ttl)?;
        // Printed also if leases are lost: the others go on, and their old document is obsolete.
        document::print(&document, self.json)?;
        // The words lack the nonce of this renewal, and the old document is refused from now on as a copy.
        if !self.json && !document.leases.is_empty() {
            say(
                "the next renewal and the release need the leases as JSON: repeat this one with --json and the same \
                 --request",
            );
        }
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
