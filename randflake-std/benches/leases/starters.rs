//! Waiting time of processes that start together and want node ids.

use core::time::Duration;
use std::thread;
use std::time::Instant;

use super::engine::{Engine, Space, TTL};
use super::figures::Figures;
use super::leases::{acquire, release};

const STARTERS: [usize; 2] = [1, 128];
/// Many at once take a second on some engines.
const MOST_ROUNDS: u32 = 30;

pub(crate) fn measure(engine: &Engine, figures: &mut Figures) {
    let space = engine.space("starters");
    // The namespace is there, and declared new, when they start.
    drop(space.open());
    for starters in STARTERS {
        let times: Vec<_> = (0..engine.size.rounds.min(MOST_ROUNDS))
            .map(|_| start(&space, starters))
            .collect();
        figures.times(engine.kind.name(), &format!("starters/{starters}"), &times);
    }
}

/// Until the last of them has its node id.
fn start(space: &Space<'_>, starters: usize) -> Duration {
    let begin = Instant::now();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..starters)
            .map(|_| {
                scope.spawn(|| {
                    let mut store = space.connect();
                    let grants = acquire(&mut store, 1, TTL);
                    let waited = begin.elapsed();
                    release(&mut store, &grants);
                    waited
                })
            })
            .collect();
        let waited = threads.into_iter().map(|thread| thread.join().unwrap());
        waited.max().unwrap_or_default()
    })
}
