//! `randflake`, the command line tool, and the server in it. The rules are the library's.
//!
//! `cli` names the subcommands. Those of the command line are in `command`, the server and its tokens in `serve`. What both
//! need, such as the options that choose a store, is beside them.

// The fuzz target `http` is built from this file, and the fuzzer brings its own `main`.
#![cfg_attr(fuzzing, no_main)]
// They panic where standard error is a full disk: `failure::say` does not.
#![deny(clippy::print_stderr)]
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
mod id_form;
mod layout;
mod limits;
mod max_ttl;
mod mistake;
mod number;
mod output;
mod secret;
#[cfg(feature = "serve")]
mod serve;
#[cfg(not(feature = "serve"))]
#[path = "no_serve.rs"]
mod serve;
mod state_directory;
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
            Err(failure) => failure.report(),
        },
        Err(error) => failure::report_usage(&error),
    }
}
