//! The command `randflake doctor`.

mod checks;

use std::io::{self, Write};
use std::path::PathBuf;

use randflake_std::lease::{Finding, Verdict};
use serde::Serialize;

use crate::failure::{Failure, one_line};
use crate::output::{stdout, visible};
use crate::secret::SecretArgs;
use crate::store::LeaseArgs;

/// Check what `generate` needs, and say what is wrong
///
/// Prints a line for each check, with what the lease store says of its own settings, and fails if one
/// finds a problem. A caution names a condition that cannot be checked from here. It makes nothing: no secret, no lease
/// store and no namespace. Where the namespace is there, it leases a node id for a moment to see that this works.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake doctor
  randflake doctor --namespace orders --keys /etc/randflake/orders
  randflake doctor --json | jq 'select(.ok | not)'")]
pub(crate) struct DoctorArgs {
    /// Print a JSON object for each check
    #[arg(long)]
    json: bool,
    /// Directory of the keys of a namespace of tagged UUIDs
    #[arg(long, value_name = "DIRECTORY", env = "RANDFLAKE_KEYS")]
    keys: Option<PathBuf>,
    #[command(flatten)]
    secret: SecretArgs,
    #[command(flatten)]
    store: LeaseArgs,
}

/// Finding of one check, a line of the output.
#[derive(Debug, Serialize)]
struct CheckResult {
    check: &'static str,
    /// Whether there is no problem. If there is a caution, only under its condition.
    ok: bool,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    caution: Option<String>,
}

impl CheckResult {
    /// The finding of a check that ends with the observed value, or with what is wrong.
    fn new(check: &'static str, outcome: Result<String, Failure>) -> Self {
        let ok = outcome.is_ok();
        let detail = outcome.unwrap_or_else(|failure| failure.to_string());
        // What a store says is somebody else's text.
        let detail = visible(&one_line(&detail));
        Self {
            check,
            ok,
            detail,
            caution: None,
        }
    }

    /// The finding of a store about itself.
    fn of_store(finding: Finding) -> Self {
        let Finding {
            name,
            value,
            verdict,
        } = finding;
        match verdict {
            Verdict::Fine => Self::new(name, Ok(value)),
            Verdict::Caution(sentence) => Self {
                caution: Some(visible(&one_line(&sentence))),
                ..Self::new(name, Ok(value))
            },
            Verdict::Wrong(sentence) => {
                Self::new(name, Err(Failure::failed(format!("{value}: {sentence}"))))
            }
            // A verdict that this program does not know is no reason to be calm.
            _ => Self::new(name, Err(Failure::failed(value))),
        }
    }

    /// The finding of a check that may fail.
    fn of(check: &'static str, found: Result<Finding, Failure>) -> Self {
        found.map_or_else(|failure| Self::new(check, Err(failure)), Self::of_store)
    }

    fn write(&self, out: &mut impl Write, width: usize) -> io::Result<()> {
        let Self {
            check,
            ok,
            detail,
            caution,
        } = self;
        let verdict = match (ok, caution) {
            (false, _) => "problem",
            (true, Some(_)) => "caution",
            (true, None) => "ok",
        };
        write!(out, "{verdict:<8} {check:<width$} {detail}")?;
        match caution {
            Some(caution) => writeln!(out, ": {caution}"),
            None => writeln!(out),
        }
    }
}

impl DoctorArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut out = stdout();
        // All at once: the width of the column is known when every check has a name.
        let findings = checks::all(&self.secret, self.keys.as_deref(), &self.store);
        let width = findings.iter().map(|finding| finding.check.len()).max();
        for finding in &findings {
            if self.json {
                out.object(finding)?;
            } else {
                finding.write(&mut out, width.unwrap_or_default())?;
            }
        }
        // Before the failure is said on standard error, so that it stands below the findings.
        out.flush()?;
        match findings.iter().filter(|finding| !finding.ok).count() {
            0 => Ok(()),
            1 => Err(Failure::failed("1 problem")),
            problems => Err(Failure::failed(format!("{problems} problems"))),
        }
    }
}
