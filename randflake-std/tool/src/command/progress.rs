//! A progress bar for long runs at a terminal.

use core::fmt;
use core::time::Duration;
use std::io::{self, IsTerminal};
use std::time::Instant;

use indicatif::{HumanFloatCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// Runs that end sooner show no bar.
const DELAY: Duration = Duration::from_secs(1);
const DRAWS_PER_SECOND: u8 = 5;
const TEMPLATE: &str = "{bar:40} {human_pos} of {human_len} ids, {elapsed}, {rate}/s, {eta} left";

/// A bar on standard error, after a second. Only if that is a terminal and standard output is not: there the ids themselves
/// are seen.
#[derive(Debug)]
pub(crate) struct Progress {
    total: u64,
    started: Instant,
    bar: Option<ProgressBar>,
    is_wanted: bool,
}

impl Progress {
    pub(crate) fn new(total: u64) -> Self {
        Self {
            total,
            started: Instant::now(),
            bar: None,
            is_wanted: io::stderr().is_terminal() && !io::stdout().is_terminal(),
        }
    }

    /// Shows how many ids are done.
    pub(crate) fn show(&mut self, done: u64) {
        if !self.is_wanted {
            return;
        }
        // The bar begins late but counts from the start, or its rate would be too high.
        if self.bar.is_none() && self.started.elapsed() >= DELAY {
            self.bar = Some(bar(self.total).with_elapsed(self.started.elapsed()));
        }
        if let Some(bar) = &self.bar {
            bar.set_position(done);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            // Cleared on every way out: an error message must not stand behind a half-drawn bar.
            bar.finish_and_clear();
        }
    }
}

fn bar(total: u64) -> ProgressBar {
    let target = ProgressDrawTarget::stderr_with_hz(DRAWS_PER_SECOND);
    let style = ProgressStyle::with_template(TEMPLATE);
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    let style = style.with_key("rate", rate);
    ProgressBar::with_draw_target(Some(total), target).with_style(style)
}

/// Shows the rate in whole ids a second.
fn rate(state: &ProgressState, out: &mut dyn fmt::Write) {
    // A failure would only leave the rate out.
    _ = write!(out, "{:.0}", HumanFloatCount(state.per_sec()));
}
