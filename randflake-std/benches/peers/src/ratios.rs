//! The README's table: ours by the best of the others, of each machine that has a record. Ratios
//! travel from one machine to another, nanoseconds do not.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::measure::Figure;
use crate::ours::WHO;

/// What is compared: our case of a group, and another's.
struct Row {
    what: &'static str,
    group: &'static str,
    ours: &'static str,
    /// The beginning of who it is, and the case.
    other: (&'static str, &'static str),
}

const fn row(
    what: &'static str,
    group: &'static str,
    ours: &'static str,
    other: (&'static str, &'static str),
) -> Row {
    Row {
        what,
        group,
        ours,
        other,
    }
}

const UUID: (&str, &str) = ("uuid", "v4, fast-rng");

const ROWS: [Row; 12] = [
    row(
        "`Handle::generate`, AVX-512, by `uuid` v4",
        "one_thread",
        "Handle::generate, avx512",
        UUID,
    ),
    row(
        "the same, AVX2",
        "one_thread",
        "Handle::generate, avx2",
        UUID,
    ),
    row(
        "the same, SSE2",
        "one_thread",
        "Handle::generate, sse2",
        UUID,
    ),
    row(
        "the same, NEON",
        "one_thread",
        "Handle::generate, neon",
        UUID,
    ),
    row(
        "a tick's first id, by one encrypted alone",
        "one_thread",
        "Block, first id of a tick",
        (WHO, "generate, first id of a tick"),
    ),
    row(
        "two threads of one handle, by `uuid` v4",
        "two_threads",
        "Handle::generate",
        UUID,
    ),
    row(
        "`Handle::fill`, 1,024 at once, by `snowid`, in plain text",
        "batch",
        "Handle::fill",
        ("snowid", "generate_batch (borrows)"),
    ),
    row(
        "Twitter's layout, one thread, the clock given, by `ferroid` with the same clock",
        "snowflake",
        "one thread's word, fixed clock",
        ("ferroid", "Basic, fixed clock"),
    ),
    row(
        "the same, by `ferroid` with a clock that counts milliseconds",
        "snowflake",
        "one thread's word, fixed clock",
        ("ferroid", "Basic, fixed milliseconds"),
    ),
    row(
        "Twitter's layout, an atomic word, coarse clock, by `ferroid` with the same",
        "snowflake",
        "atomic word, coarse clock",
        ("ferroid", "Atomic, coarse clock"),
    ),
    row(
        "text: encode, by `ferroid`",
        "text_encode",
        "base32hex",
        ("ferroid", "Crockford base32"),
    ),
    row(
        "text: decode, by `ferroid`",
        "text_decode",
        "base32hex",
        ("ferroid", "Crockford base32"),
    ),
];

/// The table, in Markdown, of the last record in each machine's folder.
pub(crate) fn table(records: &Path) -> Result<String, Box<dyn Error>> {
    let machines = machines(records)?;
    let mut table = "| ns per id, ours / other = ratio |".to_owned();
    for (name, _) in &machines {
        write!(table, " {name} |")?;
    }
    table += "\n|---|";
    table += &"---|".repeat(machines.len());
    table.push('\n');
    for row in &ROWS {
        let cells: Vec<_> = machines
            .iter()
            .map(|(_, figures)| row.cell(figures))
            .collect();
        // What no machine has is not spoken of.
        if cells.iter().any(Option::is_some) {
            let cells = cells
                .into_iter()
                .map(|cell| cell.unwrap_or_else(|| "not measured".to_owned()));
            writeln!(
                table,
                "| {} | {} |",
                row.what,
                cells.collect::<Vec<_>>().join(" | ")
            )?;
        }
    }
    Ok(table)
}

/// What a machine is called, and the figures of its last record.
type Machine = (String, Vec<Figure>);

fn machines(records: &Path) -> Result<Vec<Machine>, Box<dyn Error>> {
    let mut machines = Vec::new();
    for folder in fs::read_dir(records)? {
        let folder = folder?.path();
        let Ok(files) = fs::read_dir(&folder) else {
            continue; // It is a file.
        };
        let files = files.filter_map(|file| Some(file.ok()?.path()));
        // Their names are dates.
        let last = files
            .filter(|path| path.extension().is_some_and(|ext| ext == "jsonl"))
            .max();
        let Some(last) = last else { continue };
        let text = fs::read_to_string(&last)?;
        let figures: Result<Vec<Figure>, _> = text.lines().map(serde_json::from_str).collect();
        let [machine, date] = [folder.file_name(), last.file_stem()]
            .map(|name| name.unwrap_or_default().to_string_lossy().into_owned());
        machines.push((format!("{machine}, {date}"), figures?));
    }
    machines.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(machines)
}

impl Row {
    fn cell(&self, figures: &[Figure]) -> Option<String> {
        let median = |who: &str, case: &str| {
            let is_it = |figure: &&Figure| {
                figure.group == self.group && figure.case == case && figure.who.starts_with(who)
            };
            figures.iter().find(is_it).map(|figure| figure.ns_median)
        };
        let (ours, other) = (median(WHO, self.ours)?, median(self.other.0, self.other.1)?);
        Some(format!("{ours:.1} / {other:.1} = {:.2}", ours / other))
    }
}
