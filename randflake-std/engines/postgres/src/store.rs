//! Leases and counters in a PostgreSQL database.

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
/// Its constructors return a [`LeaseStore`].
///
/// It needs PostgreSQL 12 or later. It creates the schema `randflake` in the database that the URL names: tables, no
/// functions. If the role may not create a schema, a superuser or the role named in the URL (`owner=ROLE`) creates it
/// first. A schema that any other role created or changed is refused. The repository's `docs/databases.md` lists the
/// rights that a role needs.
///
/// An acquire is two statements, a read and a conditional write; more when nearly all node ids are leased and none was
/// released lately. A renewal is one statement. Each statement is a transaction and a round trip of its own, so a client that stops holds no lock. An
/// answered write is durable: the session sets `synchronous_commit=on` whatever the server's settings are, and a server
/// with `fsync=off` is refused, also if that changes later. Times come from the server's clock. The store runs its own
/// Tokio runtime; it may also be called from a task of the application's runtime.
///
/// # URL
///
/// `postgres://USER:PASSWORD@HOST:PORT/DATABASE`; `postgresql` is the same scheme. List the servers of one cluster with
/// commas, `HOST1:PORT1,HOST2:PORT2`: the store uses the primary. `?sslmode=verify-full` (feature `tls`) encrypts
/// the connection and verifies the server's certificate; without it the connection is plain. `lease::open` lists
/// all options.
///
/// Connecting times out after 3 s, which the addresses of all hosts share: each has an equal part of what is left, for its login
/// too, and the one that answered last is asked first. An operation times out after a sixth of the TTL, at least 0.5 s and at
/// most 3 s, plus 0.1 ms for each node id. Either is [`StoreError::Unavailable`]. The next operation replaces a lost
/// connection. One that was idle for a second is asked before a renewal, which takes one more round trip: so its end does
/// not count as a failure.
///
/// A connection pooler must pool by session (`PgBouncer`: `pool_mode=session`). One that gives each transaction another
/// session is refused.
///
/// # What it stores
///
/// The table `record` has one row for each namespace, each counter, and each node id from its first lease on: about 160
/// bytes, and a third as much left free so that a renewal changes no index. A namespace of 256 node ids or more also has
/// up to sixteen rows of hints to free ones, and any may have one more. A row without a namespace names the one that took a secret first, by the secret's check
/// value. The table `store` has one row, which identifies the store.
///
/// # What it notices
///
/// Each operation reads the server's system identifier and timeline, and the numbers of the database, the table and the
/// table's file. One of them changes when a standby is promoted, a server is restored to a point in time, a dump is restored
/// in place, or the table is truncated. Then every namespace is quarantined: it grants nothing for the
/// longest TTL and 20 s ([`StoreError::Quarantined`]). So it is safe to promote an asynchronous standby.
///
/// A database of another system identifier or number than its records say is a copy: made from a template, or a dump restored
/// elsewhere. It is refused as [`StoreError::FailedPrecondition`], because its original may be in use, until a person declares that it is
/// gone ([`declare_moved`](randflake_lease::Administration::declare_moved), `randflake lease init --moved`). Then it is quarantined.
///
/// A holder also compares the numbers of the table and its file between renewals, each twentieth of the TTL and at most once
/// a second, and reads its leases if they are others or a call has failed: so it stops soon after the schema was renamed or
/// replaced, or the server was set back while it was down.
///
/// A namespace that is not there is quarantined for 320 s at least unless an operator declares it new
/// ([`end_quarantine`](randflake_lease::Administration::end_quarantine), `randflake lease init`): a server without its data looks like a new one. `VACUUM FULL` and `CLUSTER` of the table look like a truncation, for
/// counters too: use autovacuum only.
///
/// A counter that may have gone back cannot be repaired by waiting, and nothing tells a new server from one
/// without its data. So an operator begins each counter, with [`Counter::create`](randflake_lease::Counter::create) (`randflake segment
/// init`) or [`Counter::resume`](randflake_lease::Counter::resume) (`randflake segment resume`). What starts a quarantine also makes counters
/// fail as [`CounterError::Lost`](randflake_lease::CounterError::Lost) until an operator resumes each one.
///
/// # What it cannot notice
///
/// - The files of the server, or its machine, set back while the server was down; its log thrown away (`pg_resetwal`); rows
///   of leases and counters changed or deleted by hand. A holder whose row is gone learns it at its next look after the
///   server was down, else at its next renewal; until then its node id may be granted again. So it is with a schema that is
///   renamed to the name of one in which leases are held. Stop all processes first. Call [`start_quarantine`](randflake_lease::Administration::start_quarantine) then, and [`Counter::resume`](randflake_lease::Counter::resume) each
///   counter at a higher number.
/// - A promoted standby *and* the former primary both in use (split brain): both grant the same node ids. Stop the
///   former primary before promoting the standby. `synchronous_standby_names` keeps a primary that is cut off from
///   granting anything.
/// - A copy of the server's files beside their original, such as one by `pg_basebackup` that was not promoted: both grant the
///   same node ids.
/// - Disks that report writes which they have not made.
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
