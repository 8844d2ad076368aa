//! The command `randflake segment init`.

use crate::failure::Failure;
use crate::output::print_line;
use crate::store::StoreArgs;

/// Declare that the counter is new, so that it begins at 1
///
/// A server that has lost its data looks like a new one, and a counter that begins again repeats its numbers. So on a
/// server nothing is issued before you say that none was. A counter that has issued numbers, was resumed or may have gone
/// back is refused: see resume. Run it once, by hand or by the job that sets up the server; never at each start of a
/// service.
#[derive(Debug, clap::Args)]
pub(crate) struct SegmentInitArgs {
    #[command(flatten)]
    store: StoreArgs,
}

impl SegmentInitArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        self.store.open_counter()?.create_counter()?;
        print_line("the counter begins at 1")
    }
}
