//! The command `randflake token revoke`.

use std::path::PathBuf;

use crate::failure::Failure;
use crate::output::print_line;
use randflake_common::date::now;
use randflake_serve::tokens::{Scope, TokenLine, TokensFile, name};

/// Revoke a token
///
/// Removes the lines of a name from the file. A running server reads it again within two seconds; connections that have sent
/// the token get no more. Leases that the token has acquired stay until they expire: nobody can renew them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake token revoke billing --file tokens
  randflake token revoke billing --id 5d0f1a2b --file tokens")]
pub(super) struct Revoke {
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
    pub(super) fn run(&self) -> Result<(), Failure> {
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
