//! The command `randflake lease drop`.

use randflake_common::leases::Snapshot;
use randflake_std::date::{span, utc};

use super::confirm::confirm;
use crate::failure::Failure;
use crate::output::print_line;
use crate::store::StoreArgs;

/// Remove a namespace: its leases, its layout and its secret's check value
///
/// Existing ids are not affected. Nothing is granted in it from then on, until somebody opens it again with `randflake lease
/// init --reopen`, which may bring another layout and secret. It then waits until the longest TTL and 20 s after the drop
/// have passed, because processes may still hold leases from before. A counter of `randflake segment` of the same name
/// stays.
///
/// A namespace with live leases is refused unless --force: their holders cannot renew them, and stop when they end.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake lease namespaces
  randflake lease drop orders-test --yes")]
pub(crate) struct LeaseDropArgs {
    /// Name of the namespace
    #[arg(value_name = "NAMESPACE")]
    name: String,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// Also while leases are live
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    store: StoreArgs,
}

impl LeaseDropArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut store = self.store.open_named(&self.name)?;
        // Checked here and not by the store: an operator may have to drop a namespace whose holders cannot be stopped.
        let snapshot = Snapshot::take(&mut store)?;
        let live = snapshot.live().count();
        let (name, place) = (&self.name, self.store.shown_url()?);
        if live > 0 && !self.force {
            let last = snapshot
                .live()
                .map(|record| snapshot.remaining(record))
                .max();
            return Err(Failure::failed(format!(
                "namespace {name:?} has live leases of {live} node ids, the last of which ends in {} unless renewed: \
                 stop their holders, see `randflake lease list`, or add --force, and they stop when their leases end",
                span(last.unwrap_or_default())
            )));
        }
        // After the look at the leases, so that the question says how many holders it will stop.
        if !self.yes {
            confirm(
                &format!(
                    "Drop namespace {name:?} of {place}, with the leases of {live} node ids? Type its name: "
                ),
                name,
                "not dropped",
            )?;
        }
        // A lease that is granted between the question and this ends as the others do: its holder cannot renew.
        store.administration().drop_namespace()?;
        // Asked of the store: the time of the mark is by its clock and not this machine's.
        let until = store
            .administration()
            .current_quarantine()?
            .map(|quarantine| quarantine.until);
        let until = utc(until.unwrap_or_default());
        print_line(format_args!(
            "namespace {name:?} is dropped: nothing is granted in it until somebody opens it again (`randflake lease init \
             --reopen`), and not before {until}"
        ))
    }
}
