//! The public type `MysqlStore`, and its URLs.

use std::sync::Arc;

use mysql_async::Conn;
use randflake_core::Clock;
use randflake_lease::unstable::net::Attempt;
use randflake_lease::unstable::url::{
    AddressKind, ENCRYPTS_BY_MODE, Location, Registration, Scheme,
};
use randflake_lease::{LeaseStore, Namespace, StoreError};
use randflake_sql::{Database, Driver as _, once};

use crate::failure::failure;
use crate::session::Mysql;

/// A store of leases and counters in a `MySQL` or `MariaDB` database, shared by the processes of
/// many machines.
///
/// Its constructors return a [`LeaseStore`]. The [documentation of the crate](crate) says which
/// rights and settings it needs, which losses it notices and which it does not.
///
/// ```no_run
/// use randflake_lease::Namespace;
/// use randflake_mysql::MysqlStore;
/// use randflake_core::Randflake;
///
/// let namespace = Namespace::new("orders", Randflake)?;
/// let store = MysqlStore::open("mysql://ids:secret@db.example/ids", &namespace)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MysqlStore;

impl MysqlStore {
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
            Database::<Mysql>::at(location, namespace)?,
            namespace.clone(),
        )
    }

    /// [`open`](MysqlStore::open) with another clock than the server's, for tests and simulations.
    ///
    /// # Errors
    ///
    /// As for `open`.
    pub fn open_with_clock(
        url: &str,
        namespace: &Namespace,
        clock: Arc<impl Clock + Send + Sync + 'static>,
    ) -> Result<LeaseStore, StoreError> {
        let location = ENGINE.location(url)?;
        let mut mysql = Mysql::of(&location)?;
        mysql.clock = Some(clock);
        let database = Database::over(mysql, &location, namespace)?;
        LeaseStore::opened(database, namespace.clone())
    }

    /// Connects as a store of this URL does, for other work than a store's.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] for the URL, [`StoreError::FailedPrecondition`] and
    /// [`StoreError::Unavailable`] for the server, and what the work fails with.
    pub fn with_client<T>(
        location: &Location,
        work: impl AsyncFnOnce(&mut Conn) -> Result<T, mysql_async::Error>,
    ) -> Result<T, StoreError> {
        ENGINE.expect(location)?;
        let connect = async |mysql: &Mysql, attempt: &Attempt| mysql.connect(attempt).await;
        once(location, &connect, async |mut client: Conn| {
            let done = work(&mut client).await.map_err(failure)?;
            client.disconnect().await.map_err(failure)?;
            Ok(done)
        })
    }
}

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
