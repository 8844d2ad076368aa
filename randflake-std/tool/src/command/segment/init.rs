//! The command `randflake segment init`.

use randflake_std::date::span;
use randflake_std::lease::LeaseStore;
use randflake_std::segment::COMPARED_WITHIN;

use crate::failure::{Failure, say};
use crate::output::print_line;
use crate::store::StoreArgs;
use crate::wait::wait_for_sign;

/// Declare that the counter is new, so that it begins at 1
///
/// A server that has lost its data looks like a new one, and a counter that begins again repeats its numbers. So on a
/// server nothing is issued before you say that none was. A counter that has issued numbers, was resumed or may have gone
/// back is refused: see resume.
///
/// It waits 33 s for processes that have numbers from before. One that reaches the store compares its counter in that time,
/// notices the loss, and says so in the store; then this is refused. One that is cut off from the store is not seen: it stops
/// when it reaches the store again, with all others, but numbers may have been issued twice by then.
///
/// Run it once, by hand or by the job that sets up the server; never at each start of a service.
#[derive(Debug, clap::Args)]
pub(crate) struct SegmentInitArgs {
    /// Do not wait for processes from before: only where none can be, as on a server that was just installed
    #[arg(long)]
    no_wait: bool,
    #[command(flatten)]
    store: StoreArgs,
}

impl SegmentInitArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut store = self.store.open_counter()?;
        // A counter that is there, or was found to have gone back, is judged at once: no holder can
        // add to that.
        if !self.no_wait && is_unknown(&mut store)? {
            say(&format!(
                "waiting for {}: processes that have numbers from before compare their counter in that time, and show \
                 themselves; those that are cut off from the store do not",
                span(COMPARED_WITHIN)
            ));
            wait_for_sign(COMPARED_WITHIN, || Ok(!is_unknown(&mut store)?))?;
        }
        // Which refuses a counter that somebody has shown to be an old one.
        store.create_counter()?;
        print_line("the counter begins at 1")
    }
}

/// Whether the store knows no number of the counter, and cannot tell that there was none.
fn is_unknown(store: &mut LeaseStore) -> Result<bool, Failure> {
    let counter = store.counter()?;
    Ok(counter.lost && counter.next == 1)
}
