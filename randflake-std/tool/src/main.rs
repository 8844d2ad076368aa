//! `randflake`, the command line tool. The rules are the library's, and the server is `randflake-serve`.
//!
//! `cli` names the subcommands, which are in `command`. What several need, such as the options that choose a store, is beside
//! them, and what the server needs too in `randflake-common`.

// They panic where standard error is a full disk: `failure::say` does not.
#![deny(clippy::print_stderr)]
#![expect(
    clippy::doc_markdown,
    reason = "the doc comments of arguments are the help texts, shown as they are"
)]

mod cli;
mod command;
mod failure;
mod hardening;
mod layout;
mod max_ttl;
mod output;
mod secret;
mod store;
mod wait;

use std::process::ExitCode;

use clap::Parser;
use cli::Cli;

fn main() -> ExitCode {
    // Before the secret is read from anywhere.
    hardening::hide_memory();
    // `parse` would print errors itself, with arguments in them that may hold passwords.
    match Cli::try_parse() {
        Ok(cli) => match cli.run() {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => failure::report(&failure),
        },
        Err(error) => failure::report_usage(&error),
    }
}
