//! Counters by URL.

use super::SegmentStore;
use crate::lease::url::{
    open_etcd, open_mysql, open_postgres, open_redis, open_sqlite, sqlite_path,
};
use crate::lease::{Namespace, StoreError};

/// Opens the store that a URL names, for the counter of a namespace, as
/// [`lease::open`](crate::lease::open) does.
///
/// # Errors
///
/// As for [`lease::open`](crate::lease::open).
pub fn open(url: &str, namespace: &Namespace) -> Result<Box<dyn SegmentStore>, StoreError> {
    // What follows the scheme may hold a password: no error shows it.
    match url.split_once(':') {
        Some(("sqlite", path)) => Ok(open_sqlite(sqlite_path(path)?, namespace)?),
        Some(("redis" | "rediss" | "redis+unix", _)) => Ok(open_redis(url, namespace)?),
        Some(("postgres" | "postgresql", _)) => Ok(open_postgres(url, namespace)?),
        Some(("mysql", _)) => Ok(open_mysql(url, namespace)?),
        Some(("etcd" | "etcds", _)) => Ok(open_etcd(url, namespace)?),
        _ => Err(StoreError::Invalid(
            "no counters are kept where this URL leads: take sqlite:PATH, redis://HOST, \
             etcd://HOST, postgres://HOST/DATABASE or mysql://HOST/DATABASE"
                .to_owned(),
        )),
    }
}
