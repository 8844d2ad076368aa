//! The command `randflake histogram`.

use core::f64::consts::PI;
use core::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;
use std::{fs, io};

use randflake_common::date;
use randflake_common::form::TextFormat;
use randflake_common::number::within;
use randflake_std::randflake_core::Codec;
use randflake_std::{Id, Parts, Secret};
use serde::Serialize;

use crate::command::input::{BLOCK, for_each_block};
use crate::command::rounded::RoundedArgs;
use crate::failure::Failure;
use crate::layout::LayoutChoice;
use crate::output::stdout;

/// Show how evenly ids are spread: over all numbers of 64 bits, or over shards
///
/// Histogram the ids from standard input, one on each line, or with -n a sample of a layout: one id
/// in each of the last N ticks, of one node id, under a secret of its own. A sample takes no lease
/// and is not shown.
///
/// Draws a bar for each part, and tests by chi-square whether the counts are those of random
/// numbers: p is how often random numbers are spread as unevenly or more.
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
            fs::write(path, draw(&counts))
                .map_err(|error| Failure::failed(format!("{}: {error}", path.display())))?;
        }
        let mut out = stdout();
        if self.json {
            out.object(&counts.summary())?;
        } else {
            write(&mut out, &counts)?;
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

/// Division of the numbers into buckets, and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Buckets {
    /// Ranges of equal length of the 64-bit numbers without sign.
    Range(u32),
    /// Remainders of a division.
    Shard(u32),
}

struct Histogram {
    by: Buckets,
    counts: Vec<u64>,
}

/// Pearson's test of whether the counts are those of random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct ChiSquareTest {
    chi_square: f64,
    degrees_of_freedom: u32,
    p: f64,
    /// Whether there are enough ids for p to mean something: five in each part are the usual rule.
    #[serde(skip)]
    is_sound: bool,
}

/// The counts and the test, for programs.
#[derive(Serialize)]
struct Summary<'a> {
    by: &'static str,
    ids: u64,
    counts: &'a [u64],
    #[serde(flatten)]
    test: ChiSquareTest,
}

impl Histogram {
    fn new(by: Buckets) -> Self {
        let (Buckets::Range(parts) | Buckets::Shard(parts)) = by;
        Self {
            by,
            counts: vec![0; parts as usize],
        }
    }

    fn add(&mut self, ids: impl IntoIterator<Item = Id>) {
        for id in ids {
            let part = match self.by {
                // The upper half of the product: `id * parts / 2^64` without a division.
                Buckets::Range(parts) => (u128::from(id.to_u64()) * u128::from(parts)) >> 64,
                Buckets::Shard(parts) => u128::from(id.to_u64() % u64::from(parts)),
            };
            // There are no other parts.
            if let Some(count) = usize::try_from(part)
                .ok()
                .and_then(|part| self.counts.get_mut(part))
            {
                *count += 1;
            }
        }
    }

    fn by(&self) -> Buckets {
        self.by
    }

    fn all(&self) -> &[u64] {
        &self.counts
    }

    fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn most(&self) -> u64 {
        self.counts.iter().copied().max().unwrap_or_default()
    }

    /// The name of a part: the first id of a range, or the remainder.
    fn name(&self, part: usize) -> String {
        match self.by {
            Buckets::Range(parts) => {
                // The inverse of `add`: the least id whose product has this upper half.
                let first = ((part as u128) << 64).div_ceil(u128::from(parts));
                format!("{first:016x}")
            }
            Buckets::Shard(_) => part.to_string(),
        }
    }

    fn test(&self) -> ChiSquareTest {
        let parts = float(self.counts.len() as u64);
        let expected = float(self.total()) / parts;
        let squares = self
            .counts
            .iter()
            .map(|&count| (float(count) - expected).powi(2));
        let chi_square = squares.sum::<f64>() / expected;
        let (Buckets::Range(parts) | Buckets::Shard(parts)) = self.by;
        ChiSquareTest {
            chi_square,
            degrees_of_freedom: parts - 1,
            p: chi_square_p(chi_square, parts - 1),
            is_sound: expected >= 5.0,
        }
    }

    fn summary(&self) -> Summary<'_> {
        Summary {
            by: match self.by {
                Buckets::Range(_) => "range",
                Buckets::Shard(_) => "shard",
            },
            ids: self.total(),
            counts: &self.counts,
            test: self.test(),
        }
    }
}

