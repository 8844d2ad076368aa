//! No encrypted connections in this build.

use crate::lease::StoreError;

pub(in super::super) fn prepare() -> Result<(), StoreError> {
    Err(StoreError::Unusable(
        "this build has no TLS for Redis: build it with the cargo feature `redis-tls`".to_owned(),
    ))
}
