//! `randflake compose`

use core::ops::RangeInclusive;
use core::time::Duration;

use randflake_std::randflake_core::{Codec, Spec};
use randflake_std::{Layout, Randflake};

use crate::failure::Failure;
use crate::form::Format;
use crate::number::within;
use crate::output::stdout;
use crate::secret::SecretArgs;

const SPEC: Spec = Randflake::SPEC;

/// Make the id of a time, a node id and a sequence
///
/// For tests and for debugging: it asks no lease store, so the id may also be issued by somebody else.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  randflake compose --time 1733706297 --node 42 --sequence 1")]
pub(crate) struct Args {
    /// Seconds since 1970, 1730000000 to 2803741823
    #[arg(
        long,
        value_name = "UNIX",
        value_parser = within::<u64>(times()),
        allow_negative_numbers = true
    )]
    time: u64,
    /// Node id, 0 to 131071
    #[arg(
        long,
        value_name = "N",
        value_parser = within::<u32>(0..=SPEC.max_node_id().into()),
        allow_negative_numbers = true
    )]
    node: u32,
    /// Sequence, 0 to 131071
    #[arg(
        long,
        value_name = "S",
        value_parser = within::<u32>(0..=SPEC.max_sequence().into()),
        allow_negative_numbers = true
    )]
    sequence: u32,
    /// What to print
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    #[command(flatten)]
    secret: SecretArgs,
}

/// The seconds that the layout has.
fn times() -> RangeInclusive<u64> {
    let unix = |tick| SPEC.unix_ms(tick) / 1_000;
    unix(0)..=unix(SPEC.max_tick())
}

impl Args {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let codec = Codec::<Randflake>::new(self.secret.read()?.cipher());
        let time = Duration::from_secs(self.time);
        let id = codec
            .compose_at(time, self.node, self.sequence)
            .map_err(Failure::usage)?;
        let mut out = stdout();
        self.format.write(&mut out, &codec, id)?;
        Ok(out.flush()?)
    }
}
