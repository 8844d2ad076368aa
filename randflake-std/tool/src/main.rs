//! `randflake`, the command line tool, and the service in it. The rules are the library's.
//!
//! `cli` names the subcommands. Those of the command line are in `command`, the service and its tokens in `serve`. What both
//! need, as the options that choose a store, stands beside them.

// A fuzzer has its own.
#![cfg_attr(fuzzing, no_main)]
#![expect(
    clippy::doc_markdown,
    reason = "the doc comments of arguments are the help texts, shown as they are"
)]

mod cli;
mod command;
mod date;
mod failure;
mod form;
mod hardening;
mod hex;
mod json;
mod layout;
mod max_ttl;
mod mistake;
mod number;
mod output;
mod secret;
#[cfg(feature = "serve")]
mod serve;
mod state_directory;
mod store;
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
