//! The command `randflake lease list`.

use core::fmt::{self, Display, Formatter};
use core::time::Duration;
use std::io::Write;

use randflake_std::date::{span, utc};
use randflake_std::lease::Record;
use serde::Serialize;

use super::snapshot::Snapshot;
use crate::date::whole_ms;
use crate::failure::{Failure, say};
use crate::output::{stdout, visible};
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

/// A lease as programs read it.
#[derive(Debug, Serialize)]
pub(crate) struct LeaseRow<'a> {
    node: u32,
    live: bool,
    start_unix_ms: u64,
    end_unix_ms: u64,
    start_utc: String,
    end_utc: String,
    remaining_ms: u64,
    fencing_token: u64,
    contested: bool,
    holder: &'a str,
    version: u8,
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

impl<'a> LeaseRow<'a> {
    pub(crate) fn of(snapshot: &Snapshot, record: &'a Record) -> Self {
        Self {
            node: record.grant.node_id,
            live: snapshot.is_live(record),
            start_unix_ms: whole_ms(snapshot.start(record)),
            end_unix_ms: whole_ms(snapshot.end(record)),
            start_utc: utc(snapshot.start(record)),
            end_utc: utc(snapshot.end(record)),
            remaining_ms: whole_ms(snapshot.remaining(record)),
            fencing_token: record.grant.fencing_token,
            contested: record.contested,
            holder: &record.holder,
            version: record.version,
        }
    }
}

impl Display for LeaseRow<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let remaining = if self.live {
            span(Duration::from_millis(self.remaining_ms))
        } else {
            "over".to_owned()
        };
        let contested = if self.contested {
            ", contested by a copy of it"
        } else {
            ""
        };
        write!(
            f,
            "{:<6}  {}  {}  {remaining:<7}  {}{contested}",
            self.node,
            self.start_utc,
            self.end_utc,
            // Whoever may acquire chooses the name: an escape sequence in it must not reach the
            // operator's terminal.
            visible(self.holder)
        )
    }
}
