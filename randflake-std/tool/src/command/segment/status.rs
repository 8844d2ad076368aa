//! The command `randflake segment status`.

use std::io::Write;

use crate::failure::Failure;
use crate::output::{stdout, visible};
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
        let counter = self.store.open_counter()?.counter()?;
        let status = CounterPosition {
            namespace: self.store.namespace()?.name().to_owned(),
            store: self.store.shown_url()?,
            next: counter.next,
            lost: counter.lost,
        };
        let mut out = stdout();
        if self.json {
            out.object(&status)?;
        } else {
            let doubt = if status.lost {
                "  lost: randflake segment resume NUMBER"
            } else {
                ""
            };
            writeln!(out, "store      {}", visible(&status.store))?;
            writeln!(out, "namespace  {}", status.namespace)?;
            writeln!(out, "next       {}{doubt}", status.next)?;
        }
        Ok(out.flush()?)
    }
}
