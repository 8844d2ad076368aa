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
    next: Option<u64>,
    lost: bool,
    /// Arguments that name the counter to another command.
    #[serde(skip)]
    arguments: String,
}

impl SegmentStatusArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        // A counter that is `lost` is shown as well: its number helps to find the one to resume with.
        let counter = if self.store.has_no_store()? {
            None
        } else {
            Some(self.store.open_counter()?.counter()?)
        };
        let status = CounterPosition {
            namespace: self.store.counter_namespace()?.name().to_owned(),
            store: self.store.shown_url()?,
            next: counter.and_then(|counter| counter.next),
            lost: counter.is_none_or(|counter| counter.lost),
            arguments: self.store.counter_arguments()?,
        };
        print(&status, self.json)
    }
}

impl Display for CounterPosition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "store      {}", visible(&self.store))?;
        writeln!(f, "namespace  {}", self.namespace)?;
        f.write_str("next       ")?;
        let arguments = &self.arguments;
        match self.next {
            Some(next) if self.lost => {
                write!(
                    f,
                    "{next}  lost: randflake segment resume NUMBER {arguments}"
                )
            }
            Some(next) => write!(f, "{next}"),
            None => write!(
                f,
                "none  not there: randflake segment init {arguments}, or, if it ever issued numbers, randflake segment \
                 resume NUMBER {arguments}"
            ),
        }
    }
}
