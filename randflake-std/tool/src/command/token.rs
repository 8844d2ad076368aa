//! The command `randflake token`: makes tokens for clients of `randflake serve`, lists, replaces
//! and revokes them.

use core::num::NonZeroU64;
use core::ops::RangeInclusive;
use core::time::Duration;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};
use randflake_common::date::{self, now};
use randflake_common::number::within;
use randflake_serve::tokens::{self, Pattern, Scope, TokenLine, TokenSecret, TokensFile, name};
use randflake_std::date::{span, utc};
use randflake_std::private_file;
use serde::Serialize;
use zeroize::Zeroizing;

use crate::failure::Failure;
use crate::output::{print_line, stdout};

/// Make tokens for the clients of `randflake serve`, list, replace and revoke them
#[derive(Debug, clap::Args)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    command: TokenCommand,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
    New(New),
    List(List),
    Rotate(Rotate),
    Revoke(Revoke),
}

impl TokenArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match &self.command {
            TokenCommand::New(new) => new.run(),
            TokenCommand::List(list) => list.run(),
            TokenCommand::Rotate(rotate) => rotate.run(),
            TokenCommand::Revoke(revoke) => revoke.run(),
        }
    }
}

/// Make a token
///
/// Prints the token, which is shown this once, and the line for the file of `randflake serve
/// --tokens`, which has only its SHA-256. With --file the line is added to that file, and only the
/// token is printed; with --out the token goes to a file of its own. A running server reads the
/// file of tokens again within two seconds.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake token new --name billing --scopes ids --namespaces orders --file tokens --out billing.token
  randflake token new --name devices --scopes ids --namespaces 'sensors-*' --ids-per-second 10000")]
