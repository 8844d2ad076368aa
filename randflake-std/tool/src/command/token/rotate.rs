//! The command `randflake token rotate`.

use core::time::Duration;
use std::path::PathBuf;

use randflake_std::date::utc;

use super::expiry::{self, Expiry};
use super::handed::TokenOutput;
use crate::failure::Failure;
use randflake_common::date;
use randflake_serve::tokens::{TokenLine, TokenSecret, TokensFile, name};

/// Replace a token by a new one of the same name
///
/// Prints the new token, which is shown this once. It has the rights and quotas of the old one, and both count against the
/// same quotas. The old one is valid for as long as --keep says: give the new one to all clients before. To end the old one
/// at once, `token revoke` takes its number.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake token rotate billing --file tokens --out new.token
  randflake token rotate billing --keep 7d --expires 90d --file tokens --out new.token")]
pub(super) struct Rotate {
    /// Name of the token
    #[arg(value_name = "NAME", value_parser = name)]
    name: String,
    /// The file of `randflake serve --tokens`
    #[arg(long, value_name = "FILE")]
    file: PathBuf,
    /// How long the old one stays valid: seconds, or a time such as 1h or 7d
    #[arg(long, value_name = "TIME", default_value = "1d", value_parser = date::duration)]
    keep: Duration,
    /// When the new one expires: a date, a time such as 90d from now, or never [default: never, if the old one does not]
    #[arg(long, value_name = "WHEN", value_parser = expiry::expiry)]
    expires: Option<Expiry>,
    #[command(flatten)]
    output: TokenOutput,
}

impl Rotate {
    pub(super) fn run(&self) -> Result<(), Failure> {
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
        let kept = expiry::after(self.keep);
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
