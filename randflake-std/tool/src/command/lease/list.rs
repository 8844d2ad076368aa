//! The command `randflake lease list`.

use std::io::Write;

use randflake_common::leases::{LeaseRow, Snapshot};

use crate::failure::{Failure, say};
use crate::output::stdout;
use crate::store::StoreArgs;

/// List the leases, in the order of node ids
///
/// A holder is shown as host, process number and a random number.
#[derive(Debug, clap::Args)]
pub(crate) struct LeaseListArgs {
    /// List expired leases, too
    #[arg(long)]
    all: bool,
    /// Print a JSON object for each lease
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreArgs,
}

impl LeaseListArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut store = self.store.open_stored()?;
        let snapshot = Snapshot::take(&mut store)?;
        let records = snapshot.records().iter();
        // Written as they come: a namespace may have 131,072 leases.
        let mut rows = records
            .filter(|record| self.all || snapshot.is_live(record))
            .map(|record| LeaseRow::of(&snapshot, record))
            .peekable();
        // Nothing on standard output: a script that counts lines counts leases, and the heading alone is confusing.
        if !self.json && rows.peek().is_none() {
            say("no leases");
            return Ok(());
        }
        let mut out = stdout();
        if !self.json {
            writeln!(
                out,
                "NODE    STARTS                ENDS                  IN       HOLDER"
            )?;
        }
        for row in rows {
            out.value(&row, self.json)?;
        }
        Ok(out.flush()?)
    }
}
