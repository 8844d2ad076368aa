//! Tables: CSV, tab-separated values and JSON lines

mod added;
mod converted;
mod refused;
mod streams;

use crate::user::{Answer, User, words};

/// An id, and the cells that stand behind it.
const ID: &str = "4594531474933654033";
const CELLS: &str = "2024-12-09T01:04:57Z,42,1";

fn on(input: &str, line: &str) -> Answer {
    User::new().run_on(input.as_bytes(), &words(line))
}
