//! Choice of a mutant by the environment; or, where that names a folder, a list there of the
//! mutants that were reached.

extern crate std;

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::io::Write as _;

const UNREAD: u32 = u32::MAX;
const NONE: u32 = UNREAD - 1;
const LISTED: u32 = UNREAD - 2;
const MOST: usize = 1 << 14;

static CHOSEN: AtomicU32 = AtomicU32::new(UNREAD);
static REACHED: [AtomicBool; MOST] = [const { AtomicBool::new(false) }; MOST];

#[must_use]
pub const fn is_chosen(number: u32) -> bool {
    core::intrinsics::const_eval_select((number,), while_compiling, while_running)
}

const fn while_compiling(_: u32) -> bool {
    false
}

#[inline]
fn while_running(number: u32) -> bool {
    match CHOSEN.load(Ordering::Relaxed) {
        UNREAD => {
            CHOSEN.store(read(), Ordering::Relaxed);
            while_running(number)
        }
        LISTED => {
            list(number);
            false
        }
        chosen => chosen == number,
    }
}

#[cold]
fn read() -> u32 {
    let chosen = std::env::var("RANDFLAKE_MUTANT").ok().and_then(|number| number.parse().ok());
    let is_listed = std::env::var_os("RANDFLAKE_MUTANTS_REACHED").is_some();
    chosen.unwrap_or(if is_listed { LISTED } else { NONE })
}

fn list(number: u32) {
    let before = REACHED.get(number as usize).map(|reached| reached.swap(true, Ordering::Relaxed));
    if before == Some(false)
        && let Some(folder) = std::env::var_os("RANDFLAKE_MUTANTS_REACHED")
    {
        let name = std::format!("{}", std::process::id());
        let file = std::path::Path::new(&folder).join(name);
        let file = std::fs::OpenOptions::new().append(true).create(true).open(file);
        let line = std::format!("{number}\n");
        // In a thread of its own: a test may have its writes counted or refused.
        let write = || file.and_then(|mut file| file.write_all(line.as_bytes()));
        _ = std::thread::scope(|scope| scope.spawn(write).join());
    }
}
