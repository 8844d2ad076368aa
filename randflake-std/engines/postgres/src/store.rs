//! The public type `PostgresStore`, and its URLs.

use randflake_lease::unstable::net::Attempt;
use randflake_lease::unstable::url::{
    AddressKind, ENCRYPTS_BY_MODE, Location, Registration, Scheme,
};
use randflake_lease::{LeaseStore, Namespace, StoreError};
use randflake_sql::{Database, once};
use tokio_postgres::Client;

use crate::connect::{Postgres, connect};
use crate::failure::failure;
use crate::session::connect_timeout;

/// A store of leases and counters in a PostgreSQL database, shared by the processes of many
/// machines.
///
/// Its constructors return a [`LeaseStore`]. The [documentation of the crate](crate) says which
/// rights and settings it needs, which losses it notices and which it does not.
///
/// ```no_run
/// use randflake_lease::Namespace;
/// use randflake_postgres::PostgresStore;
/// use randflake_core::Randflake;
///
/// let namespace = Namespace::new("orders", Randflake)?;
/// let store = PostgresStore::open("postgres://ids:secret@db.example/ids", &namespace)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PostgresStore;

impl PostgresStore {
    /// Opens the store that a URL names, creating its tables if they are not there.
    ///
    /// It blocks: see [how long](randflake_lease#how-long-calls-block).
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] when the URL cannot be understood, or lacks a host or what else the
    /// server needs. [`StoreError::FailedPrecondition`] when
    ///
    /// - the server's certificate is not trusted, the server refuses user, password or database, it
    ///   is too old or of another kind, or takes no writes by a setting,
    /// - it has a setting by which a crash loses leases,
    /// - the tables were changed, or made by somebody who is not trusted, or a newer version made
    ///   them,
    /// - the namespace has other terms,
    /// - a pooler gives each statement another session,
    /// - this build cannot encrypt but should.
    ///
    /// [`StoreError::Unavailable`] when there is no answer, or only servers that cannot write. No
    /// error shows a password.
    pub fn open(url: &str, namespace: &Namespace) -> Result<LeaseStore, StoreError> {
        Self::at(&ENGINE.location(url)?, namespace)
    }

    pub(crate) fn at(location: &Location, namespace: &Namespace) -> Result<LeaseStore, StoreError> {
        LeaseStore::opened(
            Database::<Postgres>::at(location, namespace)?,
            namespace.clone(),
        )
    }

    /// [`open`](PostgresStore::open) for a simulation, which compares the server's clock with none.
    ///
    /// # Errors
    ///
    /// As for [`open`](PostgresStore::open).
    pub fn simulated(url: &str, namespace: &Namespace) -> Result<LeaseStore, StoreError> {
        let location = ENGINE.location(url)?;
        let database = Database::<Postgres>::at(&location, namespace)?;
        let mut store = LeaseStore::over(database, namespace.clone());
        store.check()?;
        Ok(store)
    }

    /// Runs some work on a new connection to the database that a URL names, where no store needs to
    /// be.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] for the URL, [`StoreError::FailedPrecondition`] and
    /// [`StoreError::Unavailable`] for the server, and what the work fails with.
    pub fn with_client<T>(
        location: &Location,
        work: impl AsyncFnOnce(&mut Client) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, StoreError> {
        ENGINE.expect(location)?;
        let client =
            async |postgres: &Postgres, attempt: &Attempt| Ok(connect(postgres, attempt).await?.0);
        once(location, &client, async |mut client: Client| {
            work(&mut client).await.map_err(failure)
        })
    }
}

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
