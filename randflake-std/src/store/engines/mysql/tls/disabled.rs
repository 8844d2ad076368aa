//! A build without encryption.

use mysql_async::SslOpts;

use crate::store::encryption::Files;
use crate::vocabulary::EngineError;

pub(in crate::store::engines::mysql) fn options(_: &Files) -> Result<SslOpts, EngineError> {
    Err(EngineError::unusable(
        "this build cannot encrypt connections to MySQL: build it with the cargo feature `mysql-tls`, or \
         take sslmode=disable",
    ))
}
