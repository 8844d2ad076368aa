//! The command `randflake lease status`.

use core::fmt::{self, Display, Formatter};
use core::time::Duration;

use randflake_common::leases::Snapshot;
use randflake_std::date::{span, utc};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::{print, visible};
use crate::store::StoreArgs;
use randflake_common::date::whole_ms;
use randflake_common::layout::described;

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
