//! The command `randflake segment resume`.

use randflake_std::segment::MAX_NUMBER;

use super::terms::TermsArgs;
use crate::failure::Failure;
use crate::output::print_line;
use crate::store::StoreArgs;
use randflake_common::number::within;

/// Let the counter go on at a number
///
/// For a counter that is to begin elsewhere than at 1, and for a store that was restored, replaced or
/// deleted: its counter may have gone back, so nothing is issued until you say where to go on. The number
/// must be above every one that was ever issued, by any process; a gap does no harm.
///
/// The counter never goes back by this: if it stands further on, it stays there. One that counts in steps goes on at the next of
/// its numbers. One that is not there begins as the options say.
#[derive(Debug, clap::Args)]
pub(crate) struct SegmentResumeArgs {
    /// The number to go on at: 1000001, or with its date, 20261128-000124
    #[arg(value_name = "NUMBER", value_parser = number, allow_negative_numbers = true)]
    number: String,
    #[command(flatten)]
    terms: TermsArgs,
    #[command(flatten)]
    store: StoreArgs,
}

impl SegmentResumeArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        // Printed is where the counter stands: above the number that was given, if it stood there
        // already.
        let named = self.terms.named()?;
        let mut store = self.store.open_counter()?;
        if let Some(terms) = named {
            store.counter().set_terms(terms);
        }
        let terms = store
            .counter()
            .status()?
            .terms
            .or(named)
            .unwrap_or_default();
        let number = terms.number(&self.number).ok_or_else(|| {
            Failure::usage(format!(
                "{:?} is no number of this counter, which counts {terms}",
                self.number
            ))
        })?;
        let next = store.counter().resume(number)?;
        print_line(format_args!("the counter goes on at {}", terms.text(next)))
    }
}

/// A number of any counter: whose it is, the store knows.
fn number(text: &str) -> Result<String, String> {
    let is_dated = text.split_once('-').is_some_and(|(date, count)| {
        let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        !date.is_empty() && is_digits(date) && is_digits(count)
    });
    if !is_dated {
        within::<u64>(1..=MAX_NUMBER)(text)?;
    }
    Ok(text.to_owned())
}
