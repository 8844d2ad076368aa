//! `randflake doctor`

mod checks;

use std::io::{self, Write};

use serde::Serialize;

use crate::failure::{Failure, one_line};
use crate::output::stdout;
use crate::secret::SecretArgs;
use crate::store::StoreArgs;

/// Check what `generate` needs, and say what is wrong
///
/// Prints a line for each check and fails if one finds a problem. It leases a node id for a moment to see
/// that this works, makes the default lease store if that is not there, and no secret.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake doctor
  randflake doctor --json | jq 'select(.ok | not)'")]
pub(crate) struct Args {
    /// Print an object for each check
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    secret: SecretArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// What a check has found.
#[derive(Debug, Serialize)]
struct Finding {
    check: &'static str,
    ok: bool,
    detail: String,
}

impl Finding {
    /// What is so, or what is wrong with it.
    fn new(check: &'static str, outcome: Result<String, String>) -> Self {
        let ok = outcome.is_ok();
        let detail = one_line(&outcome.unwrap_or_else(|problem| problem));
        Self { check, ok, detail }
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let Self { check, ok, detail } = self;
        let verdict = if *ok { "ok" } else { "problem" };
        writeln!(out, "{verdict:<8} {check:<12} {detail}")
    }
}

impl Args {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut out = stdout();
        let findings = checks::all(&self.secret, &self.store);
        for finding in &findings {
            if self.json {
                serde_json::to_writer(&mut out, finding).map_err(io::Error::from)?;
                writeln!(out)?;
            } else {
                finding.write(&mut out)?;
            }
        }
        out.flush()?;
        match findings.iter().filter(|finding| !finding.ok).count() {
            0 => Ok(()),
            1 => Err(Failure::failed("1 problem")),
            problems => Err(Failure::failed(format!("{problems} problems"))),
        }
    }
}
