//! How connections are encrypted.

#[cfg(not(feature = "mysql-tls"))]
mod disabled;
#[cfg(feature = "mysql-tls")]
mod enabled;

use mysql_async::{Opts, OptsBuilder};

#[cfg(not(feature = "mysql-tls"))]
use self::disabled::options;
#[cfg(not(feature = "mysql-tls"))]
pub(super) use self::disabled::refusal;
#[cfg(feature = "mysql-tls")]
use self::enabled::options;
#[cfg(feature = "mysql-tls")]
pub(super) use self::enabled::refusal;
use crate::lease::StoreError;
use crate::lease::encryption::Files;

/// Where the server is, and the files for an encrypted connection.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) options: Opts,
    pub(super) files: Option<Files>,
}

impl Target {
    /// The options of one connection.
    pub(super) fn options(&self) -> Result<Opts, StoreError> {
        let encryption = self.files.as_ref().map(options).transpose()?;
        let builder = OptsBuilder::from_opts(self.options.clone());
        Ok(builder.ssl_opts(encryption).into())
    }
}