struct New {
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
    /// How often it may read the store in a second, to explain, list or show what there is; a list
    /// counts as one for each 100 leases [default: 100, and 1000 at once]
    #[arg(long, value_name = "N", value_parser = within::<NonZeroU64>(1..=u64::MAX))]
    reads_per_second: Option<NonZeroU64>,
    /// When it expires: a date, a time such as 90d from now, or never
    #[arg(long, value_name = "WHEN", default_value = "never", value_parser = expiry)]
    expires: Expiry,
    /// Which node ids it may lease, as FIRST-LAST: it holds no more at once than these, on all
    /// servers together [default: all but the servers' own]
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
    fn run(&self) -> Result<(), Failure> {
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

/// Show the tokens of a file: whose they are, what for, and until when
///
/// A token itself is in no file. Its number here is the beginning of its SHA-256, which tells two
/// of one name apart.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake token list --file tokens
  randflake token list --file tokens --json")]
struct List {
    /// The file of `randflake serve --tokens`
    #[arg(long, value_name = "FILE")]
    file: PathBuf,
    /// Print a JSON object for each
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct TokenRow {
    name: String,
    id: String,
    scopes: Vec<&'static str>,
    namespaces: Vec<String>,
    expires_utc: Option<String>,
    expired: bool,
}

impl TokenRow {
    fn of(token: &TokenLine) -> Self {
        Self {
            name: token.name.clone(),
            id: token.id(),
            scopes: token.scopes.iter().map(|scope| scope.name()).collect(),
            namespaces: token.namespaces.iter().map(ToString::to_string).collect(),
            expires_utc: token.until.map(utc),
            expired: token.has_expired(now()),
        }
    }
}

impl List {
    fn run(&self) -> Result<(), Failure> {
        let tokens = TokensFile::open(&self.file)?.tokens();
        let mut out = stdout();
        for token in &tokens {
            let row = TokenRow::of(token);
            if self.json {
                out.object(&row)?;
                continue;
            }
            let left = token.until.map(|until| until.saturating_sub(now()));
            let state = match (left, row.expires_utc) {
                (Some(left), Some(_)) if !row.expired => format!("expires in {}", span(left)),
                (_, Some(at)) => format!("expired at {at}"),
                _ => "does not expire".to_owned(),
            };
            writeln!(
                out,
                "{} {}: {} in {}; {state}",
                row.name,
                row.id,
                row.scopes.join(", "),
                row.namespaces.join(", ")
            )?;
        }
        Ok(out.flush()?)
    }
}

/// Replace a token by a new one of the same name
///
/// Prints the new token, which is shown this once. It has the rights and quotas of the old one, and
/// both count against the same quotas. The old one is valid for as long as --keep says: give the
/// new one to all clients before. To end the old one at once, `token revoke` takes its number.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake token rotate billing --file tokens --out new.token
  randflake token rotate billing --keep 7d --expires 90d --file tokens --out new.token")]
struct Rotate {
    /// Name of the token
    #[arg(value_name = "NAME", value_parser = name)]
    name: String,
    /// The file of `randflake serve --tokens`
    #[arg(long, value_name = "FILE")]
    file: PathBuf,
    /// How long the old one stays valid: seconds, or a time such as 1h or 7d
    #[arg(long, value_name = "TIME", default_value = "1d", value_parser = date::duration)]
    keep: Duration,
    /// When the new one expires: a date, a time such as 90d from now, or never [default: never, if
    /// the old one does not]
    #[arg(long, value_name = "WHEN", value_parser = expiry)]
    expires: Option<Expiry>,
    #[command(flatten)]
    output: TokenOutput,
}

impl Rotate {
    fn run(&self) -> Result<(), Failure> {
        let file = TokensFile::open(&self.file)?;
        let old = file.named(&self.name)?;
        // Those that were rotated before end earlier than the one in use.
        let in_use = old
            .into_iter()
            .max_by_key(|token| token.until.unwrap_or(Duration::MAX));
        let Some(in_use) = in_use else {
            return Err(Failure::failed("there is no token"));
        };
        let until = match (self.expires, in_use.until) {
            (Some(expires), _) => expires.unix(),
            (None, None) => None,
            (None, Some(until)) => {
                return Err(Failure::usage(format!(
                    "the token of {:?} expires at {}: say when the new one does, with --expires WHEN or --expires never",
                    self.name,
                    utc(until)
                )));
            }
        };
        let secret = TokenSecret::new().map_err(Failure::failed)?;
        let new = TokenLine {
            hash: secret.hash(),
            until,
            ..in_use
        };
        // Never later than it would have ended: a rotation must not make an old token live longer.
        let kept = after(self.keep);
        let shortened = |token: &TokenLine| {
            let until = token.until.map_or(kept, |until| until.min(kept));
            TokenLine {
                until: Some(until),
                ..token.clone()
            }
        };
        let is_named = |token: &TokenLine| token.name == self.name;
        let line = |token: &TokenLine| {
            if is_named(token) {
                shortened(token).to_string()
            } else {
                token.to_string()
            }
        };
        // If the file cannot be replaced, the old token goes on unchanged.
        self.output.hand_out(&secret, || {
            file.replace(|token| Some(line(token)), Some(&new))
        })
    }
}

/// Revoke a token
///
/// Removes the lines of a name from the file. A running server reads it again within two seconds;
/// connections that have sent the token get no more. Leases that the token has acquired stay until
/// they expire: nobody can renew them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake token revoke billing --file tokens
  randflake token revoke billing --id 5d0f1a2b --file tokens")]
struct Revoke {
    /// Name of the token
    #[arg(value_name = "NAME", value_parser = name)]
    name: String,
    /// The file of `randflake serve --tokens`
    #[arg(long, value_name = "FILE")]
    file: PathBuf,
    /// Only this one of the name, by its number in `token list`
    #[arg(long, value_name = "HEX")]
    id: Option<String>,
    /// Also if it is the last one that has admin
    #[arg(long)]
    force: bool,
}

impl Revoke {
    fn run(&self) -> Result<(), Failure> {
        let file = TokensFile::open(&self.file)?;
        let mut revoked = file.named(&self.name)?;
        if let Some(id) = &self.id {
            let ids: Vec<_> = revoked.iter().map(TokenLine::id).collect();
            revoked.retain(|token| token.id() == *id);
            if revoked.is_empty() {
                return Err(Failure::failed(format!(
                    "no token of {:?} has the number {id:?}: it has {}",
                    self.name,
                    ids.join(", ")
                )));
            }
        }
        let is_revoked = |token: &TokenLine| revoked.iter().any(|one| one.hash == token.hash);
        // An expired token opens nothing, so it counts as none.
        let is_admin =
            |token: &&TokenLine| token.scopes.contains(&Scope::Admin) && !token.has_expired(now());
        let tokens = file.tokens();
        let mut admins = tokens.iter().filter(is_admin).peekable();
        if !self.force && admins.peek().is_some() && admins.all(is_revoked) {
            return Err(Failure::failed(format!(
                "{:?} has the last valid token with admin: nobody could see the page and metrics, or move a device; make \
                 another one first, or add --force",
                self.name
            )));
        }
        let count = revoked.len();
        file.replace(
            |token| (!is_revoked(token)).then(|| token.to_string()),
            None,
        )?;
        print_line(format_args!(
            "revoked {count} {} of {}; a running server refuses it within two seconds",
            if count == 1 { "token" } else { "tokens" },
            self.name
        ))
    }
}

/// Expiry of a token as typed on the command line.
#[derive(Clone, Copy, Debug)]
enum Expiry {
    Never,
    /// A time since the Unix epoch, in whole seconds.
    At(Duration),
    /// A time span from now.
    In(Duration),
}

impl Expiry {
    /// A time since the Unix epoch, in whole seconds; `None`: never.
    fn unix(self) -> Option<Duration> {
        match self {
            Self::Never => None,
            Self::At(unix) => Some(unix),
            Self::In(span) => Some(after(span)),
        }
    }
}

/// The time so long from now, in whole seconds.
fn after(span: Duration) -> Duration {
    Duration::from_secs(now().saturating_add(span).as_secs())
}

fn expiry(text: &str) -> Result<Expiry, String> {
    if text == "never" {
        return Ok(Expiry::Never);
    }
    if let Some(unix) = date::unix_ms(text).map(Duration::from_millis) {
        // A slip in the year: the token would be refused from the first request on.
        if unix <= now() {
            return Err("it is over already: a later date is allowed".to_owned());
        }
        return Ok(Expiry::At(unix));
    }
    date::duration(text).map(Expiry::In).map_err(|_| {
        "a date such as 2026-12-31, a time such as 90d from now, or never are allowed".to_owned()
    })
}

/// Options of the commands that make a token.
#[derive(Debug, clap::Args)]
struct TokenOutput {
    /// Write the token to this new file, for its owner alone, instead of standard output
    ///
    /// A file that the shell makes, as by `> FILE`, may be read by others.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl TokenOutput {
    /// Hands out a token that `record` puts where the server finds it. If one of the two fails,
    /// there is neither.
    fn hand_out(
        &self,
        secret: &TokenSecret,
        record: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Some(path) = &self.out else {
            // First the record: a token that is shown counts.
            record()?;
            let mut out = stdout();
            writeln!(out, "{}", secret.as_str())?;
            return Ok(out.flush()?);
        };
        let line = Zeroizing::new(format!("{}\n", secret.as_str()));
        private_file::write_new(path, line.as_bytes())
            .map_err(|error| Failure::of_new_file(path, &error))?;
        record().inspect_err(|_| {
            // The token in it will never count. That it stays is no second failure.
            _ = fs::remove_file(path);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_does_not_expire_before_it_is_made() {
        assert!(expiry("2020-01-01").unwrap_err().contains("a later date"));
        for later in ["2999-12-31", "90d", "never"] {
            expiry(later).unwrap();
        }
    }
}
