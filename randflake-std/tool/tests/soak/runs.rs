//! Ids as runs of consecutive raw numbers: mostly a node id and tick, and the first to the last
//! sequence. Billions of ids are some hundred thousand runs, so all can be kept, and compared
//! exactly at the end.

use core::cmp::Ordering;
use core::time::Duration;
use std::collections::BTreeSet;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use randflake_std::lease::Namespace;
use randflake_std::randflake_core::{Field, LayoutFields};
use randflake_std::{Feistel53, Layout, LayoutSpec, Permutation, Secret, Sparx64};

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

/// Appends ids as runs. An id that does not follow the one before begins a run, so one that repeats
/// is kept twice.
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
    /// Ids of `runs` that a process had been given, and not yet written as runs, when it was
    /// killed.
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

/// Compares all runs of all processes with each other: sorted by place and first sequence, a run
/// overlaps an earlier one if it begins before the furthest end so far.
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

pub(crate) const KEY: &str = "dffd6021bb2bd5b0af676290809ec3a5";
const KEY53: &str = "0f1e2d3c4b5a69788796a5b4c3d2e1f0";
const TAGGED_KEY: &str = "5ca1ab1e0ddba11c0ffee0decade0fed";
pub(crate) const NAMESPACE: &str = "soak";
const NAMESPACE53: &str = "soak-53-bits";
pub(crate) const TAGGED_NAMESPACE: &str = "soak-tagged";
/// [`Dense`] for `randflake serve`.
pub(crate) const LAYOUT: &str = "encrypted:custom:40,7,17@1730000000000/1000";

/// So few node ids that those of others soon come into use again, and as many ids in each tick as a
/// layout of seconds has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dense;

impl Layout for Dense {
    type Permutation = Sparx64;
    const SPEC: LayoutSpec = spec(40, 17);
}

/// The same within 53 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dense53;

impl Layout for Dense53 {
    type Permutation = Feistel53;
    const SPEC: LayoutSpec = spec(32, 14);
}

const NODE_BITS: u32 = 7;

const fn spec(timestamp: u32, sequence: u32) -> LayoutSpec {
    LayoutSpec::declare(LayoutFields {
        timestamp: Field {
            bits: timestamp,
            shift: NODE_BITS + sequence,
        },
        node_id: Field {
            bits: NODE_BITS,
            shift: sequence,
        },
        sequence: Field {
            bits: sequence,
            shift: 0,
        },
        epoch_unix_ms: 1_730_000_000_000,
        tick_ms: 1_000,
    })
}

/// Where ids come from. After each fault every source has to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    Bulk,
    OneByOne,
    Ahead,
    Bits53,
    Tagged,
    Counter,
    Incr,
    Multi,
    Http,
}

pub(crate) const SOURCES: [(Source, &str); 9] = [
    (Source::Bulk, "in bulk"),
    (Source::OneByOne, "by a call each"),
    (Source::Ahead, "ahead of the clock (tolerance)"),
    (Source::Bits53, "of 53 bits"),
    (Source::Tagged, "tagged UUIDs"),
    (Source::Counter, "numbers of a counter"),
    (Source::Incr, "`INCR` of `serve`"),
    (Source::Multi, "`MULTI` of `serve`"),
    (Source::Http, "HTTP of `serve`"),
];

/// Ids of one space differ; those of two may be equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Ids,
    Ids53,
    Tagged,
    Numbers,
}

pub(crate) const SPACES: [Space; 4] = [Space::Ids, Space::Ids53, Space::Tagged, Space::Numbers];

impl Source {
    pub(crate) const fn space(self) -> Space {
        match self {
            Self::Bulk | Self::OneByOne | Self::Ahead | Self::Incr | Self::Multi | Self::Http => {
                Space::Ids
            }
            Self::Bits53 => Space::Ids53,
            Self::Tagged => Space::Tagged,
            Self::Counter => Space::Numbers,
        }
    }
}

impl Space {
    /// Decrypts ids in place.
    pub(crate) fn raw(self, ids: &mut [u64]) {
        match self {
            Self::Ids => secret(KEY).cipher().invert_all(ids),
            Self::Ids53 => secret53().feistel53().invert_all(ids),
            Self::Tagged => secret(TAGGED_KEY).cipher().invert_all(ids),
            Self::Numbers => {}
        }
    }

    /// Fields of a raw id.
    pub(crate) fn describe(self, raw: u64) -> String {
        let spec = match self {
            Self::Ids | Self::Tagged => Dense::SPEC,
            Self::Ids53 => Dense53::SPEC,
            Self::Numbers => return format!("number {raw}"),
        };
        let field = |field: Field| raw >> field.shift & ((1 << field.bits) - 1);
        let fields = spec.fields();
        format!(
            "{self:?}: node id {}, tick {}, sequence {}",
            field(fields.node_id),
            field(fields.timestamp),
            field(fields.sequence)
        )
    }
}

fn secret(key: &str) -> Secret {
    Secret::from_hex(key).unwrap()
}

/// The secret of the namespace of ids of 64 bits.
pub(crate) fn secret64() -> Secret {
    secret(KEY)
}

pub(crate) fn secret53() -> Secret {
    secret(KEY53)
}

/// Leases of at most `ttl`, so that what a store may have forgotten is soon over.
pub(crate) fn namespace(ttl: Duration) -> Namespace {
    Namespace::new(NAMESPACE, Dense).unwrap().with_max_ttl(ttl)
}

pub(crate) fn namespace53(ttl: Duration) -> Namespace {
    let namespace = Namespace::new(NAMESPACE53, Dense53).unwrap();
    namespace.with_max_ttl(ttl)
}

pub(crate) fn tagged_namespace(ttl: Duration) -> Namespace {
    let namespace = Namespace::new(TAGGED_NAMESPACE, Dense).unwrap();
    namespace.with_max_ttl(ttl)
}

pub(crate) fn namespaces(ttl: Duration) -> [Namespace; 3] {
    [namespace(ttl), namespace53(ttl), tagged_namespace(ttl)]
}

/// Makes a directory with the key of tagged UUIDs.
pub(crate) fn write_tagged_key(directory: &Path) {
    DirBuilder::new().mode(0o700).create(directory).unwrap();
    let secret = secret(TAGGED_KEY);
    secret.write_new(directory.join("1.key")).unwrap();
}
