//! Keeps the secret in memory from other processes of the user.

/// No core dump, no debugger, and no `/proc/PID/environ` or `/proc/PID/mem` for others than root: the
/// secret, its round keys and `RANDFLAKE_KEY` are there. Where the kernel refuses, the tool works all the same.
#[cfg(target_os = "linux")]
pub(crate) fn hide_memory() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};

    _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn hide_memory() {}
