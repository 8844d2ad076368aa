//! The subcommands, and what the help says of all of them.

mod completions;
mod man;

use clap::{Parser, Subcommand};

use crate::command::{
    compose, convert, doctor, explain, generate, histogram, inspect, keygen, lease, segment, serve,
    sql, uuid,
};
use crate::failure::Failure;

/// Unique, unpredictable 64-bit ids, without a server
#[derive(Debug, Parser)]
#[command(name = "randflake", version, max_term_width = 100, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
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

#[derive(Debug, Subcommand)]
enum Command {
    Keygen(keygen::KeygenArgs),
    Generate(generate::GenerateArgs),
    Inspect(inspect::InspectArgs),
    Explain(explain::ExplainArgs),
    Compose(compose::ComposeArgs),
    Convert(convert::ConvertArgs),
    Histogram(histogram::HistogramArgs),
    Segment(segment::SegmentArgs),
    Uuid(uuid::UuidArgs),
    Sql(sql::SqlArgs),
    Lease(lease::LeaseCommandArgs),
    Doctor(doctor::DoctorArgs),
    // Flattened, so that a build without `serve` can replace both of its commands.
    #[command(flatten)]
    Serve(serve::ServeCommand),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

impl Cli {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match &self.command {
            Command::Keygen(args) => args.run(),
            Command::Generate(args) => args.run(),
            Command::Inspect(args) => args.run(),
            Command::Explain(args) => args.run(),
            Command::Compose(args) => args.run(),
            Command::Convert(args) => args.run(),
            Command::Histogram(args) => args.run(),
            Command::Segment(args) => args.run(),
            Command::Uuid(args) => args.run(),
            Command::Sql(args) => args.run(),
            Command::Lease(args) => args.run(),
            Command::Doctor(args) => args.run(),
            Command::Serve(command) => command.run(),
            Command::Completions(args) => args.run(),
            Command::Man(args) => args.run(),
        }
    }
}
