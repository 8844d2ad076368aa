//! URLs of MySQL and MariaDB.

use crate::store::{Mysql, MysqlStore};
use randflake_lease::StoreError;
use randflake_lease::unstable::url::{
    AddressKind, ENCRYPTS_BY_MODE, Location, Registration, Scheme,
};
use randflake_sql::Database;

/// The engine as URLs lead to it.
pub static ENGINE: Registration = Registration {
    name: "MySQL",
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
    open: MysqlStore::at,
    open_existing: Database::<Mysql>::boxed,
};

/// Refuses a URL without a database: the tables would be made nowhere.
fn check(location: &Location) -> Result<(), StoreError> {
    match location.database {
        Some(_) => Ok(()),
        None => Err(location.refused("has no database")),
    }
}
