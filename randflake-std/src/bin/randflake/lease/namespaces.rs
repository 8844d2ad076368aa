//! `randflake lease namespaces`

use core::time::Duration;
use std::io::{self, Write};

use randflake_std::date::{span, utc};
use randflake_std::lease::{Namespace, Quarantine};
use serde::Serialize;

use super::snapshot::{Snapshot, ms};
use crate::failure::{Failure, say};
use crate::layout::described;
use crate::output::{stdout, visible};
use crate::store::StoreArgs;

/// List the namespaces of a store
///
/// Creates nothing. A dropped namespace is not listed, and neither is a counter without leases.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print an object for each namespace
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Serialize)]
struct Row {
    namespace: String,
    layout: String,
    live: usize,
    total: u64,
    longest_ttl_ms: u64,
    quarantine_until_unix_ms: Option<u64>,
}

impl Args {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let names = self.store.names()?;
        if names.is_empty() && !self.json {
            say(&format!("no namespaces in {}", self.store.shown_url()?));
            return Ok(());
        }
        let mut out = stdout();
        if !self.json {
            writeln!(
                out,
                "NAMESPACE         LEASED           LONGEST TTL  LAYOUT"
            )?;
        }
        for name in names {
            // It may have been dropped since.
            let Some(namespace) = self.store.find(&name)? else {
                continue;
            };
            let row = self.row(&namespace)?;
            if self.json {
                serde_json::to_writer(&mut out, &row).map_err(io::Error::from)?;
                writeln!(out)?;
            } else {
                row.write(&mut out)?;
            }
        }
        Ok(out.flush()?)
    }

    fn row(&self, namespace: &Namespace) -> Result<Row, Failure> {
        let mut store = self.store.open(namespace)?;
        let snapshot = Snapshot::take(&mut *store)?;
        let quarantine = store.quarantined()?;
        Ok(Row {
            namespace: namespace.name().to_owned(),
            layout: described(namespace),
            live: snapshot.live().count(),
            total: namespace.node_ids(),
            longest_ttl_ms: ms(namespace.max_ttl()),
            quarantine_until_unix_ms: quarantine.map(|Quarantine { until, .. }| ms(until)),
        })
    }
}

impl Row {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let leased = format!("{} of {}", self.live, self.total);
        let ttl = span(Duration::from_millis(self.longest_ttl_ms));
        let quarantine = match self.quarantine_until_unix_ms {
            Some(until) => format!(
                ", grants nothing until {}",
                utc(Duration::from_millis(until))
            ),
            None => String::new(),
        };
        writeln!(
            out,
            "{:<16}  {leased:<15}  {ttl:<11}  {}{quarantine}",
            self.namespace,
            visible(&self.layout)
        )
    }
}
