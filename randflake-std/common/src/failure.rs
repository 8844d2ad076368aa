//! Failures of commands: one line on standard error, and an exit status.

use core::error::Error;
use core::fmt::{self, Display, Formatter, Write as _};
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io;
use std::io::Write as _;
use std::path::Path;

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use randflake_std::BuildError;
use randflake_std::date::{span, utc};
use randflake_std::lease::{DeviceError, DeviceLeaseError, StoreError};
use randflake_std::segment::CounterError;
use randflake_std::tagged::{TagSecretsError, TaggedBuildError};

use crate::date::now;

/// Why a command failed. The variant decides its exit status.
#[derive(Debug)]
pub enum Failure {
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

impl Failure {
    /// Something that was given is wrong.
    pub fn usage(message: impl Display) -> Self {
        Self::Usage(message.to_string())
    }

    /// It did not work.
    pub fn failed(message: impl Display) -> Self {
        Self::Failed(message.to_string())
    }

    /// The failure of making a new file: an existing one is never overwritten.
    pub fn of_new_file(path: &Path, error: &io::Error) -> Self {
        let shown = path.display();
        if error.kind() == io::ErrorKind::AlreadyExists {
            return Self::failed(format!(
                "{shown} exists and is not overwritten: name a new file"
            ));
        }
        Self::failed(format!("{shown}: {error}"))
    }

    /// Adds for how long it was tried.
    #[must_use]
    pub fn after(self, waited: Duration) -> Self {
        self.behind(format_args!("gave up after {}", span(waited)))
    }

    /// Puts what a message is about before it.
    #[must_use]
    pub fn behind(self, what: impl Display) -> Self {
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

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        match error {
            DeviceError::Store(error) => error.into(),
            DeviceError::Unknown { device_id } => Self::failed(format!(
                "{error}: randflake lease device {device_id:016x} --counter N"
            )),
            DeviceError::Counter { .. } => Self::usage(error),
            error => Self::failed(error),
        }
    }
}

impl From<TagSecretsError> for Failure {
    fn from(error: TagSecretsError) -> Self {
        match error {
            TagSecretsError::Name(_) => Self::usage(error),
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

/// An I/O error is one of standard output: those of files are made with [`Failure::failed`], and
/// name the file.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// Writes one line to standard error, whatever the message has in it; its beginning is coloured on
/// a terminal.
///
/// Messages quote what others wrote: names of holders, errors of servers. A line feed or an escape
/// sequence in them must not look like a message of its own.
///
/// What cannot be written is dropped: a full disk or a reader that has gone must not end a server,
/// or change the exit status.
pub fn say(message: &str) {
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
pub fn say_times() {
    HAS_TIMES.store(true, Ordering::Relaxed);
}

/// Joins the lines of a message.
pub fn one_line(message: &str) -> String {
    let lines = message.lines().map(str::trim);
    let with_text: Vec<_> = lines.filter(|line| !line.is_empty()).collect();
    with_text.join(" ")
}

/// Escapes what could change a terminal or the lines around a text: control characters, and others
/// that are not seen, such as those that turn the direction of writing.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // `escape_debug` escapes them as well, and they do no harm.
            '\'' | '"' | '\\' => shown.push(c),
            _ => drop(write!(shown, "{}", c.escape_debug())),
        }
    }
    shown
}
