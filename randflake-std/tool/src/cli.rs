//! The command line as a whole: its help, environment and exit status.

use clap::{CommandFactory, Parser};

use crate::command::CliCommand;
use crate::failure::Failure;

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
