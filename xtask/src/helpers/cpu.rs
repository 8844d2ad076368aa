//! CPU time of a command, which is the same alone and beside others; seconds are not.

use core::time::Duration;
use std::process::Child;
use std::{fs, thread};

const PAUSE: Duration = Duration::from_millis(10);
/// What Linux counts processor time in, on every machine that this runs on.
const TICK: Duration = Duration::from_millis(10);

/// Waits for a process to end, and says what it took, with the children that it waited for; `None`
/// where there is no `/proc`. It has still to be waited for.
pub(crate) fn spent(child: &Child) -> Option<Duration> {
    loop {
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
        let (state, spent) = read(&stat)?;
        if state == "Z" {
            return Some(spent);
        }
        thread::sleep(PAUSE);
    }
}

/// The state, and the time as user and system of a process and of its children.
fn read(stat: &str) -> Option<(&str, Duration)> {
    // The name before it may have anything in it.
    let (_, behind_name) = stat.rsplit_once(") ")?;
    let mut fields = behind_name.split(' ');
    let state = fields.next()?;
    let ticks: Option<Vec<u32>> = fields.skip(10).take(4).map(|n| n.parse().ok()).collect();
    Some((state, TICK * ticks?.iter().sum()))
}
