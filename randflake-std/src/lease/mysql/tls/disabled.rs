//! A build without encryption.

use mysql_async::{Error as SqlError, SslOpts};

use crate::lease::StoreError;
use crate::lease::encryption::Files;

pub(in crate::lease::mysql) fn options(_: &Files) -> Result<SslOpts, StoreError> {
    Err(StoreError::unusable(
        "this build cannot encrypt connections to MySQL: build it with the cargo feature `mysql-tls`, or \
         take sslmode=disable"
            .to_owned(),
    ))
}

pub(in crate::lease::mysql) fn refusal(_: &SqlError) -> Option<String> {
    None
}
