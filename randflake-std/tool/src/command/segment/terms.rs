//! The options that say how a counter counts.

use randflake_std::segment::{CounterTerms, DatedNumbers, MAX_NUMBER, Period, UtcOffset};

use crate::failure::Failure;
use randflake_common::number::within;

/// Digits of a number behind its date, unless others are chosen: 999,999 numbers.
const DIGITS: u8 = 6;

/// How the counter counts: fixed when it is begun. One that counts otherwise is refused, whoever says so.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "How the counter counts")]
pub(crate) struct TermsArgs {
    /// Begin at this number [default: 1]
    #[arg(long, value_name = "N", value_parser = within::<u64>(1..=MAX_NUMBER), allow_negative_numbers = true)]
    from: Option<u64>,
    /// Count in steps of this size, so that counters with other first numbers share none [default: 1]
    #[arg(long, value_name = "N", value_parser = within::<u64>(1..=MAX_NUMBER), allow_negative_numbers = true)]
    step: Option<u64>,
    /// Begin at 1 each day: 20261128-000123
    #[arg(long, conflicts_with_all = ["from", "step"])]
    daily: bool,
    /// Begin at 1 each month: 202611-000123
    #[arg(long, conflicts_with_all = ["from", "step", "daily"])]
    monthly: bool,
    /// Begin at 1 each year: 2026-000123
    #[arg(long, conflicts_with_all = ["from", "step", "daily", "monthly"])]
    yearly: bool,
    /// Digits behind the date; when they are used up, nothing is issued until the next date [default: 6]
    #[arg(
        long,
        value_name = "N",
        value_parser = within::<u8>(1..=DatedNumbers::MAX_DIGITS as u64),
        allow_negative_numbers = true
    )]
    digits: Option<u8>,
    /// Whose midnight begins a date: UTC, or hours and minutes ahead of it, such as +05:30 or -03:00, the same all year
    /// [default: UTC]
    #[arg(long, value_name = "OFFSET", allow_hyphen_values = true)]
    utc_offset: Option<UtcOffset>,
}

impl TermsArgs {
    /// The terms that were named; `None` if none were: then a counter counts as it does.
    pub(crate) fn named(&self) -> Result<Option<CounterTerms>, Failure> {
        let period = match (self.daily, self.monthly, self.yearly) {
            (true, ..) => Period::Day,
            (_, true, _) => Period::Month,
            (.., true) => Period::Year,
            _ if self.digits.is_some() || self.utc_offset.is_some() => {
                return Err(Failure::usage(
                    "--digits and --utc-offset are of numbers with dates: say --daily, --monthly or --yearly too",
                ));
            }
            _ if self.from.is_none() && self.step.is_none() => return Ok(None),
            _ => {
                let (first, step) = (self.from.unwrap_or(1), self.step.unwrap_or(1));
                return CounterTerms::stepped(first, step)
                    .map(Some)
                    .map_err(Failure::usage);
            }
        };
        let numbers = DatedNumbers::new(period, self.digits.unwrap_or(DIGITS));
        let numbers = numbers.map_err(Failure::usage)?;
        let offset = self.utc_offset.unwrap_or_default();
        Ok(Some(CounterTerms::dated(numbers.at(offset))))
    }
}
