//! Leases and counters in a PostgreSQL database.

#[cfg(feature = "postgres")]
mod store;

#[cfg(feature = "postgres")]
pub use self::store::PostgresStore;
use super::{Opening, Registration};
use crate::store::url::{AddressKind, ENCRYPTS_BY_MODE, Location, Scheme};
use crate::vocabulary::StoreError;

pub(in crate::store) static ENGINE: Registration = Registration {
    name: "PostgreSQL",
    feature: "postgres",
    short_form: "postgres://HOST/DATABASE",
    schemes: &[
        POSTGRES,
        Scheme {
            name: "postgresql",
            ..POSTGRES
        },
    ],
    has_counters: true,
    check,
    opening: OPENING,
};

#[cfg(feature = "postgres")]
const OPENING: Option<Opening> = Some(store::OPENING);
#[cfg(not(feature = "postgres"))]
const OPENING: Option<Opening> = None;

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

/// The server says what else it needs: it has defaults for the rest.
fn check(_: &Location) -> Result<(), StoreError> {
    Ok(())
}
