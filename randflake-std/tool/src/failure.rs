//! How a command fails: one line on standard error, and an exit status.

use core::error::Error;
use core::fmt::{self, Display, Formatter};
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::{env, io};

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use randflake_std::BuildError;
use randflake_std::date::{span, utc};
use randflake_std::lease::{DeviceLeaseError, StoreError};
use randflake_std::segment::CounterError;
use randflake_std::tagged::TaggedBuildError;

use crate::date::now;
use crate::output::visible;

/// Why a command failed. The variant decides its exit status.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was given is wrong: exit status 2.
    Usage(String),
    /// It did not work: exit status 1.
    Failed(String),
    /// Nothing can be granted now: exit status 3.
    Later(String),
    /// A lease is lost: exit status 4.
    Lost(String),
    /// It is done, and some rows of the input had no id: exit status 5.
    BadRows(String),
    /// Standard output could not be written.
    Output(io::Error),
    /// A signal of this number ended it.
    Interrupted(u8),
}

const FAILED: u8 = 1;
const USAGE: u8 = 2;
const LATER: u8 = 3;
const LOST: u8 = 4;
const BAD_ROWS: u8 = 5;
/// Added to a signal's number, as shells do for a command that the signal has ended.
pub(crate) const SIGNALLED: u8 = 128;

impl Failure {
    pub(crate) fn usage(message: impl Display) -> Self {
        Self::Usage(message.to_string())
    }

    pub(crate) fn failed(message: impl Display) -> Self {
        Self::Failed(message.to_string())
    }

    /// The failure of making a new file: an existing one is never overwritten.
    pub(crate) fn of_new_file(path: &Path, error: &io::Error) -> Self {
        let path = path.display();
        if error.kind() == io::ErrorKind::AlreadyExists {
            return Self::failed(format!(
                "{path} exists and is not overwritten: name a new file"
            ));
        }
        Self::failed(format!("{path}: {error}"))
    }

    /// Adds for how long it was tried.
    #[must_use]
    pub(crate) fn after(self, waited: Duration) -> Self {
        self.behind(format_args!("gave up after {}", span(waited)))
    }

    /// Puts what a message is about before it.
    #[must_use]
    pub(crate) fn behind(self, what: impl Display) -> Self {
        let behind = |message| format!("{what}: {message}");
        match self {
            // The variant stays: it decides the exit status, by which scripts tell "try again" from
            // "wrong".
            Self::Failed(message) => Self::Failed(behind(message)),
            Self::Usage(message) => Self::Usage(behind(message)),
            Self::Later(message) => Self::Later(behind(message)),
            other => other,
        }
    }

    /// Says why in one line on standard error, and returns the exit status.
    pub(crate) fn report(self) -> ExitCode {
        let status = match &self {
            // `randflake generate | head -1` has what it wants.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                return ExitCode::SUCCESS;
            }
            // Whoever sent the signal knows.
            Self::Interrupted(signal) => return ExitCode::from(SIGNALLED + signal),
            Self::Output(_) | Self::Failed(_) => FAILED,
            Self::Usage(_) => USAGE,
            Self::Later(_) => LATER,
            Self::Lost(_) => LOST,
            Self::BadRows(_) => BAD_ROWS,
        };
        say(&self.to_string());
        ExitCode::from(status)
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Output(error) => write!(f, "standard output: {error}"),
            Self::Interrupted(signal) => write!(f, "ended by signal {signal}"),
            Self::Failed(message)
            | Self::Usage(message)
            | Self::Later(message)
            | Self::Lost(message)
            | Self::BadRows(message) => f.write_str(message),
        }
    }
}

impl Error for Failure {}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            // A URL or a name of the caller's, so the caller has to correct it.
            StoreError::Invalid(message) => Self::Usage(message),
            // Both pass without anybody's doing: leases expire, and so does a quarantine.
            StoreError::Exhausted { .. } | StoreError::Quarantined { .. } => {
                Self::Later(error.to_string())
            }
            error => Self::failed(error),
        }
    }
}

impl From<CounterError> for Failure {
    fn from(error: CounterError) -> Self {
        match error {
            CounterError::Invalid(message) => Self::Usage(message),
            // Both pass by themselves, at the end of a period.
            CounterError::Full { .. } | CounterError::Ahead { .. } => {
                Self::Later(error.to_string())
            }
            error => Self::failed(error),
        }
    }
}

impl From<DeviceLeaseError> for Failure {
    fn from(error: DeviceLeaseError) -> Self {
        match error {
            DeviceLeaseError::Store(error) => error.into(),
            error => Self::failed(error),
        }
    }
}

