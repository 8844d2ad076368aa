//! Ids as runs of consecutive raw numbers: mostly a node id and tick, and the first to the last sequence. Billions of ids
//! are some hundred thousand runs, so all can be kept, and compared exactly at the end.

use core::cmp::Ordering;
use std::collections::BTreeSet;

use crate::spaces::{SPACES, Source, Space};

/// The lowest bits of a raw number, which are apart in a run.
const LOW_BITS: u32 = 17;
/// The space of a run is above the other bits of its place. No raw number has that many.
const SPACE_SHIFT: u32 = 56;

/// Consecutive ids of one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Run {
    /// Space, and a raw number without its lowest bits: tick and node id.
    pub(crate) place: u64,
    pub(crate) first: u32,
    pub(crate) last: u32,
}

pub(crate) const RUN_BYTES: usize = 16;

impl Run {
    fn of(space: Space, raw: u64) -> Self {
        let low = u32::try_from(raw & ((1 << LOW_BITS) - 1)).unwrap();
        let space = SPACES.iter().position(|other| *other == space).unwrap();
        Self {
            place: u64::try_from(space).unwrap() << SPACE_SHIFT | raw >> LOW_BITS,
            first: low,
            last: low,
        }
    }

    /// The first id, for people.
    fn describe(self) -> String {
        let space = SPACES[usize::try_from(self.place >> SPACE_SHIFT).unwrap()];
        // The space falls off.
        space.describe(self.place << LOW_BITS | u64::from(self.first))
    }

    pub(crate) fn ids(self) -> u64 {
        u64::from(self.last - self.first) + 1
    }

    pub(crate) fn to_bytes(self) -> [u8; RUN_BYTES] {
        let number =
            u128::from(self.place) << 64 | u128::from(self.first) << 32 | u128::from(self.last);
        number.to_le_bytes()
    }

    pub(crate) fn from_bytes(bytes: [u8; RUN_BYTES]) -> Self {
        let number = u128::from_le_bytes(bytes);
        let part = |shift: u32| u32::try_from(number >> shift & u128::from(u32::MAX)).unwrap();
        Self {
            place: u64::try_from(number >> 64).unwrap(),
            first: part(32),
            last: part(0),
        }
    }
}

/// Appends ids as runs. An id that does not follow the one before begins a run, so one that repeats is kept twice.
pub(crate) fn append(runs: &mut Vec<Run>, space: Space, raws: &[u64]) {
    for raw in raws {
        append_run(runs, Run::of(space, *raw));
    }
}

pub(crate) fn append_run(runs: &mut Vec<Run>, run: Run) {
    match runs.last_mut() {
        Some(last) if last.place == run.place && last.last.checked_add(1) == Some(run.first) => {
            last.last = run.last;
        }
        _ => runs.push(run),
    }
}

/// What a process, or a client of a server, has issued.
#[derive(Clone, Debug)]
pub(crate) struct Issued {
    pub(crate) by: String,
    pub(crate) source: Source,
    pub(crate) entries: Entries,
}

/// Runs, and counts of what led to them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entries {
    pub(crate) runs: Vec<Run>,
    pub(crate) calls: u64,
    pub(crate) refusals: u64,
    pub(crate) forks: u64,
    /// Ids of `runs` that a process had been given, and not yet written as runs, when it was killed.
    pub(crate) pending: u64,
    /// Why they could not be read.
    pub(crate) unread: Option<String>,
}

impl Entries {
    pub(crate) fn ids(&self) -> u64 {
        self.runs.iter().map(|run| run.ids()).sum()
    }
}

/// Ids that were issued more than once.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    /// Each is counted as often as it came again.
    pub(crate) ids: u64,
    /// Where the first of them are, and whose.
    pub(crate) told: BTreeSet<String>,
}

const TOLD: usize = 10;

/// Compares all runs of all processes with each other: sorted by place and first sequence, a run overlaps an earlier one
/// if it begins before the furthest end so far.
pub(crate) fn repeats(all: &[Issued]) -> Repeats {
    let of = |(number, issued): (usize, &Issued)| {
        let runs = issued.entries.runs.iter();
        runs.map(|run| (*run, number)).collect::<Vec<_>>()
    };
    let mut runs: Vec<(Run, usize)> = all.iter().enumerate().flat_map(of).collect();
    runs.sort_unstable();
    let mut found = Repeats::default();
    let mut runs = runs.into_iter();
    let Some((mut furthest, mut whose)) = runs.next() else {
        return found;
    };
    for (run, by) in runs {
        if run.place == furthest.place && run.first <= furthest.last {
            let last = run.last.min(furthest.last);
            found.ids += u64::from(last - run.first) + 1;
            if found.told.len() < TOLD {
                found.told.insert(format!(
                    "{} and {} after it: {} and {}",
                    run.describe(),
                    last - run.first,
                    all[whose].by,
                    all[by].by
                ));
            }
        }
        let is_further =
            run.place != furthest.place || run.last.cmp(&furthest.last) == Ordering::Greater;
        if is_further {
            (furthest, whose) = (run, by);
        }
    }
    found
}

/// So that a soak that finds nothing says something: compared with a set of all ids.
pub(crate) fn repeats_are_those_of_a_set() {
    let mut random = fastrand::Rng::with_seed(1);
    let mut with_repeats = 0;
    for _ in 0..2_000 {
        let mut all: Vec<Issued> = Vec::new();
        let (mut seen, mut expected) = (BTreeSet::new(), 0);
        for machine in 0..3 {
            let mut runs = Vec::new();
            for _ in 0..random.usize(..4) {
                let first = random.u32(..40);
                let run = Run {
                    place: random.u64(..3),
                    first,
                    last: first + random.u32(..6),
                };
                append_run(&mut runs, run);
                for sequence in run.first..=run.last {
                    expected += u64::from(!seen.insert((run.place, sequence)));
                }
            }
            let by = format!("machine {machine}");
            let entries = Entries {
                runs,
                ..Entries::default()
            };
            all.push(Issued {
                by,
                source: Source::Bulk,
                entries,
            });
        }
        let found = repeats(&all);
        assert_eq!(found.ids, expected, "{all:?}");
        assert_eq!(found.told.is_empty(), expected == 0);
        with_repeats += u32::from(expected > 0);
    }
    assert!((500..1_900).contains(&with_repeats), "{with_repeats}");
    let [numbers, ids] = [Space::Numbers, Space::Ids].map(|space| Run::of(space, 1 << 20 | 7));
    assert_ne!(numbers.place, ids.place, "each space has its own ids");
    assert_eq!(numbers.describe(), format!("number {}", 1 << 20 | 7));
    assert!(ids.describe().ends_with("node id 8, tick 0, sequence 7"));
    let run = Run {
        place: u64::MAX - 1,
        first: 7,
        last: 131_071,
    };
    assert_eq!(Run::from_bytes(run.to_bytes()), run);
}
