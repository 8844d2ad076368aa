//! All figures of one engine.

use core::hash::BuildHasher;
use core::time::Duration;
use std::hash::RandomState;
use std::thread;
use std::time::Instant;

use randflake_std::lease::LeaseStore;

use super::clients;
use super::disk::Disk;
use super::engine::{Engine, Kind, Space, TTL};
use super::figures::Figures;
use super::full::Full;
use super::leases::{acquire, fill, refusal, release};

/// Of 1,000 node ids, so many are leased.
pub(crate) const OCCUPANCIES: [(usize, &str); 4] =
    [(0, "0 %"), (500, "50 %"), (990, "99 %"), (999, "99.9 %")];
/// Node ids of one process.
const AT_ONCE: [u32; 3] = [16, 256, 4_096];
const TICK: Duration = Duration::from_millis(1);
/// How often what takes long is measured.
const FEW: usize = 5;

/// A namespace that is leased in part.
struct Part<'e> {
    name: &'static str,
    space: Space<'e>,
    store: LeaseStore,
    /// Since when its leases last.
    begun: Instant,
    acquires: Vec<Duration>,
}

pub(crate) fn measure(engine: &Engine, figures: &mut Figures) {
    let rounds = engine.size.rounds;
    let name = engine.kind.name();
    figures.times(
        name,
        "first acquire/2^22 node ids",
        &[first_of_many(engine)],
    );
    let mut full = Full::measured(engine, figures);

    let mut parts = fill_in_part(engine);
    take_turns(name, rounds, &mut parts, figures);
    let are_held = clients::renew_all(&full.space, &full.held);
    assert!(are_held, "they are over");
    let half = &mut parts[1];
    let (mut renewals, mut acquires) = (Vec::new(), Vec::new());
    for _ in 0..FEW {
        renewals.push(clients::renewals(&half.space, engine.size.span));
        acquires.push(clients::acquires(&half.space, engine.size.span));
    }
    figures.add(name, "renewals of 16 clients", "1/s", renewals);
    figures.add(name, "acquires of 16 clients", "1/s", acquires);
    many_at_once(engine.kind, half, figures);

    let lists: Vec<_> = (0..FEW)
        .map(|_| timed(|| assert_eq!(full.store.list().unwrap().len(), full.held.len())))
        .collect();
    figures.times(name, "list of all", &lists);
    // Every lease was renewed, so that none ends now that was to end first.
    thread::sleep(full.first_over.saturating_duration_since(Instant::now()));
    let mut refused = || refusal(&mut full.store, TTL).unwrap();
    figures.times(name, "refusal/after renewals", &[refused()]);
    let refusals: Vec<_> = (0..rounds).map(|_| refused()).collect();
    figures.times(name, "refusal", &refusals);
}

/// Opens a namespace of 2^22 node ids that is not there yet, and acquires one.
fn first_of_many(engine: &Engine) -> Duration {
    timed(|| {
        let mut store = engine.wide_space().open();
        let grants = acquire(&mut store, 1, 1_000);
        release(&mut store, &grants);
    })
}

fn fill_in_part(engine: &Engine) -> Vec<Part<'_>> {
    let fill = |(per_mille, name)| {
        let space = engine.space(&format!("leased-{per_mille}"));
        let mut store = space.open();
        let begun = Instant::now();
        if per_mille > 0 {
            let mut grants = fill(&mut store, engine.kind.at_once(), TTL);
            let kept = grants.len() * per_mille / 1_000;
            // What is free may be anywhere.
            grants.sort_by_cached_key(|_| RandomState::new().hash_one(0));
            release(&mut store, &grants.split_off(kept));
        }
        Part {
            name,
            space,
            store,
            begun,
            acquires: Vec::new(),
        }
    };
    thread::scope(|scope| {
        let parts = OCCUPANCIES.map(|part| scope.spawn(move || fill(part)));
        parts.into_iter().map(|part| part.join().unwrap()).collect()
    })
}

/// One acquire at each occupancy in every round, and beside them what is compared.
fn take_turns(name: &'static str, rounds: u32, parts: &mut [Part<'_>], figures: &mut Figures) {
    let mut disk = Disk::new();
    let (mut overwrites, mut appends, mut clocks) = (Vec::new(), Vec::new(), Vec::new());
    let (mut renewals, mut releases) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        overwrites.push(timed(|| disk.overwrite()));
        appends.push(timed(|| disk.append()));
        for part in &mut *parts {
            let begin = Instant::now();
            let grants = acquire(&mut part.store, 1, TTL);
            part.acquires.push(begin.elapsed());
            thread::sleep(2 * TICK);
            renewals.push(timed(|| _ = part.store.renew(&grants, TTL).unwrap()));
            releases.push(timed(|| release(&mut part.store, &grants)));
        }
        clocks.push(timed(|| _ = parts[0].store.now().unwrap()));
    }
    for part in &*parts {
        let time = part.begun.elapsed();
        let is_leased = time < Duration::from_millis(TTL);
        assert!(is_leased, "the machine is too slow: {time:?}");
    }
    figures.times(name, "disk/overwrite", &overwrites);
    figures.times(name, "disk/append", &appends);
    figures.times(name, "clock", &clocks);
    for part in parts {
        figures.times(name, &format!("acquire/{}", part.name), &part.acquires);
    }
    figures.times(name, "renewal", &renewals);
    figures.times(name, "release", &releases);
}

/// All node ids of one process with one call.
fn many_at_once(kind: Kind, part: &mut Part<'_>, figures: &mut Figures) {
    let name = kind.name();
    // Half of all is free.
    let most = kind.at_once().min(part.space.node_ids() / 4);
    for count in AT_ONCE.into_iter().filter(|count| *count <= most) {
        let (mut acquires, mut renewals) = (Vec::new(), Vec::new());
        for _ in 0..FEW {
            let begin = Instant::now();
            let grants = acquire(&mut part.store, count, TTL);
            acquires.push(begin.elapsed());
            thread::sleep(2 * TICK);
            renewals.push(timed(|| _ = part.store.renew(&grants, TTL).unwrap()));
            release(&mut part.store, &grants);
        }
        figures.times(name, &format!("acquire/{count} at once"), &acquires);
        figures.times(name, &format!("renewal/{count} at once"), &renewals);
    }
}

fn timed(work: impl FnOnce()) -> Duration {
    let begin = Instant::now();
    work();
    begin.elapsed()
}
