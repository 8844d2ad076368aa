//! Leases and counters in a MySQL or MariaDB database.

#[cfg(feature = "mysql")]
mod store;

#[cfg(feature = "mysql")]
pub use self::store::MysqlStore;
use super::{Opening, Registration};
use crate::store::url::{AddressKind, ENCRYPTS_BY_MODE, Location, Scheme};
use crate::vocabulary::StoreError;

pub(in crate::store) static ENGINE: Registration = Registration {
    name: "MySQL",
    feature: "mysql",
    short_form: "mysql://HOST/DATABASE",
    schemes: &[Scheme {
        name: "mysql",
        is_encrypted: false,
        encrypts_by: ENCRYPTS_BY_MODE,
        place: AddressKind::Host { port: 3_306 },
        options: &["sslmode", "sslrootcert", "sslcert", "sslkey"],
        form: "mysql://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE",
    }],
    has_counters: true,
    check,
    opening: OPENING,
};

#[cfg(feature = "mysql")]
const OPENING: Option<Opening> = Some(store::OPENING);
#[cfg(not(feature = "mysql"))]
const OPENING: Option<Opening> = None;

/// Refuses a URL without a database: the tables would be made nowhere.
fn check(location: &Location) -> Result<(), StoreError> {
    match location.database {
        Some(_) => Ok(()),
        None => Err(location.refused("has no database")),
    }
}
