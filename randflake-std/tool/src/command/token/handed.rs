//! Where a new token is written, which nothing keeps afterwards.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use randflake_std::private_file;
use zeroize::Zeroizing;

use crate::failure::Failure;
use crate::output::stdout;
use randflake_serve::tokens::TokenSecret;

/// Options of the commands that make a token.
#[derive(Debug, clap::Args)]
pub(super) struct TokenOutput {
    /// Write the token to this new file, for its owner alone, instead of standard output
    ///
    /// A file that the shell makes, as by `> FILE`, may be read by others.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl TokenOutput {
    /// Hands out a token that `record` puts where the server finds it. If one of the two fails, there is neither.
    pub(super) fn hand_out(
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
