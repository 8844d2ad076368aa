//! How connections are encrypted.

#[cfg(not(feature = "mysql-tls"))]
mod disabled;
#[cfg(feature = "mysql-tls")]
mod enabled;

#[cfg(not(feature = "mysql-tls"))]
pub(super) use self::disabled::{options, refusal};
#[cfg(feature = "mysql-tls")]
pub(super) use self::enabled::{options, refusal};
