//! `randflake token`

use core::num::NonZeroU64;
use core::ops::RangeInclusive;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Subcommand;

use super::access::{self, Line, Pattern, Scope, TokenSecret};
use crate::failure::Failure;
use crate::number::within;
use crate::output::stdout;

/// Make tokens for the clients of `randflake serve`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    New(New),
}

/// Make a token
///
/// Prints the token, which is shown this once, and the line for the file of `randflake serve --tokens`, which has only
/// its SHA-256. With --file the line is added to that file, and only the token is printed. A running server reads the
/// file again within two seconds. To revoke a token, remove its line.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake token new --name billing --scopes ids --namespaces orders --file tokens > billing.token
  randflake token new --name devices --scopes ids --namespaces 'sensors-*' --ids-per-second 10000")]
struct New {
    /// Whose it is, for the log and the list of leases: a-z, A-Z, 0-9, '-', '_', '.', '@' and '/'
    #[arg(long, value_parser = access::name)]
    name: String,
    /// What it may be used for
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        required = true,
        value_name = "SCOPE"
    )]
    scopes: Vec<Scope>,
    /// In which namespaces: names, beginnings of names and *, or * for all
    #[arg(long, value_delimiter = ',', required = true, value_name = "PATTERN")]
    namespaces: Vec<Pattern>,
    /// How many ids it may get in a second [default: any number]
    #[arg(long, value_name = "N", value_parser = within::<NonZeroU64>(1..=u64::MAX))]
    ids_per_second: Option<NonZeroU64>,
    /// How many requests it may make in a second [default: any number]
    #[arg(long, value_name = "N", value_parser = within::<NonZeroU64>(1..=u64::MAX))]
    requests_per_second: Option<NonZeroU64>,
    /// How many leases it may acquire in a second, also at once [default: 50, and 1000 at once]
    #[arg(long, value_name = "N", value_parser = within::<NonZeroU64>(1..=u64::MAX))]
    leases_per_second: Option<NonZeroU64>,
    /// How often it may read the store in a second, to explain, list or show what there is; a list counts as one for each
    /// 100 leases [default: 100, and 1000 at once]
    #[arg(long, value_name = "N", value_parser = within::<NonZeroU64>(1..=u64::MAX))]
    reads_per_second: Option<NonZeroU64>,
    /// Which node ids it may lease, as FIRST-LAST: it holds no more at once than these, on all servers together
    /// [default: all but the servers' own]
    #[arg(long, value_name = "FIRST-LAST", value_parser = access::node_ids)]
    node_ids: Option<RangeInclusive<u32>>,
    /// Add the line to this file, which is made if it is not there
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

impl Args {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match &self.command {
            Command::New(new) => new.run(),
        }
    }
}

impl New {
    fn run(&self) -> Result<(), Failure> {
        let secret = TokenSecret::new().map_err(Failure::failed)?;
        let line = Line {
            name: self.name.clone(),
            hash: secret.hash(),
            scopes: self.scopes.clone(),
            namespaces: self.namespaces.clone(),
            ids_per_second: self.ids_per_second,
            requests_per_second: self.requests_per_second,
            leases_per_second: self.leases_per_second,
            reads_per_second: self.reads_per_second,
            node_ids: self.node_ids.clone(),
        };
        if let Some(path) = &self.file {
            add(path, &line)?;
        }
        let mut out = stdout();
        writeln!(out, "{}", secret.as_str())?;
        if self.file.is_none() {
            writeln!(out, "{line}")?;
        }
        Ok(out.flush()?)
    }
}

/// Adds a line, unless the file is not one of tokens or has the name.
fn add(path: &Path, line: &Line) -> Result<(), Failure> {
    let told = |error: io::Error| Failure::failed(format!("{}: {error}", path.display()));
    let before = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        read => read.map_err(told)?,
    };
    let gap = if before.is_empty() || before.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let after = format!("{before}{gap}{line}\n");
    let wrong = |problem| Failure::failed(format!("{}: {problem}", path.display()));
    access::check(&after).map_err(wrong)?;
    let mut options = OpenOptions::new();
    let mut file = options.append(true).create(true).open(path).map_err(told)?;
    file.write_all(format!("{gap}{line}\n").as_bytes())
        .map_err(told)?;
    file.sync_all().map_err(told)
}
