//! `lease line` with a ledger on a server, as several stations share it.

use std::collections::BTreeSet;
use std::fs;
use std::thread;

use crate::user::{Answer, User, objects, words, year};

const STATIONS: usize = 3;
const DEVICES: usize = 16;

/// A station with the whole table.
fn run(station: &User, url: &str) -> Answer {
    let rows: Vec<_> = (0..DEVICES).map(|device| format!("{device:x}")).collect();
    fs::write(
        station.path("devices.csv"),
        format!("device\n{}\n", rows.join("\n")),
    )
    .unwrap();
    let line = "lease line devices.csv --out-dir images --page-size 4096 --horizon-at 0x8000 --grant-at 0x7000 --json";
    let until = format!("{}-01-01", year() + 2);
    let own = ["--until", &until, "--store", url];
    station.run(&[&words(line)[..], &own].concat())
}

/// Stations at once make each device once; and where the server lost its data, nothing is made.
fn a_ledger_is_shared(url: &str, forget: impl FnOnce()) {
    let init = "lease init --yes --no-wait --max-ttl 1100d --store";
    let init = || User::new().run(&[&words(init)[..], &[url]].concat());
    assert_eq!(init().status, Some(0));
    let stations: Vec<_> = (0..STATIONS).map(|_| User::new()).collect();
    let made: Vec<_> = thread::scope(|scope| {
        let runs: Vec<_> = stations
            .iter()
            .map(|station| scope.spawn(|| run(station, url)))
            .collect();
        let answers = runs.into_iter().map(|run| run.join().unwrap());
        answers.flat_map(|answer| objects(&answer.stdout)).collect()
    });
    for field in ["device", "node_id"] {
        let given: BTreeSet<_> = made.iter().map(|made| made[field].to_string()).collect();
        assert_eq!(
            (made.len(), given.len()),
            (DEVICES, DEVICES),
            "{field}: {made:?}"
        );
    }
    let leases = User::new()
        .run(&["lease", "list", "--json", "--store", url])
        .ok();
    assert_eq!(
        objects(&leases).len(),
        DEVICES,
        "node ids of devices that others made are given back"
    );

    forget();
    let said = run(&User::new(), url).fails(1);
    assert!(
        said.contains("a new one would give them a second time"),
        "{said}"
    );
    // Declared new by mistake: a station has images that it does not know.
    assert_eq!(init().status, Some(0));
    let busiest = stations
        .iter()
        .max_by_key(|station: &&User| fs::read_dir(station.path("images")).unwrap().count())
        .unwrap();
    let said = run(busiest, url).fails(1);
    assert!(said.contains("which the ledger does not know"), "{said}");
}

on_each_engine!(a_ledger_is_shared);
