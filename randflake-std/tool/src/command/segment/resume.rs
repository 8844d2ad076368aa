//! The command `randflake segment resume`.

use randflake_std::segment::MAX_NUMBER;

use crate::failure::Failure;
use crate::number::within;
use crate::output::print_line;
use crate::store::StoreArgs;

/// Let the counter go on at a number
///
/// For a counter that is to begin elsewhere than at 1, and for a store that was restored, replaced or
/// deleted: its counter may have gone back, so nothing is issued until you say where to go on. The number
/// must be above every one that was ever issued, by any process; a gap does no harm.
///
/// The counter never goes back by this: if it stands further on, it stays there.
#[derive(Debug, clap::Args)]
pub(crate) struct SegmentResumeArgs {
    /// The number to go on at
    #[arg(value_name = "NUMBER", value_parser = within::<u64>(1..=MAX_NUMBER), allow_negative_numbers = true)]
    number: u64,
    #[command(flatten)]
    store: StoreArgs,
}

impl SegmentResumeArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        // Printed is where the counter stands: above the number that was given, if it stood there
        // already.
        let next = self.store.open_counter()?.resume_counter(self.number)?;
        print_line(format_args!("the counter goes on at {next}"))
    }
}
