//! The command `randflake segment init`.

use randflake_std::date::span;
use randflake_std::segment::{CounterStatus, CounterTerms, compared_within};

use super::terms::TermsArgs;
use crate::failure::{Failure, say};
use crate::output::print_line;
use crate::store::StoreArgs;
use crate::wait::wait_for_sign;

/// Begin a new counter at 1, in steps, or anew each day
///
/// A store that has lost its data looks like a new one, and so does one at a mistyped path or on a volume that is not mounted. A
/// counter that begins again there repeats its numbers. So nothing is issued before you say that no number ever was. A counter
/// that is there goes on as it is; one that may have gone back is refused: see resume.
///
/// It waits for processes that have numbers from before: 33 s on a server, 2 s in a file. One that reaches the store compares its
/// counter in that time, notices the loss, and says so in the store; then this is refused. One that is cut off from the store is
/// not seen: it stops when it reaches the store again, with all others, but numbers may have been issued twice by then.
///
/// Run it once, by hand or by the job that sets up the store; never at each start of a service: where the store is lost, it
/// would begin the counter at 1 again.
#[derive(Debug, clap::Args)]
pub(crate) struct SegmentInitArgs {
    /// Do not wait for processes from before: only where none can be, as on a server that was just installed
    #[arg(long)]
    no_wait: bool,
    #[command(flatten)]
    terms: TermsArgs,
    #[command(flatten)]
    store: StoreArgs,
}

impl SegmentInitArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let named = self.terms.named()?;
        let mut store = self.store.open_counter()?;
        if let Some(terms) = named {
            store.counter().set_terms(terms);
        }
        // A counter that is there, or was found to have gone back, is judged at once: no holder can
        // add to that.
        let is_there = store.counter().status()?.next.is_some();
        let within = compared_within(&store);
        if !is_there && !self.no_wait {
            say(&format!(
                "waiting for {}: processes that have numbers from before compare their counter in that time, and show \
                 themselves; those that are cut off from the store do not",
                span(within)
            ));
            wait_for_sign(within, || Ok(store.counter().status()?.next.is_some()))?;
        }
        if let CounterStatus {
            next: Some(next),
            terms: Some(terms),
            is_unused: false,
            lost: false,
            ..
        } = store.counter().status()?
            && named.is_none_or(|named| named == terms)
        {
            say(
                "run `segment init` once, not at each start: where the store is lost, it would begin the counter anew, and its \
                 numbers would repeat",
            );
            return print_line(format_args!(
                "the counter is there: it goes on at {}, and nothing was changed",
                terms.text(next)
            ));
        }
        // Which refuses a counter that somebody has shown to be an old one.
        store.counter().create()?;
        if !is_there {
            say(&format!(
                "made the counter {:?} in {}. If it has issued numbers before, they repeat from now on: stop what takes \
                 them, and run `randflake segment resume NUMBER {}` with a NUMBER above every number ever issued",
                self.store.namespace_name(),
                self.store.shown_url()?,
                self.store.counter_arguments()?,
            ));
        }
        let terms = store.counter().status()?.terms.unwrap_or_default();
        if terms == CounterTerms::default() {
            return print_line("the counter begins at 1");
        }
        print_line(format_args!("the counter counts {terms}"))
    }
}
