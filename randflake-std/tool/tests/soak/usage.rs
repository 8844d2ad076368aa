//! Memory of all processes of this program together, and disk space of its temporary folder.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::{env, fs, process, thread};

const PAUSE: Duration = Duration::from_secs(2);

static MEMORY: AtomicU64 = AtomicU64::new(0);
static DISK: AtomicU64 = AtomicU64::new(0);

/// Begins to look, for as long as this program runs.
pub(crate) fn watch() {
    thread::spawn(|| {
        loop {
            MEMORY.fetch_max(memory(), Ordering::Relaxed);
            DISK.fetch_max(disk(&env::temp_dir()), Ordering::Relaxed);
            thread::sleep(PAUSE);
        }
    });
}

/// The most so far, in bytes: memory and disk.
pub(crate) fn peak() -> (u64, u64) {
    (MEMORY.load(Ordering::Relaxed), DISK.load(Ordering::Relaxed))
}

/// Of this process and all that come from it; what several share is divided among them.
fn memory() -> u64 {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let id = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    let ids: Vec<u32> = processes.filter_map(id).collect();
    let parent = |id: &u32| {
        let status = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name before it may have spaces.
        let (_, fields) = status.rsplit_once(')')?;
        Some((*id, fields.split_whitespace().nth(1)?.parse().ok()?))
    };
    let parents: BTreeMap<u32, u32> = ids.iter().filter_map(parent).collect();
    let is_ours = |id: &&u32| {
        let mut id = **id;
        while id != process::id() {
            match parents.get(&id) {
                Some(parent) if *parent != id => id = *parent,
                _ => return false,
            }
        }
        true
    };
    let kilobytes = |id: &u32| {
        let sums = fs::read_to_string(format!("/proc/{id}/smaps_rollup")).ok()?;
        let line = sums.lines().find_map(|line| line.strip_prefix("Pss:"))?;
        line.trim_end_matches("kB").trim().parse::<u64>().ok()
    };
    let sum: u64 = ids.iter().filter(is_ours).filter_map(kilobytes).sum();
    sum << 10
}

fn disk(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => disk(&entry.path()),
        Ok(data) => data.blocks() * 512,
        // It is gone.
        Err(_) => 0,
    };
    entries.map(size).sum()
}
