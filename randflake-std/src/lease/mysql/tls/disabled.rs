//! A build without encryption.

use mysql_async::SslOpts;

use crate::lease::EngineError;
use crate::lease::encryption::Files;

pub(in crate::lease::mysql) fn options(_: &Files) -> Result<SslOpts, EngineError> {
    Err(EngineError::unusable(
        "this build cannot encrypt connections to MySQL: build it with the cargo feature `mysql-tls`, or \
         take sslmode=disable",
    ))
}
