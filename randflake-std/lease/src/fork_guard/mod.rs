//! Fork guard: detects a forked child, which must not use the leases of its parent.

// Miri has no pages that are emptied for a child.
#[cfg(all(target_os = "linux", not(miri)))]
mod linux;
#[cfg(all(target_os = "linux", not(miri)))]
pub use linux::ForkGuard;
#[cfg(any(not(target_os = "linux"), miri))]
mod other;
#[cfg(any(not(target_os = "linux"), miri))]
pub use other::ForkGuard;
