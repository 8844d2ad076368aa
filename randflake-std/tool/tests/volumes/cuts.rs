//! The power is cut at any moment while leases are acquired and renewed: what was answered is there afterwards.

use core::time::Duration;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Instant;

use harness::disk::Disk;
use randflake_std::lease::{Record, SqliteStore};

use crate::{TTL, acquire, namespace};

const HOLDERS: usize = 3;
const BUDGET: Duration = Duration::from_secs(15);
/// On a machine that is too slow for as many in that time.
const FEWEST_CUTS: u32 = 20;
/// The most answers before a cut, and how long after the last: an operation or two.
const MOST_ANSWERS: u32 = 12;
const MOST_MICROS: u32 = 10_000;

/// A lease that was answered, by node id and fencing token, with its end.
type Answer = ((u32, u64), u64);

#[test]
fn no_answered_lease_is_lost_in_a_power_cut() {
    let disk = Disk::new(32);
    let path = disk.path().join("leases.db");
    let mut answered = BTreeMap::new();
    let mut cuts = 0;
    let begun = Instant::now();
    while begun.elapsed() < BUDGET || cuts < FEWEST_CUTS {
        let (sender, answers) = channel();
        thread::scope(|scope| {
            for _ in 0..HOLDERS {
                scope.spawn(|| hold(&path, &sender));
            }
            let before = random(MOST_ANSWERS) as usize;
            answered.extend(answers.iter().take(before));
            thread::sleep(Duration::from_micros(random(MOST_MICROS).into()));
            disk.cut();
        });
        drop(sender);
        answered.extend(answers);
        cuts += 1;
        disk.power_on();
        let mut store = SqliteStore::open(&path, &namespace("orders")).unwrap();
        let kept: BTreeMap<_, _> = store.list().unwrap().iter().map(answer).collect();
        for (lease, end) in &answered {
            let is_kept = kept.get(lease).is_some_and(|kept| kept >= end);
            assert!(is_kept, "cut {cuts} lost {lease:?} until {end}");
        }
        // A cut is no loss: nothing is fenced.
        let grant = acquire(&mut store).unwrap();
        answered.insert((grant.node_id, grant.fencing_token), grant.end);
    }
}

fn random(below: u32) -> u32 {
    getrandom::u32().unwrap() % below
}

fn answer(record: &Record) -> Answer {
    let grant = record.grant;
    ((grant.node_id, grant.fencing_token), grant.end)
}

/// Acquires and renews, and reports each answer, until the power fails.
fn hold(path: &Path, answers: &Sender<Answer>) {
    while let Ok(mut store) = SqliteStore::open(path, &namespace("orders")) {
        let Ok(grant) = acquire(&mut store) else {
            return;
        };
        let lease = (grant.node_id, grant.fencing_token);
        answers.send((lease, grant.end)).unwrap();
        // A TTL longer than the first: an end that was lost is seen.
        let Ok(renewed) = store.renew(&[grant], 2 * TTL) else {
            return;
        };
        answers.send((lease, renewed.ends[0].unwrap())).unwrap();
    }
}
