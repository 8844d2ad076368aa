//! Cases, measured in turn: on a machine whose speed wanders, figures are only comparable if they
//! wander together.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// How long one measurement of a case shall last.
const MEASUREMENT: Duration = Duration::from_millis(6);
/// A case is bound by its layout's supply when the median is at least this part of what the layout
/// takes for an id, and the fastest round no more than the other.
const AT_CEILING: (f64, f64) = (0.9, 1.2);

/// Something that issues ids.
pub(crate) struct Case {
    group: &'static str,
    name: String,
    who: String,
    /// No id can come sooner after another in the long run: the layout has no more.
    ceiling_ns: Option<f64>,
    /// Ids are measured in multiples of this.
    unit: u64,
    /// A measurement has no more ids.
    most: u64,
    /// The time that so many ids take, without what it takes to prepare for them.
    run: Box<dyn FnMut(u64) -> Duration>,
}

impl Case {
    pub(crate) fn new(
        group: &'static str,
        name: impl Into<String>,
        who: impl Into<String>,
        run: impl FnMut(u64) -> Duration + 'static,
    ) -> Self {
        Self {
            group,
            name: name.into(),
            who: who.into(),
            ceiling_ns: None,
            unit: 1,
            most: u64::MAX,
            run: Box::new(run),
        }
    }

    /// A layout that has only so many ids in a tick.
    pub(crate) fn ceiling(mut self, ids_per_tick: u32, tick_ms: u32) -> Self {
        self.ceiling_ns = Some(f64::from(tick_ms) * 1e6 / f64::from(ids_per_tick));
        self
    }

    pub(crate) fn unit(mut self, ids: u64) -> Self {
        self.unit = ids;
        self
    }

    pub(crate) fn most(mut self, ids: u64) -> Self {
        self.most = ids;
        self
    }

    /// Whether group, who or name have a part.
    pub(crate) fn is_called(&self, part: &str) -> bool {
        format!("{} {} {}", self.group, self.who, self.name).contains(part)
    }

    /// How many ids make a measurement of the wanted length.
    fn calibrate(&mut self) -> u64 {
        let mut ids = self.unit;
        let most = self.most - self.most % self.unit;
        loop {
            // The shortest of some, lest an interruption is taken for the cost.
            let took = (0..3).map(|_| (self.run)(ids)).min().unwrap_or_default();
            if took * 8 > MEASUREMENT || ids == most {
                let wanted = MEASUREMENT.as_secs_f64() / took.as_secs_f64() * as_float(ids);
                return as_count(wanted).next_multiple_of(self.unit).min(most);
            }
            ids = (ids * 4).min(most);
        }
    }
}

/// What came out for a case: a line of the record.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Figure {
    pub(crate) group: String,
    pub(crate) case: String,
    pub(crate) who: String,
    pub(crate) ns_median: f64,
    pub(crate) ns_min: f64,
    pub(crate) rounds: usize,
    pub(crate) bound: Bound,
}

/// What keeps a case from being faster.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Bound {
    /// The work that an id takes.
    Cost,
    /// The layout's supply of ids: whatever the work, the rest of the time is waiting.
    Exhaustion,
}

