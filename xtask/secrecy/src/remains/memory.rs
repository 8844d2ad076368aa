//! Search in the memory of another process.

use core::time::Duration;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::thread;

use super::patterns::{Found, LEN, Patterns};

/// How often it is tried again, if something is unmapped while it is searched: the stack of a
/// thread that ends.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);

/// Searches all that the process can write: stacks below their tops too, and what was freed.
pub(super) fn search(process: u32, patterns: &Patterns) -> io::Result<Found> {
    for _ in 1..TRIES {
        if let Ok(found) = search_once(process, patterns) {
            return Ok(found);
        }
        thread::sleep(PAUSE);
    }
    search_once(process, patterns)
}

fn search_once(process: u32, patterns: &Patterns) -> io::Result<Found> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps"))?;
    let memory = File::open(format!("/proc/{process}/mem"))?;
    let mut found = Found::default();
    for line in maps.lines() {
        let Some((start, end)) = writable(line) else {
            continue;
        };
        let mut bytes = vec![0; usize::try_from(end - start).unwrap_or_default()];
        memory.read_exact_at(&mut bytes, start)?;
        let mapped = line.split_whitespace().nth(5).unwrap_or("memory");
        for (offset, window) in bytes.windows(LEN).enumerate() {
            let what = window
                .first_chunk()
                .and_then(|window| patterns.find(*window));
            if let Some(what) = what {
                found.add(what, mapped, offset);
            }
        }
    }
    Ok(found)
}

/// From where to where, if the process can write there.
fn writable(line: &str) -> Option<(u64, u64)> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let address = |hex| u64::from_str_radix(hex, 16).ok();
    rest.starts_with("rw")
        .then_some((address(start)?, address(end)?))
}
