//! The command line: its commands, shell completions and manual pages.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::command::{
    compose, convert, doctor, explain, generate, histogram, inspect, keygen, lease, segment, serve,
    sql, uuid,
};
use crate::failure::Failure;
use crate::output::stdout;

/// Unique, unpredictable 64-bit ids, without a server
#[derive(Debug, Parser)]
#[command(name = "randflake", version, max_term_width = 100, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: CliCommand,
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
enum CliCommand {
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
    Completions(CompletionsArgs),
    Man(ManArgs),
}

impl Cli {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match &self.command {
            CliCommand::Keygen(args) => args.run(),
            CliCommand::Generate(args) => args.run(),
            CliCommand::Inspect(args) => args.run(),
            CliCommand::Explain(args) => args.run(),
            CliCommand::Compose(args) => args.run(),
            CliCommand::Convert(args) => args.run(),
            CliCommand::Histogram(args) => args.run(),
            CliCommand::Segment(args) => args.run(),
            CliCommand::Uuid(args) => args.run(),
            CliCommand::Sql(args) => args.run(),
            CliCommand::Lease(args) => args.run(),
            CliCommand::Doctor(args) => args.run(),
            CliCommand::Serve(command) => command.run(),
            CliCommand::Completions(args) => args.run(),
            CliCommand::Man(args) => args.run(),
        }
    }
}

/// Print a manual page, or write all of them
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake man | man -l -
  randflake man lease release | man -l -
  randflake man --out ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// The page of this subcommand; that of randflake itself when there is none
    #[arg(value_name = "SUBCOMMAND")]
    path: Vec<String>,
    /// Write the pages of all subcommands to this directory, which is made if need be
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "path")]
    out: Option<PathBuf>,
}

impl ManArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        // Pages for `help generate` and its like would repeat every page.
        let mut root = Cli::command().disable_help_subcommand(true);
        // Gives every subcommand its full name.
        root.build();
        if let Some(directory) = &self.out {
            return fs::create_dir_all(directory)
                .and_then(|()| write_pages(&root, directory))
                .map_err(|error| Failure::failed(format!("{}: {error}", directory.display())));
        }
        let mut command = &root;
        for name in &self.path {
            command = command
                .find_subcommand(name)
                .ok_or_else(|| no_subcommand(command, name))?;
        }
        let mut out = stdout();
        page(command).render(&mut out)?;
        Ok(out.flush()?)
    }
}

/// Writes the pages of a command and of its subcommands.
fn write_pages(command: &clap::Command, directory: &Path) -> io::Result<()> {
    page(command).generate_to(directory)?;
    let mut subcommands = command.get_subcommands();
    subcommands.try_for_each(|command| write_pages(command, directory))
}

fn page(command: &clap::Command) -> Man {
    let version = concat!("randflake ", env!("CARGO_PKG_VERSION"));
    Man::new(command.clone())
        .source(version)
        .manual("Randflake")
}

fn no_subcommand(command: &clap::Command, name: &str) -> Failure {
    let names: Vec<_> = command
        .get_subcommands()
        .map(clap::Command::get_name)
        .collect();
    Failure::usage(match names.as_slice() {
        [] => format!("{} has no subcommands, so no {name:?}", command.get_name()),
        names => format!("no subcommand {name:?}: {} are allowed", names.join(", ")),
    })
}

/// Print a shell's completion script
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake completions bash > ~/.local/share/bash-completion/completions/randflake
  randflake completions zsh > ~/.zfunc/_randflake
  randflake completions fish > ~/.config/fish/completions/randflake.fish")]
pub(crate) struct CompletionsArgs {
    /// Shell to complete for
    shell: Shell,
}

impl CompletionsArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        // Clap's generators panic when their writer fails, so they write to memory.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "randflake", &mut script);
        let mut out = stdout();
        out.write_all(&script)?;
        Ok(out.flush()?)
    }
}
