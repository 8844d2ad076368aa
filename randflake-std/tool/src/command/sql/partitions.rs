//! The command `randflake sql partitions`.

use core::time::Duration;
use std::io::Write as _;

use clap::ValueEnum;
use randflake_common::date;
use randflake_std::date::utc;
use randflake_std::randflake_core::LayoutSpec;

use super::template::{self, TermsArgs, sign_tick};
use crate::failure::Failure;
use crate::output::stdout;

/// Print partitions of a table by time, for PostgreSQL, MySQL and MariaDB
///
/// The table keeps raw ids, or plain ones, and is partitioned by them: PARTITION BY RANGE (id).
/// Bounds are literals, so the planner leaves out partitions; times are in UTC.
///
/// In MySQL and MariaDB the table has a first partition for what is earlier, and these are added
/// above it. There a partition begins where the one below it ends, whatever --from is.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake sql partitions --layout randflake --table orders --from 2026-01-01 --to 2027-01-01 --every month | psql
  randflake sql partitions --layout snowflake --table shop.events --from 2026-01-01 --to 2026-02-01 --every day
  randflake sql partitions --dialect mysql --layout randflake --table orders --from 2026-01-01 --to 2027-01-01 | mysql shop")]
pub(crate) struct SqlPartitionsArgs {
    /// The table, which may have its schema before it
    #[arg(long, value_name = "TABLE", value_parser = table)]
    table: String,
    /// Where the first partition begins: a date such as 2026-01-01, or 2026-01-01T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = unix_ms)]
    from: u64,
    /// Where the last partition ends
    #[arg(long, value_name = "TIME", value_parser = unix_ms)]
    to: u64,
    /// The time of a partition, which begins with a day, a month or a year
    #[arg(long, value_name = "SPAN", default_value = "month")]
    every: Span,
    /// The database's language: PARTITION OF in PostgreSQL, ADD PARTITION in MySQL and MariaDB
    #[arg(long, value_name = "DIALECT", default_value = "postgres")]
    dialect: Dialect,
    #[command(flatten)]
    terms: TermsArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Span {
    Day,
    Month,
    Year,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Dialect {
    Postgres,
    Mysql,
}

/// Most partitions at once: more are a mistake in a date.
const MOST: usize = 10_000;

impl SqlPartitionsArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let spec = self
            .terms
            .read()?
            .contents
            .spec()
            .ok_or_else(|| Failure::usage("a counter has no times"))?;
        self.check(spec)?;
        let partitions = self.partitions(spec)?;
        let table = &self.table;
        let mut out = stdout();
        match self.dialect {
            Dialect::Postgres => {
                for (name, Bounds { first, end, suffix }) in partitions {
                    writeln!(
                        out,
                        "CREATE TABLE {table}_{name}{suffix} PARTITION OF {table} FOR VALUES FROM ({first}) TO ({end});",
                    )?;
                }
            }
            Dialect::Mysql => {
                check_order(spec, self.to)?;
                let each = partitions.iter().map(|(name, Bounds { end, .. })| {
                    // The word stands without brackets.
                    let end = match end.as_str() {
                        "MAXVALUE" => end.clone(),
                        number => format!("({number})"),
                    };
                    format!("    PARTITION p{name} VALUES LESS THAN {end}")
                });
                let each: Vec<_> = each.collect();
                let each = each.join(",\n");
                writeln!(out, "ALTER TABLE {table} ADD PARTITION (\n{each}\n);")?;
            }
        }
        Ok(out.flush()?)
    }

    /// The time in the name of each, and its bounds.
    fn partitions(&self, spec: LayoutSpec) -> Result<Vec<(String, Bounds)>, Failure> {
        let mut partitions = Vec::new();
        let mut from = self.from;
        for count in 0.. {
            if from >= self.to {
                break;
            }
            if count == MOST {
                let problem = format!("more than {MOST} partitions: take a longer --every");
                return Err(Failure::usage(problem));
            }
            let to = self.every.end(from).min(self.to);
            let name = self.every.name(from);
            let all = bounds(spec, from, to).into_iter();
            partitions.extend(all.map(|bounds| (name.clone(), bounds)));
            from = to;
        }
        Ok(partitions)
    }

