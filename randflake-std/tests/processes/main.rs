//! Many processes on one store, with what befalls processes: `kill -9`, suspension, clock jumps,
//! copied state. Every id that any of them issued is collected, and none may repeat.
//!
//! The program starts itself again as the processes that issue, which is why it has its own `main`.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod assigned;
mod clocks;
mod elastic;
#[cfg(target_os = "linux")]
mod exchanged;
mod issuer;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

/// They wait for leases to end more than they work.
const AT_ONCE: usize = 4;

fn main() -> ExitCode {
    if let Some(order) = issuer::Order::from_env() {
        return issuer::run(&order);
    }
    let mut scenarios = vec![
        Trial::test(
            "an_assigned_node_id_killed_and_restarted",
            assigned::killed_and_restarted,
        ),
        Trial::test("a_pod_whose_volume_was_lost", assigned::volume_lost),
        Trial::test("a_pod_that_was_moved", assigned::moved),
        Trial::test("a_pod_whose_volume_was_restored", assigned::restored),
        Trial::test(
            "suspended_for_longer_than_the_lease",
            clocks::longer_than_the_lease,
        ),
        Trial::test(
            "elastic_processes_that_take_from_each_other",
            elastic::to_and_fro,
        ),
        Trial::test(
            "wall_clocks_an_hour_apart_and_jumping",
            clocks::an_hour_apart,
        ),
    ];
    #[cfg(target_os = "linux")]
    scenarios.extend(exchanged::scenarios());
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(AT_ONCE);
    libtest_mimic::run(&arguments, scenarios).exit_code()
}
