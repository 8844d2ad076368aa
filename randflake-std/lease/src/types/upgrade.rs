//! What comes of raising a namespace's version.

use super::Record;

/// What came of an upgrade: see [`Administration::upgrade_namespace`](crate::Administration::upgrade_namespace).
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Upgrade {
    /// Records may be written in this version. Programs that do not know it write no more, and stop when their leases end.
    Done {
        /// The version before; the same one if there was nothing to do.
        before: u8,
        /// Version that the namespace has now.
        version: u8,
    },
    /// Nothing was changed: holders that do not know the version have leases that live.
    OlderHolders {
        /// The version, which stays.
        before: u8,
        /// The version that was asked for.
        version: u8,
        /// Their leases, in the order of node ids.
        holders: Vec<Record>,
    },
}
