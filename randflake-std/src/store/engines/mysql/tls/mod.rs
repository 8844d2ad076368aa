//! How connections are encrypted.

#[cfg(not(feature = "mysql-tls"))]
mod disabled;
#[cfg(feature = "mysql-tls")]
mod enabled;

use mysql_async::{Opts, OptsBuilder};

#[cfg(not(feature = "mysql-tls"))]
use self::disabled::options;
#[cfg(feature = "mysql-tls")]
use self::enabled::options;
use super::Mysql;
use crate::vocabulary::EngineError;

impl Mysql {
    /// The options of one connection.
    pub(super) fn options(&self) -> Result<Opts, EngineError> {
        let encryption = self.files.as_ref().map(options).transpose()?;
        let builder = OptsBuilder::from_opts(self.options.clone());
        Ok(builder.ssl_opts(encryption).into())
    }
}
