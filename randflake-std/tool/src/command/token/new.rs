//! The command `randflake token new`.

use core::num::NonZeroU64;
use core::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::expiry::{self, Expiry};
use super::handed::TokenOutput;
use crate::failure::Failure;
use crate::output::print_line;
use randflake_common::number::within;
use randflake_serve::tokens::{self, Pattern, Scope, TokenLine, TokenSecret, TokensFile};

/// Make a token
///
/// Prints the token, which is shown this once, and the line for the file of `randflake serve --tokens`, which has only
/// its SHA-256. With --file the line is added to that file, and only the token is printed; with --out the token goes to a
/// file of its own. A running server reads the file of tokens again within two seconds.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake token new --name billing --scopes ids --namespaces orders --file tokens --out billing.token
  randflake token new --name devices --scopes ids --namespaces 'sensors-*' --ids-per-second 10000")]
pub(super) struct New {
    /// Whose it is, for the log and the list of leases: a-z, A-Z, 0-9, '-', '_', '.', '@' and '/'
    #[arg(long, value_parser = tokens::name)]
    name: String,
    /// What it may be used for
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        required = true,
        value_name = "SCOPE"
    )]
    scopes: Vec<ScopeArg>,
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
    /// When it expires: a date, a time such as 90d from now, or never
    #[arg(long, value_name = "WHEN", default_value = "never", value_parser = expiry::expiry)]
    expires: Expiry,
    /// Which node ids it may lease, as FIRST-LAST: it holds no more at once than these, on all servers together
    /// [default: all but the servers' own]
    #[arg(long, value_name = "FIRST-LAST", value_parser = tokens::node_ids)]
    node_ids: Option<RangeInclusive<u32>>,
    /// Add the line to this file, which is made, for its owner alone, if it is not there
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    output: TokenOutput,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ScopeArg {
    /// Make new ids of a namespace
    Ids,
    /// Leases: acquire, renew, release, list
    Leases,
    /// The fields of ids
    Inspect,
    /// The page, metrics, and who holds what in all of the token's namespaces
    Admin,
}

impl ScopeArg {
    const fn scope(self) -> Scope {
        match self {
            Self::Ids => Scope::Ids,
            Self::Leases => Scope::Leases,
            Self::Inspect => Scope::Inspect,
            Self::Admin => Scope::Admin,
        }
    }
}

impl New {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let secret = TokenSecret::new().map_err(Failure::failed)?;
        let line = TokenLine {
            name: self.name.clone(),
            hash: secret.hash(),
            scopes: self.scopes.iter().map(|scope| scope.scope()).collect(),
            namespaces: self.namespaces.clone(),
            // In the order of `QuotaKind`.
            quotas: [
                self.ids_per_second,
                self.requests_per_second,
                self.leases_per_second,
                self.reads_per_second,
            ],
            until: self.expires.unix(),
            node_ids: self.node_ids.clone(),
        };
        self.output.hand_out(&secret, || match &self.file {
            Some(path) => add(path, &line),
            None => Ok(()),
        })?;
        match &self.file {
            Some(_) => Ok(()),
            None => print_line(line),
        }
    }
}

/// Adds a line, unless the file is not one of tokens or has the name.
fn add(path: &Path, line: &TokenLine) -> Result<(), Failure> {
    let file = TokensFile::open_or_create(path)?;
    if file.tokens().iter().any(|token| token.name == line.name) {
        return Err(Failure::failed(format!(
            "{}: the name {:?} is there already: give each client its own; `randflake token rotate {}` makes a new token of \
             this name",
            path.display(),
            line.name,
            line.name
        )));
    }
    file.replace(|token| Some(token.to_string()), Some(line))
}