/// Says in a sentence what the test has found.
fn verdict(test: ChiSquareTest) -> String {
    let ChiSquareTest {
        chi_square,
        degrees_of_freedom,
        p,
        is_sound,
    } = test;
    let meaning = match p {
        _ if !is_sound => "too few ids for a verdict: five for each bar are needed",
        // One in ten thousand: with 1 in 20 every twentieth look at good ids would raise an alarm.
        p if p < 0.000_1 => "not even: random numbers are not spread so",
        // Such as counters: consecutive numbers fill all shards alike.
        p if p > 0.999_9 => "more even than random numbers are",
        _ => "as even as random numbers",
    };
    format!(
        "chi-square {chi_square:.1}, {degrees_of_freedom} degrees of freedom, p = {p:.4}: {meaning}"
    )
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn float(count: u64) -> f64 {
    count as f64
}

/// How often a chi-square of so many degrees of freedom is as large as this or larger: the upper
/// tail of its distribution, `Q(k/2, x/2)`, the regularized incomplete gamma function.
///
/// For halves of whole numbers it is a finite sum: `Q(a + 1, x) = Q(a, x) + x^a e^-x / Γ(a + 1)`,
/// from `Q(1, x) = e^-x` or `Q(1/2, x) = erfc(√x)` on (Abramowitz and Stegun, Handbook of
/// Mathematical Functions, 26.4.4 and 26.4.5). All terms are positive, so nothing is lost; they are
/// added by their logarithms, so none is too small to begin with.
fn chi_square_p(chi_square: f64, degrees_of_freedom: u32) -> f64 {
    let x = chi_square / 2.0;
    if x <= 0.0 || degrees_of_freedom == 0 {
        return 1.0;
    }
    let (mut a, mut sum, mut term) = if degrees_of_freedom.is_multiple_of(2) {
        (0.0, 0.0, -x)
    } else {
        // Γ(3/2) = √π / 2
        (
            0.5,
            libm::erfc(x.sqrt()),
            0.5 * x.ln() - x - (PI.sqrt() / 2.0).ln(),
        )
    };
    for _ in 0..degrees_of_freedom / 2 {
        sum += term.exp();
        a += 1.0;
        term += x.ln() - f64::ln(a);
    }
    sum.min(1.0)
}

const WIDTH: u64 = 50;
/// Eighths of a character's width.
const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

fn write(out: &mut impl Write, counts: &Histogram) -> io::Result<()> {
    let head = match counts.by() {
        Buckets::Range(_) => "ids from (hexadecimal)",
        Buckets::Shard(_) => "shard",
    };
    let names = (0..counts.all().len()).map(|part| counts.name(part).len());
    let (name_width, head_width) = (names.max().unwrap_or_default(), head.len());
    let width = name_width.max(head_width);
    let count_width = counts.most().to_string().len().max("count".len());
    writeln!(out, "{head:width$}  {:>count_width$}   share", "count")?;
    for (part, &count) in counts.all().iter().enumerate() {
        let share = 100.0 * float(count) / float(counts.total());
        let (name, bar) = (counts.name(part), bar(count, counts.most()));
        let line = format!("{name:width$}  {count:count_width$}  {share:5.1}%  {bar}");
        writeln!(out, "{}", line.trim_end())?;
    }
    writeln!(out, "{} ids; {}", counts.total(), verdict(counts.test()))
}

/// A bar in proportion to the largest count, which has the whole width.
fn bar(count: u64, most: u64) -> String {
    let eighths = u128::from(count) * u128::from(WIDTH) * 8 / u128::from(most.max(1));
    let (whole, part) = (eighths / 8, eighths % 8);
    let part = usize::try_from(part).ok().and_then(|part| PARTS.get(part));
    "█".repeat(usize::try_from(whole).unwrap_or_default()) + part.unwrap_or(&"")
}

const SVG_WIDTH: f64 = 720.0;
const HEIGHT: f64 = 360.0;
/// Margin on the left of the bars, for labels, in pixels as the rest.
const LEFT: f64 = 70.0;
const TOP: f64 = 50.0;
const RIGHT: f64 = 20.0;
const BOTTOM: f64 = 60.0;

fn draw(counts: &Histogram) -> String {
    let (title, axis) = match counts.by() {
        Buckets::Range(parts) => (
            format!(
                "{} ids over {parts} ranges of the 64-bit numbers",
                counts.total()
            ),
            "first id of the range, hexadecimal",
        ),
        Buckets::Shard(parts) => (
            format!("{} ids over {parts} shards, by remainder", counts.total()),
            "shard",
        ),
    };
    let parts = counts.all().len();
    let (plot_width, plot_height) = (SVG_WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
    let step = plot_width / float(parts as u64);
    let scale = plot_height / float(counts.most().max(1));
    let (bottom, middle) = (HEIGHT - BOTTOM, LEFT + plot_width / 2.0);
    let mut svg = String::new();
    // Writing to a string never fails.
    _ = write!(
        svg,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SVG_WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">
<rect width="{SVG_WIDTH}" height="{HEIGHT}" fill="#ffffff"/>
<text x="{middle}" y="22" font-size="16" text-anchor="middle">{title}</text>
<text x="{middle}" y="40" text-anchor="middle" fill="#555555">{}</text>
"##,
        verdict(counts.test())
    );
    for (part, &count) in counts.all().iter().enumerate() {
        let (x, height) = (LEFT + step * float(part as u64), scale * float(count));
        let (y, width, name) = (bottom - height, (step * 0.9).max(0.1), counts.name(part));
        _ = writeln!(
            svg,
            r##"<rect x="{x:.2}" y="{y:.2}" width="{width:.2}" height="{height:.2}" fill="#2b6cb0"><title>{name}: {count}</title></rect>"##
        );
    }
    let even = float(counts.total()) / float(parts as u64);
    let (y, right) = (bottom - scale * even, SVG_WIDTH - RIGHT);
    _ = writeln!(
        svg,
        r##"<line x1="{LEFT}" y1="{y:.2}" x2="{right}" y2="{y:.2}" stroke="#c53030" stroke-dasharray="4 3"/>
<text x="{right}" y="{:.2}" text-anchor="end" fill="#c53030">even: {even:.1}</text>
<line x1="{LEFT}" y1="{bottom}" x2="{right}" y2="{bottom}" stroke="#000000"/>
<text x="{:.2}" y="{:.2}" text-anchor="end">{}</text>
<text x="{:.2}" y="{bottom}" text-anchor="end">0</text>"##,
        y - 4.0,
        LEFT - 6.0,
        TOP + 10.0,
        counts.most(),
        LEFT - 6.0,
    );
    // A name is wider than a bar: in the middle of the first or the last one it would leave the
    // picture.
    let middle_bar = LEFT + step * (float(parts as u64 / 2) + 0.45);
    for (part, x, anchor) in [
        (0, LEFT, "start"),
        (parts / 2, middle_bar, "middle"),
        (parts - 1, right, "end"),
    ] {
        let (y, name) = (bottom + 18.0, counts.name(part));
        _ = writeln!(
            svg,
            r#"<text x="{x:.2}" y="{y}" text-anchor="{anchor}">{name}</text>"#
        );
    }
    let y = bottom + 40.0;
    _ = writeln!(
        svg,
        r##"<text x="{middle}" y="{y}" text-anchor="middle" fill="#555555">{axis}</text>
</svg>"##
    );
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_id_is_in_one_part() {
        for by in [
            Buckets::Range(3),
            Buckets::Range(16),
            Buckets::Shard(3),
            Buckets::Shard(16),
        ] {
            let mut counts = Histogram::new(by);
            let ids: Vec<_> = [0, 1, 2, 1 << 60, u64::MAX / 3, u64::MAX]
                .map(Id::from_u64)
                .into();
            counts.add(ids);
            assert_eq!(counts.total(), 6);
            let expected = match by {
                Buckets::Range(3) => [5, 0, 1].to_vec(),
                Buckets::Shard(3) => [2, 2, 2].to_vec(),
                _ => continue,
            };
            assert_eq!(counts.all(), expected, "{by:?}");
        }
        // A name is the first number that is counted there.
        for parts in [2, 3, 7, 16, 4_096] {
            let mut counts = Histogram::new(Buckets::Range(parts));
            for part in 0..parts as usize {
                let first = u64::from_str_radix(&counts.name(part), 16).unwrap();
                counts.add([Id::from_u64(first)]);
                assert_eq!(counts.all()[part], 1);
            }
        }
    }

    /// Of the tables of the chi-square distribution: NIST/SEMATECH e-Handbook of Statistical
    /// Methods, 1.3.6.7.4.
    #[test]
    fn p_is_that_of_the_tables() {
        for (chi_square, degrees_of_freedom, p) in [
            (3.841, 1, 0.05),
            (6.635, 1, 0.01),
            (5.991, 2, 0.05),
            (13.816, 2, 0.001),
            (18.307, 10, 0.05),
            (24.996, 15, 0.05),
            (30.578, 15, 0.01),
            (37.697, 15, 0.001),
            (7.261, 15, 0.95),
            (43.773, 30, 0.05),
            (124.342, 100, 0.05),
            (77.929, 100, 0.95),
            (149.449, 100, 0.001),
        ] {
            let found = chi_square_p(chi_square, degrees_of_freedom);
            assert!((found / p - 1.0).abs() < 0.002, "{chi_square}: {found}");
        }
    }

    #[test]
    fn it_falls_from_one_to_zero() {
        for degrees_of_freedom in [1, 2, 15, 16, 1_023, 4_095] {
            let mut last = chi_square_p(0.0, degrees_of_freedom);
            assert!((last - 1.0).abs() < 1e-12);
            for step in 1..400 {
                let chi_square = f64::from(degrees_of_freedom * step) / 20.0;
                let p = chi_square_p(chi_square, degrees_of_freedom);
                assert!(
                    p <= last + 1e-12 && p >= 0.0,
                    "{degrees_of_freedom} {chi_square}: {p}"
                );
                last = p;
            }
            assert!(last < 1e-3);
        }
        assert!((0.0..1e-300).contains(&chi_square_p(1e9, 15)));
        // The median is about k (1 - 2 / 9k)^3.
        let median = 4_095.0 * (1.0_f64 - 2.0 / (9.0 * 4_095.0)).powi(3);
        assert!((chi_square_p(median, 4_095) - 0.5).abs() < 1e-3);
    }

    #[test]
    fn bars_are_as_long_as_counts() {
        assert_eq!(bar(0, 100), "");
        assert_eq!(bar(100, 100), "█".repeat(50));
        assert_eq!(bar(50, 100), "█".repeat(25));
        assert_eq!(bar(1, 100), "▌");
        assert_eq!(bar(u64::MAX, u64::MAX).chars().count(), 50);
        assert_eq!(bar(0, 0), "");
    }
}
