//! The option `--wait` of commands that take leases or numbers.

use core::fmt::Display;
use core::mem::discriminant;
use core::time::Duration;
use std::thread;

use randflake_std::backoff::{Backoff, Retry};
use randflake_std::date::span;
use randflake_std::lease::StoreError;

use crate::failure::{Failure, say};
use randflake_common::date;

#[derive(Debug, clap::Args)]
pub(crate) struct WaitArgs {
    /// How long to wait for a store that grants nothing yet: seconds, or a time such as 90s or 2m
    /// [default: fail at once]
    ///
    /// It waits while the store cannot be reached, all node ids are leased, the store is in
    /// quarantine, or its clock and this machine's differ. Anything else fails at once.
    #[arg(long, value_name = "TIME", value_parser = date::duration)]
    wait: Option<Duration>,
}

impl WaitArgs {
    pub(crate) fn limit(&self) -> Duration {
        self.wait.unwrap_or_default()
    }

    /// Tries until `attempt` succeeds, waiting does not help, the time is up, or `pause` fails.
    ///
    /// Without `--wait` there is one attempt, unless the store was made a moment ago.
    pub(crate) fn until<T, E>(
        &self,
        pause: impl Fn(Duration) -> Result<(), Failure>,
        mut attempt: impl FnMut() -> Result<T, E>,
    ) -> Result<T, Failure>
    where
        E: Display + Into<Failure>,
        for<'a> Retry: From<&'a E>,
    {
        // The library's own pauses, so that a fleet of commands does not ask in step either.
        let mut backoff = Backoff::new(self.limit());
        let mut said = None;
        loop {
            let error = match attempt() {
                Ok(success) => return Ok(success),
                Err(error) => error,
            };
            // The library says which errors pass by themselves, so the tool waits where a handle
            // would.
            let retry = Retry::from(&error);
            let is_due = matches!(retry, Retry::Due(_));
            let pauses = is_due || self.wait.is_some();
            let Some(time) = pauses.then(|| backoff.pause(retry)).flatten() else {
                // "Gave up after" would suggest that more time helps.
                if self.wait.is_none() || retry == Retry::Never {
                    return Err(error.into());
                }
                return Err(error.into().after(backoff.spent()));
            };
            // Once for each reason: a store may come back, and be full.
            let reason = discriminant(&retry);
            if !is_due && said.replace(reason) != Some(reason) {
                say(&format!(
                    "waiting for at most {}: {error}",
                    span(backoff.left())
                ));
            }
            pause(time)?;
        }
    }
}

/// Tries again what a store refuses because it was made a moment ago, and only for that reason.
pub(crate) fn past_youth<T>(
    mut attempt: impl FnMut() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let mut backoff = Backoff::new(Duration::ZERO);
    loop {
        let error = match attempt() {
            Ok(success) => return Ok(success),
            Err(error) => error,
        };
        let due = Some(Retry::from(&error)).filter(|retry| matches!(retry, Retry::Due(_)));
        let Some(pause) = due.and_then(|due| backoff.pause(due)) else {
            return Err(error);
        };
        thread::sleep(pause);
    }
}

/// Pauses a command that watches for no signals: one ends it at once, as it holds nothing yet.
#[expect(clippy::unnecessary_wraps, reason = "other pauses end with a failure")]
pub(crate) fn sleep(time: Duration) -> Result<(), Failure> {
    thread::sleep(time);
    Ok(())
}

/// Waits at most this long for something to show itself in a store, and looks for it every 2 s. It
/// says at each quarter how much is left.
pub(crate) fn wait_for_sign(
    limit: Duration,
    mut is_seen: impl FnMut() -> Result<bool, Failure>,
) -> Result<(), Failure> {
    // Ends a wait of half a minute soon after the sign, and costs the store a read every other
    // second.
    const LOOK: Duration = Duration::from_secs(2);
    let mut left = limit;
    // Without a word a user thinks that the command hangs.
    let mut next_word = limit / 4 * 3;
    while !left.is_zero() {
        let pause = left.min(LOOK);
        thread::sleep(pause);
        left -= pause;
        if is_seen()? {
            break;
        }
        if left <= next_word && !left.is_zero() {
            say(&format!("still waiting: {} left", span(left)));
            next_word = left.saturating_sub(limit / 4);
        }
    }
    Ok(())
}
