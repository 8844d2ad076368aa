//! The cases, a file for each group.

mod batch;
mod cipher;
mod one_thread;
mod snowflake;
mod text;
mod two_threads;

use crate::measure::Case;

pub(crate) fn all() -> Vec<Case> {
    let mut cases = one_thread::cases();
    cases.extend(two_threads::cases());
    cases.extend(batch::cases());
    cases.extend(snowflake::cases());
    cases.extend(cipher::cases());
    cases.extend(text::cases());
    cases
}

/// A peer's name with its version, out of the lock file.
fn peer(name: &str) -> String {
    let lock = include_str!("../../../../examples/Cargo.lock");
    let entry = format!("name = \"{name}\"\nversion = \"");
    // Of several versions the highest is the direct dependency's, and stands last.
    let version = lock
        .rsplit_once(&entry)
        .and_then(|(_, rest)| rest.split_once('"'));
    version.map_or(name.to_owned(), |(version, _)| format!("{name} {version}"))
}
