//! Metrics of a handle's keeper.

#[cfg(feature = "metrics")]
mod enabled;
#[cfg(feature = "metrics")]
pub(crate) use enabled::*;
#[cfg(not(feature = "metrics"))]
mod disabled;
#[cfg(not(feature = "metrics"))]
pub(crate) use disabled::*;
