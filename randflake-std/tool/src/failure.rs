//! Ends of commands: one line on standard error, and an exit status.

use std::env;
use std::io;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
pub(crate) use randflake_common::failure::{Failure, one_line, say};

const FAILED: u8 = 1;
const USAGE: u8 = 2;
const LATER: u8 = 3;
const LOST: u8 = 4;
const BAD_ROWS: u8 = 5;
/// Added to a signal's number, as shells do for a command that the signal has ended.
pub(crate) const SIGNALLED: u8 = 128;

/// Says why in one line on standard error, and returns the exit status.
pub(crate) fn report(failure: &Failure) -> ExitCode {
    let status = match failure {
        // `randflake generate | head -1` has what it wants.
        Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            return ExitCode::SUCCESS;
        }
        // The sender of the signal knows.
        Failure::Interrupted(signal) => return ExitCode::from(SIGNALLED + signal),
        Failure::Output(_) | Failure::Failed(_) => FAILED,
        Failure::Usage(_) => USAGE,
        Failure::Later(_) => LATER,
        Failure::Lost(_) => LOST,
        Failure::BadRows(_) => BAD_ROWS,
    };
    say(&failure.to_string());
    ExitCode::from(status)
}

/// Reports what clap found: help and version as they are, and what is wrong with the arguments in
/// one line.
pub(crate) fn report_usage(error: &clap::Error) -> ExitCode {
    let is_help = matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if is_help {
        // A reader that has closed the output does not want the rest.
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
    match error.kind() {
        ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand => {
            // `segment` has subcommands, so there a number is a wrong one.
            let found = context(ContextKind::InvalidArg)
                .or_else(|| context(ContextKind::InvalidSubcommand));
            let count = found.filter(|text: &&str| issues && text.parse::<u64>().is_ok())?;
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
