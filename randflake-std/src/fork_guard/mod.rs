//! Notices that this process is a forked copy of the one that holds the leases.

// Miri has no pages that are emptied for a child.
#[cfg(all(target_os = "linux", not(miri)))]
mod linux;
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) use linux::ForkGuard;
#[cfg(any(not(target_os = "linux"), miri))]
mod other;
#[cfg(any(not(target_os = "linux"), miri))]
pub(crate) use other::ForkGuard;
