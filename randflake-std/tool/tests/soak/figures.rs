//! Results of a soak, as tables of Markdown.

use core::fmt::{self, Display, Formatter, Write as _};
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::{env, fs, process, thread};

use crate::faults::Happened;
use crate::fleet::Fleet;
use crate::runs::{Issued, Repeats};
use crate::runs::{SOURCES, Source};
use crate::schedule::FAULTS;

static ALL: Mutex<Vec<Figures>> = Mutex::new(Vec::new());

/// Of one stage.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    stage: String,
    time: Duration,
    ids: BTreeMap<Source, u64>,
    calls: u64,
    refusals: u64,
    runs: u64,
    processes: u64,
    pending: u64,
    repeats: u64,
    killed: u64,
    forks: u64,
    happened: Happened,
}

impl Figures {
    pub(crate) fn of(
        stage: &str,
        time: Duration,
        fleet: &Fleet,
        issued: &[Issued],
        happened: Happened,
        repeats: &Repeats,
    ) -> Self {
        let mut figures = Self {
            stage: stage.to_owned(),
            time,
            processes: number(issued.len()),
            repeats: repeats.ids,
            killed: number(fleet.killed),
            happened,
            ..Self::default()
        };
        for Issued {
            source, entries, ..
        } in issued
        {
            *figures.ids.entry(*source).or_default() += entries.ids();
            figures.calls += entries.calls;
            figures.refusals += entries.refusals;
            figures.runs += number(entries.runs.len());
            figures.pending += entries.pending;
            figures.forks += entries.forks;
        }
        figures
    }

    /// Keeps it for the record.
    pub(crate) fn keep(self) {
        ALL.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(self);
    }

    fn all_ids(&self) -> u64 {
        self.ids.values().sum()
    }

    fn add(&mut self, other: &Self) {
        self.time += other.time;
        for (sum, number) in [
            (&mut self.calls, other.calls),
            (&mut self.refusals, other.refusals),
            (&mut self.runs, other.runs),
            (&mut self.processes, other.processes),
            (&mut self.pending, other.pending),
            (&mut self.repeats, other.repeats),
            (&mut self.killed, other.killed),
            (&mut self.forks, other.forks),
        ] {
            *sum += number;
        }
        for (source, ids) in &other.ids {
            *self.ids.entry(*source).or_default() += ids;
        }
        for (fault, times) in &other.happened {
            *self.happened.entry(*fault).or_default() += times;
        }
    }
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap()
}

impl Display for Figures {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let rate = self.all_ids() as f64 / self.time.as_secs_f64().max(1.0);
        write!(
            f,
            "{}: {} ids in {} s ({rate:.0} a second), {:?}, {} runs, {} not yet written at a kill, {} repeat; {} killed, {} forks, {:?}",
            self.stage,
            grouped(self.all_ids()),
            self.time.as_secs(),
            self.ids,
            grouped(self.runs),
            grouped(self.pending),
            grouped(self.repeats),
            self.killed,
            self.forks,
            self.happened,
        )
    }
}

/// The tables of all stages so far.
pub(crate) fn tables() -> String {
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let mut sum = Figures {
        stage: "**all**".to_owned(),
        ..Figures::default()
    };
    for figures in &all {
        sum.add(figures);
    }
    let rate = sum.all_ids() / sum.time.as_secs().max(1);
    all.push(sum);
    let mut text = String::from(
        "| store | seconds | ids | calls | refused | processes and clients | runs | not yet written at a kill | repeats |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for figures in &all {
        let numbers = [
            figures.time.as_secs(),
            figures.all_ids(),
            figures.calls,
            figures.refusals,
            figures.processes,
            figures.runs,
            figures.pending,
            figures.repeats,
        ];
        row(&mut text, &figures.stage, numbers);
    }
    heading(&mut text, "ids", &all);
    for (source, name) in SOURCES {
        row(
            &mut text,
            name,
            all.iter()
                .map(|figures: &Figures| figures.ids.get(&source).copied().unwrap_or(0)),
        );
    }
    heading(&mut text, "what happened", &all);
    let killed = all.iter().map(|figures| figures.killed);
    row(&mut text, "holder killed", killed);
    let forks = all.iter().map(|figures| figures.forks);
    row(&mut text, "holder forked", forks);
    for (fault, name) in FAULTS {
        row(
            &mut text,
            name,
            all.iter()
                .map(|figures: &Figures| figures.happened.get(&fault).copied().unwrap_or(0).into()),
        );
    }
    let (memory, disk) = peak();
    let megabytes = |bytes: u64| bytes.div_ceil(1_000_000);
    _ = writeln!(
        text,
        "\n{} ids a second. At most {} MB of memory, of all processes and servers together, and {} MB of disk.",
        grouped(rate),
        grouped(megabytes(memory)),
        grouped(megabytes(disk)),
    );
    text
}

/// Of a table with a column for each store.
fn heading(text: &mut String, name: &str, all: &[Figures]) {
    _ = write!(text, "\n| {name} |");
    for figures in all {
        _ = write!(text, " {} |", figures.stage);
    }
    text.push_str("\n|---|");
    text.push_str(&"--:|".repeat(all.len()));
    text.push('\n');
}

fn row(text: &mut String, name: &str, numbers: impl IntoIterator<Item = u64>) {
    _ = write!(text, "| {name} |");
    for number in numbers {
        _ = write!(text, " {} |", grouped(number));
    }
    text.push('\n');
}

/// Thousands apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

const PAUSE: Duration = Duration::from_secs(2);

static MEMORY: AtomicU64 = AtomicU64::new(0);
static DISK: AtomicU64 = AtomicU64::new(0);

/// Begins to look, for as long as this program runs.
pub(crate) fn watch() {
    thread::spawn(|| {
        loop {
            MEMORY.fetch_max(memory(), Ordering::Relaxed);
            DISK.fetch_max(disk(&env::temp_dir()), Ordering::Relaxed);
            thread::sleep(PAUSE);
        }
    });
}

/// The most so far, in bytes: memory and disk.
pub(crate) fn peak() -> (u64, u64) {
    (MEMORY.load(Ordering::Relaxed), DISK.load(Ordering::Relaxed))
}

/// Of this process and all that come from it; what several share is divided among them.
fn memory() -> u64 {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let id = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    let ids: Vec<u32> = processes.filter_map(id).collect();
    let parent = |id: &u32| {
        let status = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name before it may have spaces.
        let (_, fields) = status.rsplit_once(')')?;
        Some((*id, fields.split_whitespace().nth(1)?.parse().ok()?))
    };
    let parents: BTreeMap<u32, u32> = ids.iter().filter_map(parent).collect();
    let is_ours = |id: &&u32| {
        let mut id = **id;
        while id != process::id() {
            match parents.get(&id) {
                Some(parent) if *parent != id => id = *parent,
                _ => return false,
            }
        }
        true
    };
    let kilobytes = |id: &u32| {
        let sums = fs::read_to_string(format!("/proc/{id}/smaps_rollup")).ok()?;
        let line = sums.lines().find_map(|line| line.strip_prefix("Pss:"))?;
        line.trim_end_matches("kB").trim().parse::<u64>().ok()
    };
    let sum: u64 = ids.iter().filter(is_ours).filter_map(kilobytes).sum();
    sum << 10
}

fn disk(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => disk(&entry.path()),
        Ok(data) => data.blocks() * 512,
        // It is gone.
        Err(_) => 0,
    };
    entries.map(size).sum()
}
