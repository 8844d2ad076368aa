//! Faults of a fleet on the servers that people run: holders are killed and suspended, engines fall
//! and come back, networks fail, clocks jump. Processes issue as fast as they can meanwhile, every
//! id is collected, and none may repeat.
//!
//! The program starts itself again as the processes that issue, which is why it has its own `main`.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking; the figures are for people"
)]

#[expect(dead_code, reason = "other tests do more to processes")]
#[path = "../processes/issuer.rs"]
mod issuer;

mod emptied;
#[path = "../../engines/etcd/faults.rs"]
mod etcd;
mod fleet;
mod histories;
#[path = "../../engines/mysql/faults.rs"]
mod mysql;
#[path = "../../engines/postgres/faults.rs"]
mod postgres;
#[path = "../../engines/redis/faults.rs"]
mod redis;
mod scenarios;

use std::process::ExitCode;

use harness::engine::ENGINES;
use libtest_mimic::{Arguments, Trial};

use scenarios::SCENARIOS;

/// The scenarios mostly wait.
const AT_ONCE: usize = 12;

fn main() -> ExitCode {
    if let Some(order) = issuer::Order::from_env() {
        return issuer::run(&order);
    }
    let mut trials = Vec::new();
    for (scenario, run) in SCENARIOS {
        for engine in ENGINES {
            trials.push(trial(&format!("{}::{scenario}", engine.name), || {
                run(&mut *(engine.start)());
            }));
        }
    }
    trials.extend(emptied::trials());
    trials.extend(redis::trials());
    trials.extend(etcd::trials());
    trials.extend(mysql::trials());
    trials.extend(postgres::trials());
    trials.extend(histories::trials());
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(AT_ONCE);
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trial(name: &str, scenario: impl FnOnce() + Send + 'static) -> Trial {
    Trial::test(name, || {
        scenario();
        Ok(())
    })
}
