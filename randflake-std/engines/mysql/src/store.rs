//! The public type `MysqlStore`, and its driver.

use core::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use mysql_async::{Conn, Opts, OptsBuilder};
use randflake_core::Clock;

use crate::failure::{failure, of_login};
use crate::session::MysqlSession;
use crate::url::ENGINE;
use randflake_lease::LeaseStore;
use randflake_lease::unstable::net::Attempt;
use randflake_lease::unstable::tls::Files;

use randflake_lease::unstable::net::LARGEST_REPLY;
use randflake_lease::unstable::net::{ExpectedPeer, Peer};
use randflake_lease::unstable::url::Location;
use randflake_lease::{Namespace, StoreError};
use randflake_sql::{Database, DatabaseFailure, Driver, once};

/// A store of leases and counters in a `MySQL` or `MariaDB` database, shared by the processes of many machines.
///
/// Its constructors return a [`LeaseStore`]. The [documentation of the crate](crate) says which rights and settings it needs,
/// which losses it notices and which it does not.
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

/// How a `MySQL` or `MariaDB` server is reached.
pub(crate) struct Mysql {
    options: Opts,
    expected: Vec<ExpectedPeer>,
    /// For an encrypted connection.
    files: Option<Files>,
    /// Clock instead of the server's, in tests.
    pub(crate) clock: Option<Arc<dyn Clock + Send + Sync>>,
}

impl MysqlStore {
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
    /// [`StoreError::Invalid`] for the URL, [`StoreError::FailedPrecondition`] and [`StoreError::Unavailable`] for the server, and what
    /// the work fails with.
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

impl Mysql {
    /// Connects to an address, and logs in.
    pub(crate) async fn connect(&self, attempt: &Attempt) -> Result<Conn, DatabaseFailure> {
        // For each connection anew: certificates are replaced before they expire.
        let encryption = self.files.as_ref().map(crate::tls::options).transpose()?;
        let options = OptsBuilder::from_opts(self.options.clone())
            .ssl_opts(encryption)
            // The name stays, for the certificate.
            .resolved_ips(attempt.address.map(|address| vec![address.ip()]));
        let connection = Conn::new(options).await;
        connection.map_err(|error| of_login(error, self.files.is_some()))
    }
}

impl Driver for Mysql {
    type Session = MysqlSession;

    const PLACE: &'static str = "MySQL";

    fn of(location: &Location) -> Result<Self, StoreError> {
        let [host] = location.hosts() else {
            return Err(location.refused("does not have one host"));
        };
        let password = location.password.as_ref();
        let options = OptsBuilder::default()
            .ip_or_hostname(&host.name)
            .tcp_port(host.port)
            .user(location.user.as_deref())
            .pass(password.map(|password| password.as_str()))
            .db_name(location.database.as_deref())
            // An update counts what it has found, also where it changed nothing.
            .client_found_rows(true)
            .max_allowed_packet(Some(LARGEST_REPLY))
            // The client would leave the encrypted connection for a socket that it is told of.
            .prefer_socket(false);
        let files = Files::asked_by(location)?;
        let name = "MySQL or MariaDB";
        Ok(Self {
            options: options.into(),
            expected: ExpectedPeer::all_of(location, Peer::Mysql, name, files.is_some()),
            files,
            clock: None,
        })
    }

    fn expected(&self) -> &[ExpectedPeer] {
        &self.expected
    }

    fn has_own_clock(&self) -> bool {
        self.clock.is_none()
    }
}

impl Debug for Mysql {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mysql")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
