//! `segment`: sequential numbers of a counter, and its administration.

use core::fmt::{self, Display, Formatter};
use core::time::Duration;
use std::io::{self, Write};

use clap::Subcommand;
use randflake_common::form::TextFormat;
use randflake_common::number::within;
use randflake_std::date::span;
use randflake_std::randflake_core::Permutation;
use randflake_std::segment::{
    CounterStatus, CounterTerms, DatedNumbers, MAX_NUMBER, Period, UtcOffset, compared_within,
};
use randflake_std::{Id, Plain};

use crate::command::convert::{Format, IssueArgs};
use crate::command::input::{BLOCK, Progress};
use crate::command::interrupt::Interrupt;
use crate::failure::{Failure, say};
use crate::output::{BufferedStdout, print, print_line, stdout, visible};
use crate::secret::SecretArgs;
use crate::store::StoreArgs;
use crate::wait::{WaitArgs, wait_for_sign};

/// Issue sequential numbers: 1, 2, 3 and so on
///
/// The numbers are unique within a namespace, over restarts and all processes at once, and no clock
/// is needed. The store counts them; a run that is killed leaves a gap of at most 65536. A new
/// counter is begun once, with init: one that is not there may have been lost.
///
/// A counter may begin anew each day (init --daily), or count in steps (init --from 2 --step 5). It
/// then does so for every client; one that says something else is refused.
///
/// Unlike ids they tell how many there are and in which order they were made, unless --encrypt.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  randflake segment init                       once, for a new counter
  randflake segment -n 3
  randflake segment init --namespace invoices
  randflake segment --namespace invoices
  randflake segment init --namespace orders --daily
  randflake segment --namespace orders         20261128-000001
  randflake segment init --namespace eu --from 2 --step 5
  randflake segment --encrypt -n 1000 > ids.txt
  randflake segment init --store redis://ids.example
  randflake segment resume 1000001"
)]
pub(crate) struct SegmentArgs {
    #[command(subcommand)]
    command: Option<SegmentCommand>,
    #[command(flatten)]
    issue: SegmentIssueArgs,
}

#[derive(Debug, Subcommand)]
enum SegmentCommand {
    Init(SegmentInitArgs),
    Status(SegmentStatusArgs),
    Resume(SegmentResumeArgs),
}

impl SegmentArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match &self.command {
            None => self.issue.run(),
            Some(SegmentCommand::Init(args)) => args.run(),
            Some(SegmentCommand::Status(args)) => args.run(),
            Some(SegmentCommand::Resume(args)) => args.run(),
        }
    }
}

/// Digits of a number behind its date, unless others are chosen: 999,999 numbers.
const DIGITS: u8 = 6;

/// How the counter counts: fixed when it is begun. A counter that counts otherwise is refused.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "How the counter counts")]
pub(crate) struct TermsArgs {
    /// Begin at this number [default: 1]
    #[arg(long, value_name = "N", value_parser = within::<u64>(1..=MAX_NUMBER), allow_negative_numbers = true)]
    from: Option<u64>,
    /// Count in steps of this size, so that counters with other first numbers share none [default:
    /// 1]
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
    /// Digits behind the date; when they are used up, nothing is issued until the next date
    /// [default: 6]
    #[arg(
        long,
        value_name = "N",
        value_parser = within::<u8>(1..=DatedNumbers::MAX_DIGITS as u64),
        allow_negative_numbers = true
    )]
    digits: Option<u8>,
    /// Whose midnight begins a date: UTC, or hours and minutes ahead of it, such as +05:30 or
    /// -03:00, the same all year [default: UTC]
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
        let numbers =
            DatedNumbers::new(period, self.digits.unwrap_or(DIGITS)).map_err(Failure::usage)?;
        let offset = self.utc_offset.unwrap_or_default();
        Ok(Some(CounterTerms::dated(numbers.at(offset))))
    }
}

/// Most numbers that are reserved at once, and lost when the run is killed.
///
/// Reserving waits for the disk or the network, so a run should do it seldom.
const LONGEST: u64 = 65_536;

#[derive(Debug, clap::Args)]
pub(crate) struct SegmentIssueArgs {
    #[command(flatten)]
    issue: IssueArgs,
    /// Encrypt them under the secret, so that they give nothing away
    #[arg(long)]
    encrypt: bool,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    terms: TermsArgs,
    #[command(flatten)]
    secret: SecretArgs,
    #[command(flatten)]
    store: StoreArgs,
}

