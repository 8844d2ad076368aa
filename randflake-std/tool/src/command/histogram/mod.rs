//! The command `randflake histogram`.

mod charts;
mod counts;

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use counts::{Buckets, Histogram};
use randflake_common::date;
use randflake_common::form::TextFormat;
use randflake_common::number::within;
use randflake_std::randflake_core::Codec;
use randflake_std::{Id, Parts, Secret};

use crate::command::input::{BLOCK, for_each_block};
use crate::command::rounded::RoundedArgs;
use crate::failure::Failure;
use crate::layout::LayoutChoice;
use crate::output::stdout;

/// Show how evenly ids are spread: over all numbers of 64 bits, or over shards
///
/// Histogram the ids from standard input, one on each line, or with -n a sample of a layout: one id in each of the last N
/// ticks, of one node id, under a secret of its own. A sample takes no lease and is not shown.
///
/// Draws a bar for each part, and tests by chi-square whether the counts are those of random numbers: p is how often
/// random numbers are spread as unevenly or more.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake generate -n 100000 | randflake histogram
  randflake histogram -n 100000 --layout snowflake
  randflake histogram -n 100000 --shards 8 --svg shards.svg
  psql -Atc 'SELECT id FROM orders' | randflake histogram --from int --shards 16")]
pub(crate) struct HistogramArgs {
    /// Count a sample of N ids instead
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        value_parser = within::<u32>(1..=100_000_000),
        conflicts_with = "from",
        allow_negative_numbers = true
    )]
    count: Option<u32>,
    /// The layout of the sample [default: randflake]
    #[arg(long, value_name = "LAYOUT", requires = "count")]
    layout: Option<LayoutChoice>,
    /// How the ids are written
    #[arg(long, value_enum, default_value = "text", value_name = "FORM")]
    from: TextFormat,
    #[command(flatten)]
    rounded: RoundedArgs,
    /// Into how many ranges of equal length the numbers of 64 bits are divided
    #[arg(
        long,
        value_name = "N",
        default_value = "16",
        value_parser = within::<u32>(2..=4_096),
        conflicts_with = "shards",
        allow_negative_numbers = true
    )]
    bins: u32,
    /// Count by the remainder of the division by N instead, as a database's shards do
    #[arg(
        long,
        value_name = "N",
        value_parser = within::<u32>(2..=4_096),
        allow_negative_numbers = true
    )]
    shards: Option<u32>,
    /// Draw the picture into this file, too; an existing one is overwritten
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

impl HistogramArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut counts = Histogram::new(match self.shards {
            Some(shards) => Buckets::Shard(shards),
            None => Buckets::Range(self.bins),
        });
        if let Some(count) = self.count {
            self.sample(count, &mut counts)?;
        } else {
            // Plain or encrypted, of any layout.
            let rounded = self.rounded.check(self.from, None);
            for_each_block(&[], rounded, |ids| {
                counts.add(ids.iter().map(|given| given.id));
                Ok(())
            })?;
        }
        if counts.total() == 0 {
            // All shares, and the test, would be 0/0.
            return Err(Failure::usage("there is no id to count"));
        }
        if let Some(path) = &self.svg {
            fs::write(path, charts::draw(&counts))
                .map_err(|error| Failure::failed(format!("{}: {error}", path.display())))?;
        }
        let mut out = stdout();
        if self.json {
            out.object(&counts.summary())?;
        } else {
            charts::write(&mut out, &counts)?;
        }
        Ok(out.flush()?)
    }

    /// One id in each of the last ticks, as a service makes them that is seldom asked.
    fn sample(&self, count: u32, counts: &mut Histogram) -> Result<(), Failure> {
        let chosen = self.layout.clone().unwrap_or_default();
        // A secret of its own: the picture is the same under any, and the user's need not be there.
        let secret = Secret::generate().map_err(Failure::failed)?;
        let codec = Codec::new(chosen.spec(), chosen.form().cipher(&secret));
        let spec = chosen.spec();
        let now = spec.tick_at(date::now()).unwrap_or_default();
        // A layout whose time is up still has a picture: that of its last ticks.
        let ticks = now.min(spec.max_tick());
        let first = ticks.checked_sub(u64::from(count)).ok_or_else(|| {
            Failure::usage(format!(
                "the layout has had {ticks} ticks since its epoch: a sample of at most as many is allowed"
            ))
        })?;
        let mut ids = Vec::with_capacity(BLOCK);
        let mut left = first..first + u64::from(count);
        while !left.is_empty() {
            ids.clear();
            for tick in left.by_ref().take(BLOCK) {
                ids.push(codec.compose(Parts {
                    tick,
                    // Any single node id shows the same picture.
                    node_id: spec.max_node_id().min(42),
                    sequence: 0,
                }));
            }
            let made: Result<Vec<Id>, _> = ids.iter().copied().collect();
            counts.add(made.map_err(Failure::usage)?);
        }
        Ok(())
    }
}