    fn check(&self, spec: LayoutSpec) -> Result<(), Failure> {
        let (first, end) = (spec.unix_ms(0), spec.end_unix_ms());
        if self.from < first || self.to > end {
            let [first, end] = [first, end].map(|ms| date::utc_in_ticks(ms, spec.tick_ms()));
            return Err(Failure::usage(format!(
                "--from and --to: {first} to {end} are allowed, the times of the layout"
            )));
        }
        if self.from >= self.to {
            return Err(Failure::usage("--to must be after --from"));
        }
        Ok(())
    }
}

/// Refuses negative raw ids, which sort before all others: partitions are added behind those that
/// are there.
fn check_order(spec: LayoutSpec, to_ms: u64) -> Result<(), Failure> {
    let sign_ms = sign_tick(spec).map(|tick| spec.unix_ms(tick));
    match sign_ms {
        Some(sign_ms) if to_ms > sign_ms => Err(Failure::usage(format!(
            "--to: at most {} is allowed with --dialect mysql: raw ids are negative from then on, and MySQL adds no partition \
             below others",
            date(sign_ms)
        ))),
        _ => Ok(()),
    }
}

impl Span {
    /// Where the span ends that a time is in.
    fn end(self, unix_ms: u64) -> u64 {
        let date = date(unix_ms);
        let part = |range| {
            date.get(range)
                .and_then(|text: &str| text.parse::<u32>().ok())
        };
        let (year, month) = (part(0..4).unwrap_or(0), part(5..7).unwrap_or(1));
        let next = match self {
            Self::Day => return (unix_ms / DAY_MS + 1) * DAY_MS,
            Self::Month if month < 12 => format!("{year:04}-{:02}-01", month + 1),
            Self::Month | Self::Year => format!("{:04}-01-01", year + 1),
        };
        // After the year 9999 one partition has the rest.
        date::unix_ms(&next).unwrap_or(u64::MAX)
    }

    /// The end of the name of a partition that begins at a time.
    fn name(self, unix_ms: u64) -> String {
        let length = match self {
            Self::Day => "2026-01-01".len(),
            Self::Month => "2026-01".len(),
            Self::Year => "2026".len(),
        };
        let date = date(unix_ms);
        date.get(..length).unwrap_or(&date).replace('-', "_")
    }
}

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

fn date(unix_ms: u64) -> String {
    utc(Duration::from_millis(unix_ms))
}

/// Bounds of a partition, as they are written.
struct Bounds {
    suffix: &'static str,
    first: String,
    end: String,
}

/// One, or two if raw ids turn negative in between: those sort before all others.
fn bounds(spec: LayoutSpec, from_ms: u64, to_ms: u64) -> Vec<Bounds> {
    let shift = spec.fields().timestamp.shift;
    // A tick counts by its first moment.
    let tick = |ms: u64| (ms - spec.epoch_unix_ms()).div_ceil(spec.tick_ms());
    let (from, to) = (tick(from_ms), tick(to_ms));
    let number = |tick: u64| u128::from(tick) << shift;
    let positive = |from, to| Bounds {
        suffix: "",
        first: number(from).to_string(),
        // The first number that is no `bigint`.
        end: match number(to) {
            end if end > i64::MAX as u128 => "MAXVALUE".to_owned(),
            end => end.to_string(),
        },
    };
    let negative = |from, to, suffix| Bounds {
        suffix,
        first: match number(from) {
            first if first == 1 << 63 => "MINVALUE".to_owned(),
            first => signed(first),
        },
        end: signed(number(to)),
    };
    match sign_tick(spec) {
        Some(sign) if from >= sign => vec![negative(from, to, "")],
        Some(sign) if to > sign => vec![positive(from, sign), negative(sign, to, "_negative")],
        _ => vec![positive(from, to)],
    }
}

/// A number of 63 bits or more as a `bigint` has it: 2^64 is 0.
fn signed(number: u128) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "the bits of a bigint")]
    let bits = number as u64;
    bits.cast_signed().to_string()
}

fn unix_ms(text: &str) -> Result<u64, String> {
    date::unix_ms(text)
        .ok_or_else(|| "a date such as 2026-01-01 or 2026-01-01T12:00:00Z is allowed".to_owned())
}

/// A table whose name needs no quotes, after adding to it too.
fn table(text: &str) -> Result<String, String> {
    let (of, name) = text.split_once('.').unwrap_or(("public", text));
    template::name(of)?;
    template::name(&format!("{name}_2026_01_01_negative"))?;
    Ok(text.to_owned())
}