impl SegmentIssueArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        if self.issue.count == 0 {
            return Ok(());
        }
        // Ignoring it would print numbers in plain that somebody meant to hide.
        if !self.encrypt && self.secret.is_given() {
            return Err(Failure::usage("--key-file: only --encrypt takes a secret"));
        }
        if self.encrypt {
            self.print(
                Some(TextFormat::Text),
                &self.secret.read_or_make(&self.store)?.cipher(),
            )
        } else {
            self.print(None, &Plain)
        }
    }

    /// `default`: form of encrypted numbers; plain ones are digits, with their date if they have
    /// one.
    fn print(
        &self,
        default: Option<TextFormat>,
        permutation: &impl Permutation,
    ) -> Result<(), Failure> {
        let format = self.issue.format.or(default.unwrap_or(TextFormat::Int));
        let is_plain = default.is_none() && !self.issue.format.is_given();
        let named = self.terms.named()?;
        let interrupt = Interrupt::watch()?;
        let pause = |time| interrupt.pause(time);
        if self.store.has_no_store()? {
            return Err(self.store.missing_counter()?.into());
        }
        let open = self.store.counter_opener()?;
        // A run that is ended leaves a gap of at most one segment, so there is nothing to release
        // at a signal.
        let mut store = self.wait.until(pause, open)?;
        if let Some(terms) = named {
            store.counter().set_terms(terms);
        }
        let mut out = stdout();
        let mut progress = Progress::new(self.issue.count);
        let (mut block, mut raws) = (Vec::with_capacity(BLOCK), Vec::with_capacity(BLOCK));
        let mut ids = Vec::with_capacity(BLOCK);
        let mut done = 0;
        while done < self.issue.count {
            // Before it waits for the store, the reader gets all that was made so far.
            out.flush()?;
            // No more than is printed: what is reserved and not printed is a gap.
            let count = (self.issue.count - done).min(LONGEST);
            // After a lost answer another segment is reserved: a gap does no harm, and a number
            // twice would.
            let segment = self.wait.until(pause, || store.counter().reserve(count))?;
            let terms = store.counter().terms().unwrap_or_default();
            let mut numbers = segment.numbers();
            loop {
                // At each block and not at each segment, which a slow reader may take minutes to
                // read.
                interrupt.check()?;
                block.clear();
                block.extend(numbers.by_ref().take(BLOCK));
                if block.is_empty() {
                    break;
                }
                raws.clone_from(&block);
                permutation.permute_all(&mut block);
                ids.clear();
                ids.extend(block.iter().copied().map(Id::from_u64));
                match format {
                    Format::Id(_) if is_plain && terms.dates().is_some() => {
                        for raw in &raws {
                            writeln!(out, "{}", terms.text(*raw))?;
                        }
                    }
                    Format::Id(form) => out.write_all(form.lines(&ids).as_bytes())?,
                    Format::Json => write_objects(&mut out, &terms, &raws, &ids)?,
                }
                done += ids.len() as u64;
                progress.show(done);
            }
        }
        Ok(out.flush()?)
    }
}

/// Writes numbers as JSON objects. They have no layout and so no fields: `raw` is the number before
/// its encryption, and `number` the same with its date in front.
fn write_objects(
    out: &mut BufferedStdout,
    terms: &CounterTerms,
    raws: &[u64],
    ids: &[Id],
) -> io::Result<()> {
    for (raw, id) in raws.iter().zip(ids) {
        let (text, int) = (id.to_text(), id.to_i64());
        write!(out, r#"{{"text":"{text}","int":"{int}","raw":"{raw}""#)?;
        if terms.dates().is_some() {
            write!(out, r#","number":"{}""#, terms.text(*raw))?;
        }
        writeln!(out, "}}")?;
    }
    Ok(())
}

/// Begin a new counter at 1, in steps, or anew each day
///
/// A store that has lost its data looks like a new one, and so does one at a mistyped path or on a
/// volume that is not mounted. A counter that begins again there repeats its numbers. So nothing is
/// issued before you say that no number ever was. A counter that is there goes on as it is; one
/// that may have gone back is refused: see resume.
///
/// It waits for processes that have numbers from before: 33 s on a server, 2 s in a file. One that
/// reaches the store compares its counter in that time, notices the loss, and says so in the store;
/// then this is refused. One that is cut off from the store is not seen: it stops when it reaches
/// the store again, with all others, but numbers may have been issued twice by then.
///
/// Run it once, by hand or by the job that sets up the store; never at each start of a service:
/// where the store is lost, it would begin the counter at 1 again.
#[derive(Debug, clap::Args)]
pub(crate) struct SegmentInitArgs {
    /// Do not wait for processes from before: only where none can be, as on a server that was just
    /// installed
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

/// Let the counter go on at a number
///
/// For a counter that is to begin elsewhere than at 1, and for a store that was restored, replaced
/// or deleted: its counter may have gone back, so nothing is issued until you say where to go on.
/// The number must be above every one that was ever issued, by any process; a gap does no harm.
///
/// The counter never goes back by this: if it stands further on, it stays there. One that counts in
/// steps goes on at the next of its numbers. One that is not there begins as the options say.
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
        // A counter that is `lost` is shown as well: its number helps to find the one to resume
        // with.
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
