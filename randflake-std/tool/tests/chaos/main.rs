//! A fleet on one store: three servers, four processes of Python that issue under the servers'
//! leases, two of Rust on the store itself, and two clients that get ids over the Redis protocol.
//! They are killed and suspended, so are the servers, one and all of them, and the engine. No id of
//! any repeats, all go on, and the history says of each id who issued it.
//!
//! How long it took until all went on is printed, beside the TTL. It is no part of the verdict: a
//! busy machine is slow.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and tells how far it went"
)]

mod fleet;

use core::time::Duration;
use std::collections::BTreeMap;
use std::env;
use std::process::ExitCode;
use std::time::{Instant, SystemTime};

use harness::engine::{ENGINES, ServerEngine};
use libtest_mimic::{Arguments, Trial};

use fleet::{EVENTS, Fleet, TTL};

/// How long on each engine, at least; each of the faults happens once in any case.
const SECONDS: &str = "RANDFLAKE_CHAOS_SECONDS";

fn main() -> ExitCode {
    let seconds = env::var(SECONDS).ok().and_then(|text| text.parse().ok());
    let time = Duration::from_secs(seconds.unwrap_or(0));
    let trials = ENGINES.iter().map(|engine| {
        Trial::test(
            format!("{}::no_id_repeats_whatever_is_killed", engine.name),
            move || {
                chaos((engine.start)(), time);
                Ok(())
            },
        )
    });
    let trials = trials.collect();
    let mut arguments = Arguments::from_args();
    // Each wants the machine for itself.
    arguments.test_threads = Some(1);
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn chaos(engine: Box<dyn ServerEngine>, time: Duration) {
    let mut fleet = Fleet::start(engine);
    fleet.go_on_after(SystemTime::now());
    let begun = Instant::now();
    // How often each fault happened, and how long it took at most until all went on.
    let mut told: BTreeMap<_, (u32, Duration)> = BTreeMap::new();
    for event in 0.. {
        if event >= EVENTS && begun.elapsed() >= time {
            break;
        }
        let (fault, over, mend) = fleet.suffer(event);
        fleet.go_on_after(over);
        let (times, longest) = told.entry(fault).or_default();
        *times += 1;
        *longest = over.elapsed().unwrap_or_default().max(*longest);
        if let Some(replica) = mend {
            fleet.servers[replica].restart();
        }
    }
    for (fault, (times, longest)) in told {
        println!("{fault}: {times} times, all went on within {longest:.1?}; the TTL is {TTL:?}");
    }
    let mut ids = fleet.end();
    let issued = ids.len();
    fleet.explain(&ids);
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(issued - ids.len(), 0, "of {issued} ids some repeat");
    println!("{issued} ids, each once, and each explained");
}
