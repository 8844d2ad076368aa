//! `randflake`, the command line tool. A file per subcommand; the rules are the library's.

// A fuzzer has its own.
#![cfg_attr(fuzzing, no_main)]
#![expect(
    clippy::doc_markdown,
    reason = "the doc comments of arguments are the help texts, shown as they are"
)]

mod bits;
mod cli;
mod completions;
mod compose;
mod convert;
mod date;
mod doctor;
mod equal_ids;
mod explain;
mod failure;
mod form;
mod format;
mod generate;
mod hardening;
mod hex;
mod histogram;
mod input;
mod inspect;
mod interrupt;
mod json;
mod keygen;
mod layout;
mod lease;
mod man;
mod max_ttl;
mod mistake;
#[cfg(not(feature = "serve"))]
mod no_serve;
mod number;
mod output;
mod progress;
mod record;
mod secret;
mod segment;
#[cfg(feature = "serve")]
mod serve;
mod state_directory;
mod store;
mod utc;
mod wait;

use std::process::ExitCode;

use clap::Parser;

use cli::Cli;

fn main() -> ExitCode {
    hardening::hide_memory();
    match Cli::try_parse() {
        Ok(cli) => match cli.run() {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => failure.report(),
        },
        Err(error) => failure::report_usage(&error),
    }
}
