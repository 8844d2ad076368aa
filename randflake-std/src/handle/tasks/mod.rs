//! What a handle does for the tasks of a runtime.

#[cfg(feature = "tokio")]
mod enabled;
#[cfg(feature = "tokio")]
pub(super) use enabled::*;
#[cfg(not(feature = "tokio"))]
mod disabled;
#[cfg(not(feature = "tokio"))]
pub(super) use disabled::*;
