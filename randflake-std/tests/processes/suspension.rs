//! A holder that is stopped while its lease ends, and its node id goes to others.

use std::thread;

use libtest_mimic::Failed;

use crate::issuer::{Issuer, Order, TTL, assert_distinct, ids};

pub(crate) fn longer_than_the_lease() -> Result<(), Failed> {
    let directory = tempfile::tempdir()?;
    let store = format!("sqlite:{}", directory.path().join("leases.db").display());
    let outputs: Vec<_> = (0..4)
        .map(|n| directory.path().join(format!("ids-{n}")))
        .collect();
    let time = TTL * 5;
    let processes: Vec<_> = outputs
        .iter()
        .map(|output| Order::new(&store, "test", output, time).patient().start())
        .collect();

    thread::sleep(TTL / 2);
    let suspended = &processes[..2];
    for process in suspended {
        signal(process, libc::SIGSTOP);
    }
    thread::sleep(TTL * 2);
    // A process that starts now may get a suspended one's node id.
    let late_output = directory.path().join("ids-late");
    let late = Order::new(&store, "test", &late_output, time)
        .patient()
        .start();
    thread::sleep(TTL / 2);
    for process in suspended {
        signal(process, libc::SIGCONT);
    }

    processes
        .into_iter()
        .chain([late])
        .for_each(Issuer::succeeds);
    let outputs = outputs.iter().chain([&late_output]);
    assert_distinct(outputs.flat_map(|output| ids(output)).collect());
    Ok(())
}

#[expect(unsafe_code, reason = "sending a signal is a system call")]
pub(crate) fn signal(process: &Issuer, signal: libc::c_int) {
    // SAFETY: the process is a child that was not waited for, so its id is its own.
    assert_eq!(unsafe { libc::kill(process.id(), signal) }, 0);
}
