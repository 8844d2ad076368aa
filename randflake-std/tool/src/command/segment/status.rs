//! The command `randflake segment status`.

use core::fmt::{self, Display, Formatter};

use crate::failure::Failure;
use crate::output::{print, visible};
use crate::store::StoreArgs;

/// Tell where the counter stands
#[derive(Debug, clap::Args)]
pub(crate) struct SegmentStatusArgs {
    /// Print a JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(serde::Serialize)]
struct CounterPosition {
    namespace: String,
    store: String,
    next: u64,
    lost: bool,
}

impl SegmentStatusArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        // A counter that is `lost` is shown as well: its number helps to find the one to resume with.
        let counter = self.store.open_counter()?.counter()?;
        let status = CounterPosition {
            namespace: self.store.counter_namespace()?.name().to_owned(),
            store: self.store.shown_url()?,
            next: counter.next,
            lost: counter.lost,
        };
        print(&status, self.json)
    }
}

impl Display for CounterPosition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "store      {}", visible(&self.store))?;
        writeln!(f, "namespace  {}", self.namespace)?;
        write!(f, "next       {}", self.next)?;
        if self.lost {
            f.write_str("  lost: randflake segment resume NUMBER")?;
        }
        Ok(())
    }
}