impl From<TaggedBuildError> for Failure {
    fn from(error: TaggedBuildError) -> Self {
        match error {
            TaggedBuildError::Open(error) => error.into(),
            TaggedBuildError::Handle(error) => error.into(),
            error => Self::failed(error),
        }
    }
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::Store(error) => error.into(),
            BuildError::Waited { waited, error } => Self::from(error).after(waited),
            // Both come from options: `--ttl` and `--holder`.
            BuildError::Ttl { .. } | BuildError::Holder { .. } => Self::usage(error),
            error => Self::failed(error),
        }
    }
}

/// An I/O error is one of standard output: those of files are made with [`Failure::failed`], and name the file.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// Writes one line to standard error, whatever the message has in it; its beginning is coloured on a terminal.
///
/// Messages quote what others wrote: names of holders, errors of servers. A line feed or an escape sequence in them must not
/// look like a message of its own.
///
/// What cannot be written is dropped: a full disk or a reader that has gone must not end a server,
/// or change the exit status.
pub(crate) fn say(message: &str) {
    const NAME: Style = AnsiColor::Red.on_default().bold();
    let message = visible(&one_line(message));
    let time = if HAS_TIMES.load(Ordering::Relaxed) {
        utc(now()) + " "
    } else {
        String::new()
    };
    let line = format!("{time}{NAME}randflake:{NAME:#} {message}\n");
    // Not the macros of `anstream` or `std`, which panic.
    _ = AutoStream::auto(io::stderr().lock()).write_all(line.as_bytes());
}

/// Whether lines on standard error begin with the time.
static HAS_TIMES: AtomicBool = AtomicBool::new(false);

/// Lets each line from here on begin with the time: those of a server, unless a journal adds one.
#[cfg(feature = "serve")]
pub(crate) fn say_times() {
    HAS_TIMES.store(true, Ordering::Relaxed);
}

pub(crate) fn one_line(message: &str) -> String {
    let lines = message
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}

/// Reports what clap found: help and version as they are, and what is wrong with the arguments in one line.
pub(crate) fn report_usage(error: &clap::Error) -> ExitCode {
    let is_help = matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if is_help {
        // Whoever has closed the output does not want the rest.
        let _closed = error.print();
    } else {
        let text = without_urls(error.render().to_string());
        let tip = tip(error).unwrap_or_default();
        say(&(short(text.strip_prefix("error: ").unwrap_or(&text)) + &tip));
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(USAGE))
}

/// What an unknown argument was meant to be, where clap cannot know.
fn tip(error: &clap::Error) -> Option<String> {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let subcommand = env::args().nth(1);
    let issues = matches!(subcommand.as_deref(), Some("generate" | "segment"));
    let is_count = |text: &&str| issues && text.parse::<u64>().is_ok();
    match error.kind() {
        ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand => {
            // `segment` has subcommands, so there a number is a wrong one.
            let found = context(ContextKind::InvalidArg)
                .or_else(|| context(ContextKind::InvalidSubcommand));
            let count = found.filter(is_count)?;
            Some(format!("; tip: to make {count}, write -n {count}"))
        }
        ErrorKind::ArgumentConflict => context(ContextKind::PriorArg).and_then(variable_of),
        _ => None,
    }
}

/// Says that an option which nobody typed is there by its variable.
fn variable_of(option: &str) -> Option<String> {
    let name = option.split(' ').next()?;
    let variable = match name {
        "--store" => "RANDFLAKE_STORE",
        "--store-file" => "RANDFLAKE_STORE_FILE",
        "--namespace" => "RANDFLAKE_NAMESPACE",
        _ => return None,
    };
    let is_typed = env::args().any(|argument| argument.split('=').next() == Some(name));
    (!is_typed).then(|| format!("; tip: {name} is given by the variable {variable}"))
}

/// Hides URLs in a message: one of a store may hold a password, wherever it was typed.
fn without_urls(mut text: String) -> String {
    for argument in env::args_os().skip(1) {
        let argument = argument.to_string_lossy();
        let value = argument.split_once('=').map(|(_, value)| value);
        for given in [Some(&*argument), value].into_iter().flatten() {
            // Clap repeats wrong arguments, such as a URL that was typed without its option.
            if let Some((scheme, _)) = given.split_once("://") {
                text = text.replace(given, &format!("{scheme}://..."));
            }
        }
    }
    text
}

/// Clap's paragraphs without the advice to look for help.
fn short(text: &str) -> String {
    let paragraphs: Vec<_> = text
        .split("\n\n")
        .filter(|paragraph| !paragraph.starts_with("For more information"))
        .map(one_line)
        .collect();
    paragraphs.join("; ").replace("; Usage:", "; usage:")
}
