//! Processes that take node ids from each other and give them back; one is killed, and one is
//! suspended for longer than its leases.

use core::time::Duration;
use std::path::PathBuf;
use std::thread;

use libtest_mimic::Failed;

use crate::clocks::signal;
use crate::issuer::{Issuer, Order, TTL, assert_distinct, ids};

const PROCESSES: usize = 5;
const KILLED: usize = 1;
/// Two of them want more than there are.
const MOST: u32 = 20;
const TIME: Duration = Duration::from_secs(20);

pub(crate) fn to_and_fro() -> Result<(), Failed> {
    let directory = tempfile::tempdir()?;
    let store = format!("sqlite:{}", directory.path().join("leases.db").display());
    let output = |n: usize| directory.path().join(format!("ids-{n}"));
    let outputs: Vec<PathBuf> = (0..=PROCESSES).map(output).collect();
    let start = |output: &PathBuf| {
        Order::new(&store, "test", output, TIME)
            .elastic(MOST)
            .patient()
            .start()
    };
    let mut processes: Vec<_> = outputs[..PROCESSES].iter().map(start).collect();

    thread::sleep(TTL * 2);
    signal(&processes[0], libc::SIGSTOP);
    let mut killed = processes.swap_remove(KILLED);
    killed.0.kill()?; // SIGKILL
    killed.0.wait()?;
    thread::sleep(TTL * 2);
    processes.push(start(&outputs[PROCESSES]));
    signal(&processes[0], libc::SIGCONT);

    processes.into_iter().for_each(Issuer::succeeds);
    let issued: Vec<_> = outputs.iter().map(|output| ids(output)).collect();
    for (n, one) in issued.iter().enumerate() {
        // What the killed one had not written is lost.
        assert!(n == KILLED || !one.is_empty(), "process {n} issued nothing");
    }
    assert_distinct(issued.concat());
    Ok(())
}