/// Measures every case in each round, forwards and backwards in turn. Without rounds each is run
/// once, with the fewest ids: then figures mean nothing, and all is seen to work.
pub(crate) fn measure(mut cases: Vec<Case>, rounds: usize) -> Vec<Figure> {
    let ids: Vec<u64> = if rounds == 0 {
        cases.iter().map(|case| case.unit).collect()
    } else {
        cases.iter_mut().map(Case::calibrate).collect()
    };
    let rounds = rounds.max(1);
    let mut ns: Vec<Vec<f64>> = vec![Vec::with_capacity(rounds); cases.len()];
    for round in 0..rounds {
        eprint!("\rround {} of {rounds}", round + 1);
        for turn in 0..cases.len() {
            let index = if round % 2 == 0 {
                turn
            } else {
                cases.len() - 1 - turn
            };
            let took = (cases[index].run)(ids[index]);
            ns[index].push(took.as_secs_f64() * 1e9 / as_float(ids[index]));
        }
    }
    eprintln!();
    let figures = cases.into_iter().zip(ns);
    figures
        .map(|(case, mut ns)| {
            ns.sort_by(f64::total_cmp);
            let (ns_median, ns_min) = (ns[ns.len() / 2], ns[0]);
            let at_ceiling = case.ceiling_ns.is_some_and(|ceiling| {
                ns_median > ceiling * AT_CEILING.0 && ns_min < ceiling * AT_CEILING.1
            });
            Figure {
                group: case.group.to_owned(),
                case: case.name,
                who: case.who,
                ns_median,
                ns_min,
                rounds,
                bound: if at_ceiling {
                    Bound::Exhaustion
                } else {
                    Bound::Cost
                },
            }
        })
        .collect()
}

/// The time of `count` calls.
#[inline]
pub(crate) fn time<T>(count: u64, mut call: impl FnMut() -> T) -> Duration {
    let start = Instant::now();
    for _ in 0..count {
        black_box(call());
    }
    start.elapsed()
}

/// The time of `count` calls, with another generator after every `chunk`.
#[inline]
pub(crate) fn time_fresh<G, T>(
    count: u64,
    chunk: u64,
    fresh: impl Fn() -> G,
    call: impl Fn(&mut G) -> T,
) -> Duration {
    let mut total = Duration::ZERO;
    let mut left = count;
    while left > 0 {
        let mut generator = fresh();
        // Told anew for each call, so that nothing of it nor of its clock is kept in registers over
        // the calls.
        total += time(left.min(chunk), || call(black_box(&mut generator)));
        left = left.saturating_sub(chunk);
    }
    total
}

/// The time of `count` calls in bursts, each at the beginning of a tick and too short to exhaust
/// it: what an id costs where the layout has few.
pub(crate) fn time_bursts<T>(
    count: u64,
    burst: u64,
    tick_ms: u128,
    mut call: impl FnMut() -> T,
) -> Duration {
    let tick = || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.unwrap_or_default().as_millis() / tick_ms
    };
    let bursts = count.div_ceil(burst);
    let one = |_| {
        let before = tick();
        while tick() == before {
            spin_loop();
        }
        time(burst, &mut call)
    };
    (0..bursts).map(one).sum()
}

/// Of as many calls there is one before the time is taken.
pub(crate) const WARM_UP: u64 = 4;

/// From the first to the last of `count` calls by several threads, each with a state of its own.
pub(crate) fn time_threads<S, T>(
    count: u64,
    threads: usize,
    prepare: impl Fn() -> S + Sync,
    call: impl Fn(&mut S) -> T + Sync,
) -> Duration {
    let arrived = AtomicUsize::new(0);
    let meet = |times: usize| {
        arrived.fetch_add(1, Ordering::AcqRel);
        while arrived.load(Ordering::Acquire) < threads * times {
            spin_loop();
        }
    };
    let count = count / threads as u64;
    let work = || {
        let mut state = prepare();
        meet(1);
        // Until they have a core each, and the cores are awake.
        time(count / WARM_UP, || call(&mut state));
        meet(2);
        let start = Instant::now();
        time(count, || call(&mut state));
        (start, Instant::now())
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join().expect("no panic");
        let spans: Vec<(Instant, Instant)> = threads.into_iter().map(join).collect();
        let first = spans.iter().map(|span| span.0).min();
        let last = spans.iter().map(|span| span.1).max();
        last.zip(first)
            .map_or(Duration::ZERO, |(last, first)| last - first)
    })
}

#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52")]
fn as_float(count: u64) -> f64 {
    count as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates, and is clamped after"
)]
fn as_count(float: f64) -> u64 {
    float as u64
}
