//! URLs of PostgreSQL.

use core::time::Duration;

use crate::store::{Postgres, PostgresStore};
use randflake_lease::StoreError;
use randflake_lease::unstable::url::{
    AddressKind, ENCRYPTS_BY_MODE, Location, Registration, Scheme,
};
use randflake_sql::Database;

/// The engine as URLs lead to it.
pub static ENGINE: Registration = Registration {
    name: "PostgreSQL",
    schemes: &[
        POSTGRES,
        Scheme {
            name: "postgresql",
            ..POSTGRES
        },
    ],
    has_counters: true,
    check: |location| connect_timeout(location).map(drop),
    open: PostgresStore::at,
    open_existing: Database::<Postgres>::boxed,
};

const POSTGRES: Scheme = Scheme {
    name: "postgres",
    is_encrypted: false,
    encrypts_by: ENCRYPTS_BY_MODE,
    place: AddressKind::HostsOrSockets { port: 5_432 },
    options: &[
        "sslmode",
        "sslrootcert",
        "sslcert",
        "sslkey",
        "owner",
        "application_name",
        "connect_timeout",
    ],
    form: "postgres://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]...]/DATABASE",
};

/// The longest time for each address, if the URL names one; the time for all of them has a limit of its own.
pub(crate) fn connect_timeout(location: &Location) -> Result<Option<Duration>, StoreError> {
    let Some(text) = location.option("connect_timeout") else {
        return Ok(None);
    };
    let seconds: i32 = text.parse().map_err(|_| {
        location.refused("has a connect_timeout that is not a whole number of seconds")
    })?;
    // Zero and negative numbers are no limit, as in PostgreSQL's own clients.
    let seconds = u64::try_from(seconds).ok().filter(|seconds| *seconds > 0);
    Ok(seconds.map(Duration::from_secs))
}
