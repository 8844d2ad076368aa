//! Load of holders that look at their leases between renewals.

use std::collections::BTreeSet;
use std::fs;
use std::time::Instant;

use harness::server::{Server, working_in};
use randflake_std::unstable::engine::Look;

use super::engine::{Engine, Kind, TTL};
use super::figures::Figures;
use super::leases::{acquire, release};

/// Of each holder, unless the whole is shortened.
const MOST_LOOKS: u32 = 20;
/// The kernel counts the time of processes in these, whatever its own tick is.
const TICKS_PER_SECOND: f64 = 100.0;

/// Time of a look, and of the server's processors for it: all holders are connected, and look in
/// turns.
pub(crate) fn measure(engine: &Engine, figures: &mut Figures) {
    // Without a server there is nobody to spare.
    let (Kind::Server(kind), Some(server)) = (engine.kind, engine.server()) else {
        return;
    };
    let rounds = engine.size.rounds.min(MOST_LOOKS);
    let holders = if rounds < MOST_LOOKS {
        2
    } else {
        kind.most_clients
    };
    let space = engine.space("looks");
    drop(space.open());
    let mut holders: Vec<_> = (0..holders)
        .map(|_| {
            let mut store = space.connect();
            let grants = acquire(&mut store, 1, TTL);
            (store, grants)
        })
        .collect();
    let is_regular = holders[0].0.look_every().is_some();
    for (case, is_measured) in [("look", is_regular), ("look/leases", true)] {
        let mut times = Vec::new();
        let before = processor_seconds(server);
        for _ in 0..if is_measured { rounds } else { 0 } {
            for (store, grants) in &mut holders {
                let begin = Instant::now();
                let is_same = match case {
                    "look" => store.look().unwrap() == Look::Same,
                    _ => store.check_leases(grants, TTL).unwrap().is_same(),
                };
                assert!(is_same);
                times.push(begin.elapsed());
            }
        }
        let Some(looks) = u32::try_from(times.len()).ok().filter(|looks| *looks > 0) else {
            continue;
        };
        let used = processor_seconds(server) - before;
        let each_us = used * 1e6 / f64::from(looks);
        let name = engine.kind.name();
        figures.times(name, case, &times);
        figures.add(name, &format!("{case}/server"), "us", vec![each_us]);
    }
    for (store, grants) in &mut holders {
        release(store, grants);
    }
}

/// Time that processors have spent for a server: the process itself, and those that work in its
/// folder.
fn processor_seconds(server: &Server) -> f64 {
    let mut processes: BTreeSet<_> = working_in(server.folder()).into_iter().collect();
    processes.insert(server.id().cast_signed());
    let ticks = |process: &libc::pid_t| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // A name may have spaces and parentheses.
        let fields = stat.rsplit_once(')')?.1.split(' ');
        // In user mode and in the kernel.
        let ticks = fields.skip(12).take(2).map(str::parse::<u32>);
        ticks.sum::<Result<u32, _>>().ok()
    };
    let all = processes.iter().filter_map(ticks).sum::<u32>();
    f64::from(all) / TICKS_PER_SECOND
}
