//! `lease list`, `lease status` and `lease namespaces`.

use core::fmt::{self, Display, Formatter};
use core::time::Duration;
use std::io::Write;

use randflake_common::date::whole_ms;
use randflake_common::layout::described;
use randflake_common::leases::{LeaseRow, Snapshot};
use randflake_std::date::{span, utc};
use randflake_std::lease::{Namespace, NamespaceList, Quarantine};
use serde::Serialize;

use crate::command::equal_ids::{namespaces_with_equal_ids, quoted};
use crate::failure::{Failure, say};
use crate::output::{print, stdout, visible};
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
        // Nothing on standard output: a script that counts lines counts leases, and the heading
        // alone is confusing.
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

/// Show how many node ids are leased
#[derive(Debug, clap::Args)]
pub(crate) struct LeaseStatusArgs {
    /// Print a JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// The occupancy of a namespace.
#[derive(Serialize)]
struct LeaseOccupancy {
    namespace: String,
    store: String,
    layout: String,
    version: u8,
    live: usize,
    total: u64,
    /// The end of the live lease that ends first, unless it is renewed.
    soonest_end_unix_ms: Option<u64>,
    soonest_end_in_ms: Option<u64>,
    quarantine_until_unix_ms: Option<u64>,
    quarantine: Option<String>,
}

impl LeaseStatusArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut store = self.store.open_stored()?;
        let snapshot = Snapshot::take(&mut store)?;
        let quarantine = store.administration().current_quarantine()?;
        let soonest = snapshot.live().map(|record| snapshot.end(record)).min();
        let status = LeaseOccupancy {
            namespace: store.namespace().name().to_owned(),
            store: self.store.shown_url()?,
            layout: described(store.namespace()),
            version: store.administration().version()?,
            live: snapshot.live().count(),
            total: store.namespace().node_ids(),
            soonest_end_unix_ms: soonest.map(whole_ms),
            // By the store's clock: the reader's may differ.
            soonest_end_in_ms: soonest.map(|end| whole_ms(end.saturating_sub(snapshot.now()))),
            quarantine_until_unix_ms: quarantine.map(|quarantine| whole_ms(quarantine.until)),
            quarantine: quarantine.map(|quarantine| quarantine.to_string()),
        };
        print(&status, self.json)
    }
}

impl Display for LeaseOccupancy {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let soonest = match (self.soonest_end_unix_ms, self.soonest_end_in_ms) {
            (Some(end), Some(left)) => {
                format!(
                    "{} ({})",
                    utc(Duration::from_millis(end)),
                    span(Duration::from_millis(left))
                )
            }
            _ => "none".to_owned(),
        };
        write!(
            f,
            "namespace     {}\n\
             store         {}\n\
             layout        {}\n\
             version       {}\n\
             live leases   {} of {} node ids\n\
             soonest end   {soonest}\n\
             quarantine    {}",
            self.namespace,
            visible(&self.store),
            self.layout,
            self.version,
            self.live,
            self.total,
            self.quarantine.as_deref().unwrap_or("none"),
        )
    }
}

/// List the namespaces of a store
///
/// Creates nothing. A dropped namespace is not listed, and neither is a counter without leases. One
/// that cannot be read is named on standard error, and the exit status is 1; so is a row with a
/// name that no namespace may have. Namespaces whose ids may be equal, because they have one
/// secret, or are plain and have one layout, name each other.
#[derive(Debug, clap::Args)]
pub(crate) struct LeaseNamespacesArgs {
    /// Print a JSON object for each namespace
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Serialize)]
struct NamespaceRow {
    namespace: String,
    layout: String,
    live: usize,
    total: u64,
    longest_ttl_ms: u64,
    quarantine_until_unix_ms: Option<u64>,
    /// Other namespaces that have its secret, or are plain and have its layout.
    equal_ids_with: Vec<String>,
}

impl LeaseNamespacesArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let NamespaceList {
            names,
            damaged,
            is_complete,
            ..
        } = self.store.names()?.unwrap_or_default();
        // Nothing on standard output, as in `lease list`: a script that counts lines counts
        // namespaces.
        if names.is_empty() && damaged.is_empty() && !self.json {
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
        // All at once before the rows, because each row names others.
        let all = self.store.stored()?;
        let mut unreadable = damaged.len();
        for name in damaged {
            say(&format!(
                "the store was damaged: it has a namespace {name:?}, a name that randflake never writes; nothing of it is \
                 used: find out who writes to the store, and delete it"
            ));
        }
        for name in names {
            match self.row(&name, &all) {
                Ok(Some(row)) => out.value(&row, self.json)?,
                // The namespace was dropped after the names were read.
                Ok(None) => {}
                // The others are listed all the same.
                Err(failure) => {
                    unreadable += 1;
                    say(&format!("namespace {name:?}: {failure}"));
                }
            }
        }
        out.flush()?;
        if !is_complete {
            say("the store has more namespaces, which are not listed");
        }
        match unreadable {
            0 => Ok(()),
            1 => Err(Failure::failed("1 namespace cannot be read")),
            more => Err(Failure::failed(format!("{more} namespaces cannot be read"))),
        }
    }

    fn row(&self, name: &str, all: &[Namespace]) -> Result<Option<NamespaceRow>, Failure> {
        let Some(namespace) = self.store.find(name)? else {
            return Ok(None);
        };
        let equal = namespaces_with_equal_ids(&namespace, namespace.key_check(), all);
        let mut store = self.store.open(&namespace)?;
        let snapshot = Snapshot::take(&mut store)?;
        let quarantine = store.administration().current_quarantine()?;
        Ok(Some(NamespaceRow {
            namespace: namespace.name().to_owned(),
            layout: described(&namespace),
            live: snapshot.live().count(),
            total: namespace.node_ids(),
            longest_ttl_ms: whole_ms(namespace.max_ttl()),
            quarantine_until_unix_ms: quarantine.map(|Quarantine { until, .. }| whole_ms(until)),
            equal_ids_with: equal.into_iter().map(str::to_owned).collect(),
        }))
    }
}

impl Display for NamespaceRow {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let leased = format!("{} of {}", self.live, self.total);
        let ttl = span(Duration::from_millis(self.longest_ttl_ms));
        let quarantine = match self.quarantine_until_unix_ms {
            Some(until) => format!(
                ", grants nothing until {}",
                utc(Duration::from_millis(until))
            ),
            None => String::new(),
        };
        let equal: Vec<_> = self.equal_ids_with.iter().map(String::as_str).collect();
        let equal = match &*equal {
            [] => String::new(),
            names => format!(", equal ids with {}", quoted(names)),
        };
        write!(
            f,
            "{:<16}  {leased:<15}  {ttl:<11}  {}{quarantine}{equal}",
            self.namespace,
            visible(&self.layout)
        )
    }
}
