//! Ids from standard input, in blocks, and the progress of long runs.

use core::fmt;
use core::time::Duration;
use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::time::Instant;

use indicatif::{HumanFloatCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use randflake_common::form::not_utf8;
use randflake_common::form::{GivenId, TextFormat};
use randflake_common::layout::IdEncryption;

use crate::command::rounded::{Rounded, RoundedArgs};
use crate::failure::{Failure, say};

/// Most ids that are handed on together: enough that decrypting many at once pays.
pub(crate) const BLOCK: usize = 2_048;
/// Bytes of standard input that are read at once.
const INPUT_LEN: usize = 64 << 10;
/// Longest line, in bytes: no id is nearly as long, so the memory that an input takes is bounded.
const LONGEST_LINE: usize = 4 << 10;

/// The ids of a command that shows what they say.
#[derive(Debug, clap::Args)]
pub(crate) struct IdArgs {
    /// Ids; read from standard input, one on each line, when there are none
    #[arg(value_name = "ID", allow_negative_numbers = true)]
    pub(crate) ids: Vec<String>,
    /// How the ids are written
    #[arg(long, value_enum, default_value = "text", value_name = "FORM")]
    pub(crate) from: TextFormat,
    #[command(flatten)]
    pub(crate) rounded: RoundedArgs,
    /// Print a JSON object for each id
    #[arg(long)]
    pub(crate) json: bool,
}

impl IdArgs {
    /// `form` is what the ids are.
    pub(crate) fn for_each_block(
        &self,
        form: IdEncryption,
        each: impl FnMut(&[GivenId]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let rounded = self.rounded.check(self.from, Some(form));
        for_each_block(&self.ids, rounded, each)
    }
}

/// Reads ids and hands blocks of them on: those given, or when there are none, those on the lines
/// of standard input.
///
/// Nothing is handed on unless all of those given can be read. Standard input may be endless, so
/// the lines that were read are handed on before more are, and all before the first that cannot be
/// read.
pub(crate) fn for_each_block(
    given: &[String],
    mut rounded: Rounded,
    mut each: impl FnMut(&[GivenId]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let form = rounded.form();
    if given.is_empty() {
        let block = |ids: &[GivenId]| {
            rounded.watch(ids.iter().map(|given| given.id.to_u64()))?;
            each(ids)
        };
        for_each_input_block(form, block)?;
        if let Some(warning) = rounded.warning() {
            say(&warning);
        }
        return Ok(());
    }
    let read = |value: &String| {
        form.read(value)
            .map_err(|problem| Failure::usage(format!("{}: {problem}", shown(value))))
    };
    // All are read before one is handed on: a typing error in the last argument prints no half of
    // an answer.
    let ids: Vec<GivenId> = given.iter().map(read).collect::<Result<_, _>>()?;
    let numbers = || ids.iter().map(|given| given.id.to_u64());
    let alone = numbers().filter_map(|number| rounded.warning_alone(number));
    let warnings: Vec<_> = alone.collect();
    rounded.watch(numbers())?;
    for warning in warnings {
        say(&warning);
    }
    ids.chunks(BLOCK).try_for_each(each)
}

/// Reads the ids on the lines of standard input, which may be blank at the end.
fn for_each_input_block(
    form: TextFormat,
    mut each: impl FnMut(&[GivenId]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let stdin = io::stdin().lock();
    if stdin.is_terminal() {
        say("reading ids from the terminal, one on each line; Ctrl-D ends");
    }
    let mut input = BufReader::with_capacity(INPUT_LEN, stdin);
    let mut ids = Vec::with_capacity(BLOCK);
    let mut line = Vec::new();
    let mut first_blank = None;
    for number in 1_u64.. {
        // Before a read that may block: the writer of the lines may wait for the answers so far.
        let has_line = input.buffer().contains(&b'\n');
        if ids.len() == BLOCK || !has_line && !ids.is_empty() {
            each(&ids)?;
            ids.clear();
        }
        line.clear();
        // One byte more than a line may have tells that it is too long.
        let most = LONGEST_LINE as u64 + 1;
        let read = input.by_ref().take(most).read_until(b'\n', &mut line);
        if read.map_err(|error| Failure::failed(format!("standard input: {error}")))? == 0 {
            break;
        }
        let refused = match (read_text(form, &line), first_blank) {
            (Ok(None), _) => {
                first_blank.get_or_insert(number);
                continue;
            }
            (Ok(Some(id)), None) => {
                ids.push(id);
                continue;
            }
            // To leave it out would put each id that follows beside another row than its own.
            (Ok(Some(_)), Some(blank)) => format!(
                "line {blank}: blank, and ids follow: remove blank lines, as `grep .` does, or the rows without an id"
            ),
            (Err(problem), _) => format!("line {number}: {problem}"),
        };
        // The ids before a wrong line are good, and a pipe may have consumed them from its source.
        each(&ids)?;
        return Err(Failure::usage(refused));
    }
    each(&ids)
}

/// Reads the id on a line or in a cell, without the white space around it. `None` if there is
/// nothing else.
pub(crate) fn read_text(form: TextFormat, line: &[u8]) -> Result<Option<GivenId>, String> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    if line.len() > LONGEST_LINE {
        return Err(format!("longer than {LONGEST_LINE} bytes, as no id is"));
    }
    let text = str::from_utf8(line).map_err(|error| not_utf8(line, error.valid_up_to()))?;
    // CRLF and columns that a database client has padded.
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let id = form.read(text);
    id.map(Some)
        .map_err(|problem| format!("{}: {problem}", shown(text)))
}

/// The beginning of a value, enough to find it by.
pub(crate) fn shown(value: &str) -> String {
    const MOST: usize = 40;
    match value.char_indices().nth(MOST) {
        Some((end, _)) => format!("{:?}...", &value[..end]),
        None => format!("{value:?}"),
    }
}

/// Runs that end sooner show no bar.
const DELAY: Duration = Duration::from_secs(1);
const DRAWS_PER_SECOND: u8 = 5;
const TEMPLATE: &str = "{bar:40} {human_pos} of {human_len} ids, {elapsed}, {rate}/s, {eta} left";

/// A bar on standard error, after a second. Only if that is a terminal and standard output is not:
/// there the ids themselves are seen.
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
    let style = ProgressStyle::with_template(TEMPLATE)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .with_key("rate", rate);
    ProgressBar::with_draw_target(Some(total), target).with_style(style)
}

/// Shows the rate in whole ids a second.
fn rate(state: &ProgressState, out: &mut dyn fmt::Write) {
    // A failure would only leave the rate out.
    _ = write!(out, "{:.0}", HumanFloatCount(state.per_sec()));
}
