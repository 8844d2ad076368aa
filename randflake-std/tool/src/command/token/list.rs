//! The command `randflake token list`.

use std::io::Write;
use std::path::PathBuf;

use randflake_std::date::{span, utc};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::stdout;
use randflake_common::date::now;
use randflake_serve::tokens::{TokenLine, TokensFile};

/// Show the tokens of a file: whose they are, what for, and until when
///
/// A token itself is in no file. Its number here is the beginning of its SHA-256, which tells two of one name apart.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake token list --file tokens
  randflake token list --file tokens --json")]
pub(super) struct List {
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
    pub(super) fn run(&self) -> Result<(), Failure> {
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
