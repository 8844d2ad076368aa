//! What a soak has done, as tables of Markdown.

use core::fmt::{self, Display, Formatter, Write as _};
use core::time::Duration;
use std::sync::{Mutex, PoisonError};

use crate::faults::Happened;
use crate::fleet::{Fleet, get};
use crate::runs::Repeats;
use crate::schedule::FAULTS;
use crate::usage;

static ALL: Mutex<Vec<Figures>> = Mutex::new(Vec::new());

/// Of one stage.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    stage: String,
    time: Duration,
    bulk: u64,
    one_by_one: u64,
    served: u64,
    calls: u64,
    refusals: u64,
    runs: u64,
    processes: u64,
    repeats: u64,
    killed: u64,
    forks: u64,
    happened: Happened,
}

impl Figures {
    pub(crate) fn of(stage: &str, time: Duration, fleet: &Fleet, happened: Happened) -> Self {
        let counts = fleet.counts();
        Self {
            stage: stage.to_owned(),
            time,
            bulk: get(&counts.bulk),
            one_by_one: get(&counts.one_by_one),
            served: get(&counts.served),
            calls: get(&counts.calls),
            refusals: get(&counts.refusals),
            killed: u64::try_from(fleet.killed).unwrap(),
            forks: get(&counts.forks),
            happened,
            ..Self::default()
        }
    }

    /// With what the comparison found.
    pub(crate) fn compared(mut self, processes: usize, runs: usize, repeats: &Repeats) -> Self {
        self.processes = u64::try_from(processes).unwrap();
        self.runs = u64::try_from(runs).unwrap();
        self.repeats = repeats.ids;
        self
    }

    /// Keeps it for the record.
    pub(crate) fn keep(self) {
        ALL.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(self);
    }

    fn ids(&self) -> u64 {
        self.bulk + self.one_by_one + self.served
    }

    fn add(&mut self, other: &Self) {
        self.time += other.time;
        for (sum, number) in [
            (&mut self.bulk, other.bulk),
            (&mut self.one_by_one, other.one_by_one),
            (&mut self.served, other.served),
            (&mut self.calls, other.calls),
            (&mut self.refusals, other.refusals),
            (&mut self.runs, other.runs),
            (&mut self.processes, other.processes),
            (&mut self.repeats, other.repeats),
            (&mut self.killed, other.killed),
            (&mut self.forks, other.forks),
        ] {
            *sum += number;
        }
        for (fault, times) in &other.happened {
            *self.happened.entry(*fault).or_default() += times;
        }
    }
}

impl Display for Figures {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let rate = self.ids() as f64 / self.time.as_secs_f64().max(1.0);
        write!(
            f,
            "{}: {} ids in {} s ({rate:.0} a second), {} one by one, {} served, {} runs, {} repeat; {} killed, {} forks, {:?}",
            self.stage,
            grouped(self.ids()),
            self.time.as_secs(),
            grouped(self.one_by_one),
            grouped(self.served),
            grouped(self.runs),
            self.repeats,
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
    let rate = sum.ids() / sum.time.as_secs().max(1);
    all.push(sum);
    let mut text = String::from(
        "| store | seconds | ids | in bulk | by a call each | by `INCR` of `serve` | calls | refused | processes and clients | runs | repeats |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for figures in &all {
        let numbers = [
            figures.time.as_secs(),
            figures.ids(),
            figures.bulk,
            figures.one_by_one,
            figures.served,
            figures.calls,
            figures.refusals,
            figures.processes,
            figures.runs,
            figures.repeats,
        ];
        row(&mut text, &figures.stage, numbers);
    }
    text.push_str("\n| what happened |");
    for figures in &all {
        _ = write!(text, " {} |", figures.stage);
    }
    text.push_str("\n|---|");
    text.push_str(&"--:|".repeat(all.len()));
    text.push('\n');
    row(
        &mut text,
        "holder killed",
        all.iter().map(|figures| figures.killed),
    );
    row(
        &mut text,
        "holder forked",
        all.iter().map(|figures| figures.forks),
    );
    for (fault, name) in FAULTS {
        let times = |figures: &Figures| figures.happened.get(&fault).copied().unwrap_or(0).into();
        row(&mut text, name, all.iter().map(times));
    }
    let (memory, disk) = usage::peak();
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
