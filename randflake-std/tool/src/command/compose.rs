//! The command `randflake compose`.

use core::time::Duration;
use std::io::Write;

use randflake_common::date;
use randflake_common::form::TextFormat;
use randflake_common::number::{check, wrong};
use randflake_std::date::utc;
use randflake_std::randflake_core::{FieldError, LayoutSpec};

use crate::command::convert::FormatArgs;
use crate::command::inspect::{FieldsWriter, Shape};
use crate::failure::Failure;
use crate::layout::LayoutArgs;
use crate::output::stdout;
use crate::secret::SecretArgs;

/// Make the id of a time, a node id and a sequence
///
/// For tests and for debugging: it asks no lease store, so the id may also be issued by somebody
/// else.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake compose --time 1733706297 --node 42 --sequence 1
  randflake compose --time 2024-12-09T01:04:57Z --node 42 --sequence 1
  randflake compose --layout snowflake --time 1733706297.123 --node 3,7 --sequence 1")]
pub(crate) struct ComposeArgs {
    /// Seconds since 1970, with up to three decimals if the layout has them, or a date such as
    /// 2024-12-09T01:04:57Z; 1730000000 to 2803741823 in the Randflake layout
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    time: String,
    /// Node id, 0 to 131071 in the Randflake layout; or the values of its parts, as in 3,7; none
    /// where the layout has no node id
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    node: Option<String>,
    /// Sequence, 0 to 131071 in the Randflake layout
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    sequence: String,
    #[command(flatten)]
    format: FormatArgs,
    #[command(flatten)]
    layout: LayoutArgs,
    #[command(flatten)]
    secret: SecretArgs,
}

impl ComposeArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let spec = self.layout.layout.spec();
        let time = self.read_time(spec)?;
        let node_id = self.read_node_id(spec)?;
        let sequence = check(
            "--sequence <S>",
            &self.sequence,
            0..=spec.max_sequence().into(),
        )?;
        // After all other arguments were checked: a wrong one is the more useful error than a
        // missing secret.
        let codec = self.layout.layout.codec(&self.secret)?;
        let id = codec
            .compose_at(time, node_id, sequence)
            .map_err(Failure::usage)?;
        let mut out = stdout();
        let mut fields = FieldsWriter::new(&codec, Shape::Json);
        let format = self.format.or(TextFormat::Text);
        format.write(&mut out, &mut fields, &[id])?;
        Ok(out.flush()?)
    }

    fn read_time(&self, spec: LayoutSpec) -> Result<Duration, Failure> {
        let (first, last) = (spec.unix_ms(0), spec.unix_ms(spec.max_tick()));
        // A date is tried first: it has hyphens, so no number is one.
        let unix_ms = date::unix_ms(&self.time).or_else(|| read_ms(&self.time));
        let Some(unix_ms) = unix_ms else {
            let allowed = "seconds since 1970 are allowed, with up to three decimals, or a day in UTC such as 2024-12-09, or \
                           a time of it such as 2024-12-09T01:04:57Z";
            return Err(wrong("--time <TIME>", &self.time, allowed));
        };
        let unix_ms = Some(unix_ms).filter(|unix_ms| (first..=last).contains(unix_ms));
        unix_ms.map(Duration::from_millis).ok_or_else(|| {
            let dated = |ms| format!("{} ({})", seconds(ms), utc(Duration::from_millis(ms)));
            let mut allowed = format!("{} to {} are allowed", dated(first), dated(last));
            // JavaScript and Java give milliseconds.
            if read_ms(&self.time).is_some_and(|ms| (first..=last).contains(&(ms / 1_000))) {
                allowed += "; it looks like milliseconds";
            }
            wrong("--time <TIME>", &self.time, &allowed)
        })
    }

    fn read_node_id(&self, spec: LayoutSpec) -> Result<u32, Failure> {
        const ARGUMENT: &str = "--node <N>";
        let Some(node) = &self.node else {
            return match spec.max_node_id() {
                // The only node id of the layout goes without saying.
                0 => Ok(0),
                max => Err(Failure::usage(format!(
                    "{ARGUMENT} is missing: 0 to {max} are allowed"
                ))),
            };
        };
        // One number is the whole node id, even in layouts whose node id has parts.
        if !node.contains(',') {
            return check(ARGUMENT, node, 0..=spec.max_node_id().into());
        }
        let number = |value: &str| {
            let number = value.parse::<u32>();
            number.map_err(|_| wrong(ARGUMENT, node, &format!("'{value}' is not a number")))
        };
        let values: Vec<u32> = node.split(',').map(number).collect::<Result<_, _>>()?;
        spec.node_id(&values).map_err(|error| {
            let names: Vec<_> = spec.node_fields().iter().map(|(name, _)| *name).collect();
            let problem = match (error, &*names) {
                (FieldError::NodeParts { .. }, []) => {
                    "the layout's node id has no parts: one number is allowed".to_owned()
                }
                (FieldError::NodeParts { .. }, names) => {
                    format!("a value for each part is needed: {}", names.join(","))
                }
                (error, _) => error.to_string(),
            };
            wrong(ARGUMENT, node, &problem)
        })
    }
}

/// Reads seconds with up to three decimals as milliseconds.
fn read_ms(text: &str) -> Option<u64> {
    let (seconds, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !is_number(seconds) || !is_number(decimals) || decimals.len() > 3 {
        return None;
    }
    // Not as a float: 1733706297.123 would be rounded to other milliseconds.
    let ms: u64 = format!("{decimals:0<3}").parse().ok()?;
    seconds
        .parse::<u64>()
        .ok()?
        .checked_mul(1_000)?
        .checked_add(ms)
}

/// Shows milliseconds as seconds, with decimals only if there are some.
fn seconds(unix_ms: u64) -> String {
    match unix_ms % 1_000 {
        0 => (unix_ms / 1_000).to_string(),
        ms => format!("{}.{ms:03}", unix_ms / 1_000),
    }
}
