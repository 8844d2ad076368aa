//! `randflake keygen`

use std::io::ErrorKind;
use std::path::PathBuf;

use randflake_std::{Secret, SecretError};

use crate::failure::Failure;
use crate::output::stdout;

/// Make a secret: 32 hex digits
///
/// All that make or inspect the same ids need the same secret, and nobody else should have it. It cannot
/// be changed later: ids made under another secret are other ids, so give those another namespace.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake keygen --out secret.key
  export RANDFLAKE_KEY=$(randflake keygen)")]
pub(crate) struct Args {
    /// Write it to a new file that only its owner may read; never to an existing one
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Args {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let secret = Secret::generate().map_err(Failure::failed)?;
        if let Some(path) = &self.out {
            return secret.write_new(path).map_err(refusal);
        }
        let mut out = stdout();
        writeln!(out, "{}", secret.to_hex().as_str())?;
        Ok(out.flush()?)
    }
}

fn refusal(error: SecretError) -> Failure {
    match error {
        SecretError::File { path, source } if source.kind() == ErrorKind::AlreadyExists => {
            let path = path.display();
            Failure::failed(format!(
                "{path} exists and is not overwritten: name a new file"
            ))
        }
        error => Failure::failed(error),
    }
}
