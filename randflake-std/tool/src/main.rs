//! `randflake`, the command line tool. The rules are the library's, and the server is
//! `randflake-serve`.
//!
//! The subcommands are in `command`. What several need, such as the options that choose a store, is
//! beside them, and what the server needs too in `randflake-common`.

// They panic where standard error is a full disk: `failure::say` does not.
#![deny(clippy::print_stderr)]
#![expect(
    clippy::doc_markdown,
    reason = "the doc comments of arguments are the help texts, shown as they are"
)]

mod command;
mod failure;
mod layout;
mod output;
mod secret;
mod store;
mod wait;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::command::CliCommand;
use crate::failure::Failure;

fn main() -> ExitCode {
    // Before the secret is read from anywhere.
    hide_memory();
    // `parse` would print errors itself, with arguments in them that may hold passwords.
    match Cli::try_parse() {
        Ok(cli) => match cli.run() {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => failure::report(&failure),
        },
        Err(error) => failure::report_usage(&error),
    }
}

/// Unique, unpredictable 64-bit ids, without a server
#[derive(Debug, Parser)]
#[command(name = "randflake", version, max_term_width = 100, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: CliCommand,
}

impl Cli {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        self.command.run(Self::command)
    }
}

const AFTER_HELP: &str = "\
Environment:
  RANDFLAKE_KEY          the secret, 32 hex digits, unless --key-file
  CREDENTIALS_DIRECTORY  of systemd: its file randflake.key is the secret, without
                         these two
  RANDFLAKE_KEYS         the directory of keys of tagged UUIDs, unless --keys
  RANDFLAKE_TICKET_KEY   the key of devices' tickets, unless --ticket-key-file
  RANDFLAKE_STORE        the URL of the store, unless --store
  RANDFLAKE_STORE_FILE   a file with that URL, unless --store-file
  RANDFLAKE_NAMESPACE    the namespace, unless --namespace
  RANDFLAKE_MAX_TTL      the longest TTL of the namespace, as --max-ttl says it
  RANDFLAKE_NODE_ID      the node id of a store static:PATH?node=env
  XDG_STATE_HOME         its folder randflake has the default key and leases;
                         ~/.local/state unless set

Exit status:
  0  all is well, or the reader of the output has gone
  1  it failed: a file, the lease store, the clock
  2  what was given is wrong: an argument, a variable, a line of input
  3  nothing can be granted now: too few node ids are free, or the store is in quarantine
  4  lease renew: a lease is lost
  5  inspect and convert of a table with --on-error: done, but some rows have no valid id
  130, 143  ended by Ctrl-C or SIGTERM: leases are released, and the output ends with a whole line

Examples:
  randflake generate -n 5
  randflake generate | randflake inspect
  randflake convert --to int 3vgoe12ccb8gh";

/// Forbids core dumps, debuggers, and `/proc/PID/environ` and `/proc/PID/mem` to all but root.
///
/// The secret, its round keys and `RANDFLAKE_KEY` are there.
#[cfg(target_os = "linux")]
pub(crate) fn hide_memory() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};

    // Where the kernel refuses, the tool works all the same: this is a second line of defence.
    _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn hide_memory() {}
