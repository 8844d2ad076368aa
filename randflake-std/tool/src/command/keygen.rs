//! The command `randflake keygen`.

use std::path::PathBuf;

use randflake_std::lease::Namespace;
use randflake_std::private_file::{FileRefusal, RefusalReason};
use randflake_std::{Randflake, Secret, SecretError};

use crate::failure::Failure;
use crate::output::print_line;
use crate::secret::SecretArgs;

/// Make a secret: 32 hex digits
///
/// All that make or inspect the same ids need the same secret, and nobody else should have it. It
/// cannot be changed later: ids made under another secret are other ids, so give those another
/// namespace.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake keygen --out secret.key
  export RANDFLAKE_KEY=$(randflake keygen)
  randflake keygen --derive orders --key-file secret.key --out orders.key
  randflake keygen --key53 --key-file orders.key --out orders.53.key")]
pub(crate) struct KeygenArgs {
    /// Write it to a new file that only its owner may read; never to an existing one
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Derive it from the secret that there is, for the namespace of this name: the same each time
    ///
    /// Two namespaces under one secret give equal ids, so each needs its own.
    #[arg(long, value_name = "NAMESPACE")]
    derive: Option<String>,
    /// Print the key that ids of 53 bits have under the secret, for what takes a key and no secret:
    /// DuckDB, firmware
    ///
    /// It is no secret of a namespace: --key-file and RANDFLAKE_KEY take the secret, and derive
    /// this themselves.
    #[arg(long)]
    key53: bool,
    #[command(flatten)]
    from: SecretArgs,
}

impl KeygenArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let secret = match &self.derive {
            Some(name) => {
                // Any text would derive some secret, so at least a name that no namespace can have
                // is refused.
                Namespace::new(name, Randflake).map_err(Failure::usage)?;
                self.from.read()?.derive(name)
            }
            None if self.key53 => self.from.read()?,
            None if self.from.is_given() => {
                // Without `--derive` a new secret would be made, but a user who names a file means
                // the one in it.
                return Err(Failure::usage(
                    "--key-file: only --derive and --key53 take a secret",
                ));
            }
            None => Secret::generate().map_err(Failure::failed)?,
        };
        let secret = if self.key53 { secret.key53() } else { secret };
        // Never over an existing file: ids made under the secret in it could not be read any more.
        if let Some(path) = &self.out {
            return secret.write_new(path).map_err(|error| match error {
                SecretError::File(FileRefusal {
                    path,
                    reason: RefusalReason::Io(error),
                }) => Failure::of_new_file(&path, &error),
                error => Failure::failed(error),
            });
        }
        print_line(secret.to_hex().as_str())
    }
}
