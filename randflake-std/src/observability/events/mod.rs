//! Events of a handle's keeper.

#[cfg(feature = "tracing")]
mod enabled;
#[cfg(feature = "tracing")]
pub(crate) use enabled::*;
#[cfg(not(feature = "tracing"))]
mod disabled;
#[cfg(not(feature = "tracing"))]
pub(crate) use disabled::*;
