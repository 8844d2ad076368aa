//! A lease store that was made a minute ago: a new one waits before it grants, and the tool says
//! that it made it.

use core::time::Duration;
use std::fs::DirBuilder;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use randflake_std::Randflake;
use randflake_std::lease::{Namespace, SqliteStore};
use randflake_std::randflake_core::ManualClock;

/// Makes the default store below a state directory.
pub(crate) fn in_state(state: &Path) {
    let mut private = DirBuilder::new();
    private.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut private, 0o700);
    let folder = state.join("randflake");
    private.create(&folder).unwrap();
    at(&folder.join("leases.db"));
}

/// Makes a store in a file.
pub(crate) fn at(path: &Path) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let then = now.saturating_sub(Duration::from_secs(60));
    let clock = ManualClock::at_unix_ms(then.as_millis().try_into().unwrap());
    // Opening makes the file, and no namespace.
    let namespace = Namespace::new("default", Randflake).unwrap();
    SqliteStore::open_with_clock(path, &namespace, Arc::new(clock)).unwrap();
}
