//! The public type `PostgresStore`, and its driver.

use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, Config};

use crate::failure::failure;
use crate::session::PostgresSession;
use crate::url::ENGINE;
use crate::url::connect_timeout;
use randflake_lease::LeaseStore;
use randflake_lease::unstable::net::Attempt;
use randflake_lease::unstable::tls::Files;

use randflake_lease::unstable::net::{ExpectedPeer, Peer};
use randflake_lease::unstable::url::Location;
use randflake_lease::{Namespace, StoreError};
use randflake_sql::{Database, Driver, once};

/// A store of leases and counters in a PostgreSQL database, shared by the processes of many machines.
///
/// Its constructors return a [`LeaseStore`]. The [documentation of the crate](crate) says which rights and settings it needs,
/// which losses it notices and which it does not.
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
    /// [`StoreError::Invalid`] when the URL cannot be understood, or lacks a host or what else the server needs.
    /// [`StoreError::FailedPrecondition`] when
    ///
    /// - the server's certificate is not trusted, the server refuses user, password or database, it is too old or of another kind,
    ///   or takes no writes by a setting,
    /// - it has a setting by which a crash loses leases,
    /// - the tables were changed, or made by somebody who is not trusted, or a newer version made them,
    /// - the namespace has other terms,
    /// - a pooler gives each statement another session,
    /// - this build cannot encrypt but should.
    ///
    /// [`StoreError::Unavailable`] when there is no answer, or only servers that cannot write. No error shows a password.
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

    /// Runs some work on a new connection to the database that a URL names, where no store needs to be.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] for the URL, [`StoreError::FailedPrecondition`] and [`StoreError::Unavailable`] for the server, and what
    /// the work fails with.
    pub fn with_client<T>(
        location: &Location,
        work: impl AsyncFnOnce(&mut Client) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, StoreError> {
        ENGINE.expect(location)?;
        let connect = async |postgres: &Postgres, attempt: &Attempt| {
            Ok(crate::connect::connect(postgres, attempt).await?.0)
        };
        once(location, &connect, async |mut client: Client| {
            work(&mut client).await.map_err(failure)
        })
    }
}

/// How the PostgreSQL servers of one cluster are reached.
#[derive(Debug)]
pub(crate) struct Postgres {
    pub(crate) config: Config,
    expected: Vec<ExpectedPeer>,
    /// For an encrypted connection.
    pub(crate) files: Option<Files>,
    /// Who made the schema, if it was another role.
    pub(crate) owner: Option<String>,
}

impl Driver for Postgres {
    type Session = PostgresSession;

    const PLACE: &'static str = "the PostgreSQL server";

    fn of(location: &Location) -> Result<Self, StoreError> {
        let files = Files::asked_by(location)?;
        let mut config = Config::new();
        if let Some(user) = &location.user {
            config.user(user);
        }
        if let Some(password) = &location.password {
            config.password(password.as_bytes());
        }
        if let Some(database) = &location.database {
            config.dbname(database);
        }
        // What is preferred, and not checked, protects from nobody: it is all or nothing.
        config.ssl_mode(match files {
            Some(_) => SslMode::Require,
            None => SslMode::Disable,
        });
        let name = location.option("application_name");
        // So that an administrator sees in `pg_stat_activity` whose connection it is.
        config.application_name(name.unwrap_or("randflake"));
        if let Some(limit) = connect_timeout(location)? {
            config.connect_timeout(limit);
        }
        Ok(Self {
            config,
            expected: ExpectedPeer::all_of(location, Peer::Postgres, "PostgreSQL", files.is_some()),
            files,
            owner: location.option("owner").map(str::to_owned),
        })
    }

    fn expected(&self) -> &[ExpectedPeer] {
        &self.expected
    }
}
