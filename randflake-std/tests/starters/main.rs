//! Processes that begin on real servers, and on a file: a hundred at once where nothing is made
//! yet, and forked ones.
//!
//! The program starts itself again as these processes, which is why it has its own `main`.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "the processes tell what they have")]

mod fork;
mod hundred;

use std::process::ExitCode;
use std::{env, thread};

use libtest_mimic::{Arguments, Trial};
use randflake_std::Randflake;
use randflake_std::lease::{
    AcquireRequest, Acquisition, LeaseStore, Namespace, QuarantineCause, StoreError, open,
};

const TRIALS: &[(&str, fn())] = &[
    ("redis::a_hundred_processes_begin_at_once", hundred::redis),
    ("etcd::a_hundred_processes_begin_at_once", hundred::etcd),
    (
        "postgres::a_hundred_processes_begin_at_once",
        hundred::postgres,
    ),
    (
        "mariadb::a_hundred_processes_begin_at_once",
        hundred::mariadb,
    ),
    ("sqlite::a_hundred_processes_begin_at_once", hundred::sqlite),
    ("sqlite::a_forked_child_has_a_lock_of_its_own", fork::sqlite),
    (
        "redis::a_forked_child_has_a_connection_of_its_own",
        fork::redis,
    ),
    (
        "etcd::a_forked_child_has_a_connection_of_its_own",
        fork::etcd,
    ),
    (
        "postgres::a_forked_child_has_a_connection_of_its_own",
        fork::postgres,
    ),
    (
        "mariadb::a_forked_child_has_a_connection_of_its_own",
        fork::mariadb,
    ),
];

fn main() -> ExitCode {
    if let Ok(url) = env::var(hundred::STORE) {
        hundred::starter(&url);
        return ExitCode::SUCCESS;
    }
    let trials = TRIALS.iter().map(|&(name, run)| {
        Trial::test(name, move || {
            run();
            Ok(())
        })
    });
    let mut arguments = Arguments::from_args();
    // Each wants the machine for itself; and forks are made by the only thread that is at work.
    arguments.test_threads = Some(1);
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

fn namespace() -> Namespace {
    Namespace::new("orders", Randflake).unwrap()
}

/// Waits for the moment from which a file that was just made grants.
fn acquire_when_due(
    store: &mut LeaseStore,
    request: &AcquireRequest<'_>,
) -> Result<Acquisition, StoreError> {
    loop {
        match store.acquire(request) {
            Err(StoreError::Quarantined {
                retry_in,
                quarantine,
            }) if quarantine.cause == QuarantineCause::Young => thread::sleep(retry_in),
            outcome => return outcome,
        }
    }
}

fn declare_new(url: &str) {
    let mut store = open(url, &namespace()).unwrap();
    store.administration().end_quarantine().unwrap();
}
