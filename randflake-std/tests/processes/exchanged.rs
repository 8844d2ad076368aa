//! Files of a store that are deleted, moved, overwritten and mounted over while processes have
//! leases from them. The TTL is the usual one: a holder that noticed only at its next renewal would
//! issue for 20 s beside another one.

use core::time::Duration;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Instant;

use harness::disk::{enter_private_mounts, succeeds};
use libtest_mimic::{Failed, Trial};
use tempfile::TempDir;

use crate::issuer::{Issuer, Order, assert_distinct, ids};

const TTL: Duration = Duration::from_secs(60);
const TIME: Duration = Duration::from_secs(15);
const NAMESPACE: &str = "exchanged";
/// A process that has issued nothing for so long has used up its tick, and does not issue any more.
const QUIET: Duration = Duration::from_secs(3);
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn scenarios() -> [Trial; 4] {
    [
        Trial::test("files_deleted_under_a_holder", deleted),
        Trial::test("files_moved_away_and_back", moved_away_and_back),
        Trial::test("files_overwritten_in_place_under_holders", overwritten),
        Trial::test("files_hidden_by_a_volume_mounted_late", mounted_late)
            .with_ignored_flag(!rustix::process::geteuid().is_root()),
    ]
}

/// A folder with a store in `state`, and the processes that have issued from it.
struct Place {
    root: TempDir,
    processes: Vec<(PathBuf, Issuer)>,
}

impl Place {
    fn new() -> Result<Self, Failed> {
        let root = tempfile::tempdir()?;
        fs::create_dir(root.path().join("state"))?;
        Ok(Self {
            root,
            processes: Vec::new(),
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Starts a process, whatever becomes of it.
    fn start(&mut self) -> PathBuf {
        let store = format!("sqlite:{}", self.path("state/leases.db").display());
        let output = self.path(&format!("ids-{}", self.processes.len()));
        let order = Order::new(&store, NAMESPACE, &output, TIME).with_ttl(TTL);
        self.processes.push((output.clone(), order.start()));
        output
    }

    /// Starts a process, and waits until it issues.
    fn start_holder(&mut self) -> PathBuf {
        let output = self.start();
        let begun = Instant::now();
        while has(&output) == 0 {
            assert!(begun.elapsed() < PATIENCE, "a process issues nothing");
            thread::sleep(Duration::from_millis(20));
        }
        output
    }

    /// Waits until a process does not issue any more, long before its next renewal.
    fn wait_until_stopped(&mut self, n: usize) {
        let (output, process) = &mut self.processes[n];
        let (mut last, mut since) = (has(output), Instant::now());
        while since.elapsed() < QUIET {
            assert!(
                process.0.try_wait().unwrap().is_none(),
                "process {n} has issued to its end"
            );
            thread::sleep(Duration::from_millis(50));
            if has(output) != last {
                (last, since) = (has(output), Instant::now());
            }
        }
    }

    /// Waits for all to end, demands that no id repeats, and says what the store said last to each.
    fn end(self) -> Vec<String> {
        let (mut issued, mut said) = (Vec::new(), Vec::new());
        for (output, process) in self.processes {
            process.succeeds();
            issued.extend(ids(&output));
            let error = fs::read_to_string(output.with_extension("error"));
            said.push(error.unwrap_or_default());
        }
        assert_distinct(issued);
        said
    }
}

fn has(output: &Path) -> u64 {
    fs::metadata(output).map_or(0, |output| output.len())
}

fn copy(from: &Path, to: &Path) {
    succeeds(Command::new("cp").arg("-a").arg(from).arg(to));
}

/// As `rm leases.db*` does.
fn deleted() -> Result<(), Failed> {
    let mut place = Place::new()?;
    place.start_holder();
    for entry in fs::read_dir(place.path("state"))? {
        fs::remove_file(entry?.path())?;
    }
    // At once: the holder does not know yet, and its lock on the directory says that it is there.
    place.start();
    place.wait_until_stopped(0);
    let said = place.end();
    assert!(said[1].contains("nothing is granted until"), "{said:?}");
    Ok(())
}

fn moved_away_and_back() -> Result<(), Failed> {
    let mut place = Place::new()?;
    let state = place.path("state");
    place.start_holder();
    fs::rename(&state, place.path("away"))?;
    place.wait_until_stopped(0);
    fs::create_dir(&state)?;
    // Whether it is granted a lease depends on when the first one finds this store in the place of
    // its own.
    place.start();
    thread::sleep(QUIET);
    fs::rename(&state, place.path("second"))?;
    place.wait_until_stopped(1);
    fs::rename(place.path("away"), &state)?;
    place.start();
    place.end();
    Ok(())
}

/// As `cp -a backup/. state/` does, by files that lack a lease.
fn overwritten() -> Result<(), Failed> {
    let mut place = Place::new()?;
    let (state, backup) = (place.path("state"), place.path("backup"));
    place.start_holder();
    copy(&state, &backup);
    place.start_holder();
    copy(&backup.join("."), &state);
    // At once, as above.
    place.start();
    let said = place.end();
    assert!(said[2].contains("may have forgotten leases"), "{said:?}");
    Ok(())
}

/// A service that was started before its volume was there, beside one that had it.
fn mounted_late() -> Result<(), Failed> {
    enter_private_mounts();
    let mut place = Place::new()?;
    let (state, volume) = (place.path("state"), place.path("volume"));
    place.start_holder();
    fs::create_dir(&volume)?;
    succeeds(Command::new("mount").arg("--bind").arg(&volume).arg(&state));
    place.wait_until_stopped(0);
    place.start();
    place.start();
    place.end();
    Ok(())
}
