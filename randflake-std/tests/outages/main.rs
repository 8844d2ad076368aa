//! Power, networks and sessions fail under the servers that people run. Clients acquire, renew and
//! release meanwhile; what they are answered is kept, and no tick is granted twice.
//!
//! It needs root on Linux: it cuts the power of disks, and networks of its own.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod addresses;
mod clients;
mod ledger;
mod network;
mod power;
use randflake_lease::testkit::referee;
mod sessions;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

/// The trials mostly wait.
const AT_ONCE: usize = 12;

fn main() -> ExitCode {
    harness::isolation::isolate();
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(AT_ONCE);
    let mut trials = power::trials();
    trials.extend(network::trials());
    trials.extend(sessions::trials());
    trials.extend(addresses::trials());
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trial(name: &str, run: impl FnOnce() + Send + 'static) -> Trial {
    Trial::test(name, || {
        run();
        Ok(())
    })
}
