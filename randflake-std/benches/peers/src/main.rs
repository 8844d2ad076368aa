//! Ids of this project beside those of other crates, measured in one process: see `cargo xtask
//! bench peers`.

mod chart;
mod groups;
mod measure;
mod ours;
mod ratios;
mod table;

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use measure::Figure;

/// The median of as many measurements of each case, unless said otherwise.
const ROUNDS: usize = 31;

#[derive(Default)]
struct Arguments {
    rounds: Option<usize>,
    /// A part of what a case is called, to measure a few alone.
    only: Option<String>,
    /// Figures of other processes, to stand beside ours.
    with: Option<PathBuf>,
    json: Option<PathBuf>,
    svg: Option<PathBuf>,
    /// Where the records of machines are, and where their table of ratios shall be.
    records: Option<PathBuf>,
    table: Option<PathBuf>,
    /// Under the chart: when, where and how.
    caption: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse(env::args().skip(1))?;
    let mut cases = groups::all();
    if let Some(part) = &arguments.only {
        cases.retain(|case| case.is_called(part));
    }
    let mut figures = measure::measure(cases, arguments.rounds.unwrap_or(ROUNDS));
    if let Some(path) = &arguments.with {
        for line in fs::read_to_string(path)?.lines() {
            figures.push(serde_json::from_str::<Figure>(line)?);
        }
    }
    // A stable sort keeps the order of the groups as they were first seen.
    let groups = table::groups(&figures);
    figures.sort_by_key(|figure| groups.iter().position(|group| *group == figure.group));
    table::print(&figures);
    if let Some(path) = &arguments.json {
        fs::write(path, table::json_lines(&figures)?)?;
    }
    if let Some(path) = &arguments.svg {
        fs::write(path, chart::draw(&figures, &arguments.caption)?)?;
    }
    if let (Some(records), Some(path)) = (&arguments.records, &arguments.table) {
        fs::write(path, ratios::table(records)?)?;
    }
    Ok(())
}

impl Arguments {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let mut parsed = Self::default();
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or(format!("{name} needs a value"))?;
            match name.as_str() {
                "--rounds" => parsed.rounds = Some(value.parse()?),
                "--only" => parsed.only = Some(value),
                "--with" => parsed.with = Some(value.into()),
                "--json" => parsed.json = Some(value.into()),
                "--svg" => parsed.svg = Some(value.into()),
                "--records" => parsed.records = Some(value.into()),
                "--table" => parsed.table = Some(value.into()),
                "--caption" => parsed.caption = value,
                _ => return Err(format!("unknown argument {name}").into()),
            }
        }
        Ok(parsed)
    }
}
