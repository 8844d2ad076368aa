//! The command `randflake segment status`.

use core::fmt::{self, Display, Formatter};
use core::time::Duration;

use randflake_std::date::span;
use randflake_std::segment::CounterTerms;

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
    /// How it counts, in words.
    counts: Option<String>,
    /// Seconds in which nothing is issued, because the store's clock was ahead.
    ahead_for_s: Option<u64>,
    #[serde(skip)]
    terms: CounterTerms,
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
            Some(self.store.open_counter()?.counter().status()?)
        };
        let status = CounterPosition {
            namespace: self.store.counter_namespace()?.name().to_owned(),
            store: self.store.shown_url()?,
            next: counter.and_then(|counter| counter.next),
            lost: counter.is_none_or(|counter| counter.lost),
            counts: counter
                .and_then(|counter| counter.terms)
                .map(|terms| terms.to_string()),
            ahead_for_s: counter
                .and_then(|counter| counter.ahead_for)
                .map(|ahead| ahead.as_secs()),
            terms: counter
                .and_then(|counter| counter.terms)
                .unwrap_or_default(),
            arguments: self.store.counter_arguments()?,
        };
        print(&status, self.json)
    }
}

impl Display for CounterPosition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "store      {}", visible(&self.store))?;
        writeln!(f, "namespace  {}", self.namespace)?;
        if self.terms != CounterTerms::default() {
            writeln!(f, "counts     {}", self.terms)?;
        }
        f.write_str("next       ")?;
        let arguments = &self.arguments;
        match self.next.map(|next| self.terms.text(next)) {
            Some(next) if self.lost => {
                write!(
                    f,
                    "{next}  lost: randflake segment resume NUMBER {arguments}"
                )
            }
            Some(next) => match self.ahead_for_s {
                None => f.write_str(&next),
                Some(seconds) => {
                    let seconds = span(Duration::from_secs(seconds));
                    write!(f, "{next}  in {seconds}: the store's clock was ahead")
                }
            },
            None => write!(
                f,
                "none  not there: randflake segment init {arguments}, or, if it ever issued numbers, randflake segment \
                 resume NUMBER {arguments}"
            ),
        }
    }
}
