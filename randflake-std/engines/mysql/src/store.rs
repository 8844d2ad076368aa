//! Leases and counters in a MySQL or MariaDB database.

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
/// Its constructors return a [`LeaseStore`].
///
/// It needs `MySQL` 8.0.21 or `MariaDB` 10.6. It creates two tables, `randflake_record` and `randflake_store`, in the
/// database that the URL names. The repository's `docs/databases.md` lists the rights that a user needs. Views in place of
/// the tables, triggers, and tables of another engine than `InnoDB` are refused before any of them is used.
///
/// An acquire is two round trips; more when nearly all node ids are leased and none was released lately. A renewal is one.
/// An answered write is durable: every operation is refused while `innodb_flush_log_at_trx_commit` is not 1, or `log_bin` is on and
/// `sync_binlog` is not 1 (in `MariaDB` it is 0 unless set), or `innodb_flush_method` is `nosync` or `littlesync`. Times come from the server's clock.
///
/// # URL
///
/// `mysql://USER:PASSWORD@HOST:PORT/DATABASE`, for `MariaDB` too. `?sslmode=verify-full` (feature `tls`) encrypts the
/// connection and verifies the server's certificate; without it the connection is plain. `lease::open` lists all
/// options.
///
/// Connecting times out after 3 s, which all addresses of the host share: each has an equal part of what is left, for its login
/// too, and the one that answered last is asked first. An operation times out after a sixth of the TTL, at least 0.5 s and at
/// most 3 s, plus 0.1 ms for each node id. Either is [`StoreError::Unavailable`]. The next operation replaces a lost
/// connection. One that was idle for a second is asked before a renewal, which takes one more round trip: so its end does
/// not count as a failure.
///
/// A connection pooler must pool by session. One that gives each transaction another session is refused as soon as an
/// operation reaches another session.
///
/// # What it stores
///
/// The table `randflake_record` has one row of text for each namespace, each counter, and each node id from its first
/// lease on. A namespace of 256 node ids or more also has up to sixteen rows of hints to free ones, and any may have one more. A row without a namespace names
/// the one that took a secret first, by the secret's check value. The table `randflake_store` has one row, with a random number made with the tables.
/// The next automatic number (`AUTO_INCREMENT`) of `randflake_record`, which no row uses, is the table's mark.
///
/// # What it notices
///
/// Each operation reads that random number, the server's own number (`server_uuid`; in `MariaDB`, which has none, its
/// `server_id`), the time at which the definition of `randflake_record` was written to this disk, and its mark. One of them
/// is different on a replica, in a restored dump, in a copy of one table, and after the tables were created anew, emptied or
/// optimized. Then every namespace is quarantined:
/// it grants nothing for the longest TTL and 20 s ([`StoreError::Quarantined`]). So it is safe to promote an asynchronous
/// replica, also with the `server_id` of its primary. A namespace that is not there is quarantined for 320 s at least unless an operator declares it new
/// ([`end_quarantine`](randflake_lease::Administration::end_quarantine), `randflake lease init`): a server without its data looks like a new one.
/// Also noticed, by its holder: a lease that vanished. A holder compares the random number between renewals, each twentieth of
/// the TTL and at most once a second, and reads its leases if it is another one or a call has failed.
///
/// The mark is set by an insert that is rolled back: `InnoDB` keeps the number that it took, and no replica repeats it.
/// The first operation that finds server or table changed sets another one.
///
/// Tables in a database of another name than their records say are a copy. It is refused as [`StoreError::FailedPrecondition`], because
/// its original may be in use, until a person declares that it is gone ([`declare_moved`](randflake_lease::Administration::declare_moved), `randflake
/// lease init --moved`). Then it is quarantined.
///
/// A counter that may have gone back cannot be repaired by waiting, and nothing tells a new server from one
/// without its data. So an operator begins each counter, with [`Counter::create`](randflake_lease::Counter::create) (`randflake segment
/// init`) or [`Counter::resume`](randflake_lease::Counter::resume) (`randflake segment resume`). What starts a quarantine also makes counters
/// fail as [`CounterError::Lost`](randflake_lease::CounterError::Lost) until an operator resumes each one.
///
/// # What it cannot notice
///
/// - A disk or a data directory set back as a whole; a table's files exchanged (`DISCARD TABLESPACE`, `IMPORT TABLESPACE`);
///   binary logs undone (`--flashback`); a replica made from a snapshot of its primary's disk and promoted with its `server_id`;
///   rows of leases and counters changed or deleted by hand (rows inserted again are noticed where
///   the insert takes automatic numbers, as `INSERT ... SELECT` does unless `sql_mode` says otherwise). A holder whose row is gone
///   learns it at its next look after the server was down, else at its next renewal; until then its node id may be granted
///   again. Stop all processes first.
///   Call [`start_quarantine`](randflake_lease::Administration::start_quarantine) then, and [`Counter::resume`](randflake_lease::Counter::resume) each counter at a higher number.
/// - A promoted replica *and* the former primary both in use (split brain): both grant the same node ids. Stop the former
///   primary before promoting the replica. The same holds for two servers that replicate each other: use only one; and use
///   only one member of a Galera cluster.
/// - A dump restored on another server under the same name, beside its original: it looks like a replica that takes over, so it
///   is quarantined once and then grants.
/// - Disks that report writes which they have not made.
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
