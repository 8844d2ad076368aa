//! Keeps the secret in memory from other processes of the user.

/// Forbids core dumps, debuggers, and `/proc/PID/environ` and `/proc/PID/mem` to all but root.
///
/// The secret, its round keys and `RANDFLAKE_KEY` are there.
#[cfg(target_os = "linux")]
pub(crate) fn hide_memory() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};

    // Where the kernel refuses, the tool works all the same: this is a second line of defence.
    _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn hide_memory() {}
