//! A connection that was found fit, and the store behind it the same as before.

use core::time::Duration;
use std::sync::LazyLock;

use mysql::prelude::{FromRow, Queryable};
use mysql::{Conn, Opts, OptsBuilder, Params, Row};

use super::failure::Failure;
use crate::lease::database::{ANSWER_LIMIT, SETUP_LIMIT, Seen, sql, sql_ms};
use crate::lease::moment::Moment;
use crate::lease::{MAX_SKEW, Namespace, StoreError};

pub(super) const VERSION: i32 = 1;

/// What the store relies on, whatever the server's settings are.
const SETTINGS: &str = "SET SESSION autocommit = 1, time_zone = '+00:00',
    sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO',
    innodb_lock_wait_timeout = 2";
/// A transaction sees what others have committed before each of its statements.
const ISOLATION: &str = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";

/// The statements of `schema.sql`.
static SCHEMA: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let statements = include_str!("schema.sql").split("\n;\n");
    statements
        .filter(|statement| !statement.is_empty())
        .collect()
});

/// It is used for one operation after the other; after an error it is dropped.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) connection: Conn,
    /// How long it waits for an answer.
    pub(super) limit: Duration,
    pub(super) namespace: Namespace,
    /// Its row in the database.
    pub(super) row: i64,
    /// As the namespace was created.
    pub(super) max_ttl: Duration,
}

impl Session {
    /// Connects, and makes what is missing. What takes longer than an answer is waited for on a
    /// connection of its own.
    pub(super) fn open(
        options: &Opts,
        limit: Duration,
        namespace: &Namespace,
        seen: &mut Seen,
    ) -> Result<Self, Failure> {
        let mut session = Self::connect(options, limit, namespace)?;
        let fingerprint = session.fingerprint()?;
        let is_made = match &fingerprint {
            Some(fingerprint) => session.is_set_up(fingerprint, seen)?,
            None => false,
        };
        if !is_made {
            let mut patient = Self::connect(options, SETUP_LIMIT, namespace)?;
            patient.make_schema()?;
        }
        let fingerprint = session.fingerprint()?.ok_or_else(|| {
            StoreError::unavailable("the tables of the lease store were dropped meanwhile")
        })?;
        if is_made {
            session.open_namespace(&fingerprint, seen)?;
        } else {
            let mut patient = Self::connect(options, SETUP_LIMIT, namespace)?;
            patient.open_namespace(&fingerprint, seen)?;
            (session.row, session.max_ttl) = (patient.row, patient.max_ttl);
        }
        Ok(session)
    }

    fn connect(options: &Opts, limit: Duration, namespace: &Namespace) -> Result<Self, Failure> {
        let options = OptsBuilder::from_opts(options.clone())
            .tcp_connect_timeout(Some(ANSWER_LIMIT))
            .read_timeout(Some(limit))
            .write_timeout(Some(limit));
        let mut session = Self {
            connection: Conn::new(options)?,
            limit,
            namespace: namespace.clone(),
            row: 0,
            max_ttl: namespace.max_ttl(),
        };
        session.check_server()?;
        Ok(session)
    }

    /// Refuses a server that forgets what it has answered.
    fn check_server(&mut self) -> Result<(), Failure> {
        self.connection.query_drop(SETTINGS)?;
        self.connection.query_drop(ISOLATION)?;
        let question = "SELECT @@GLOBAL.innodb_flush_log_at_trx_commit, @@GLOBAL.read_only";
        let (flushes, is_read_only): (u8, bool) = self.one(question, ())?;
        if flushes != 1 {
            return Err(StoreError::Unusable(format!(
                "the MySQL server runs with innodb_flush_log_at_trx_commit={flushes}, and would forget \
                 leases in a crash: set it to 1"
            ))
            .into());
        }
        if is_read_only {
            let why = "the server is read-only, as replicas are, and cannot grant anything";
            return Err(StoreError::unavailable(why).into());
        }
        Ok(())
    }

    /// What changes when the server is another one; none before the tables are made.
    ///
    /// `MariaDB` has no number of its own. There it is the number by which replication tells servers
    /// apart, with the time at which the table's definition came onto this server's disk: another one on
    /// a replica, and after a restore.
    pub(super) fn fingerprint(&mut self) -> Result<Option<String>, Failure> {
        let made = "SELECT CONCAT(@@server_id, '/', UNIX_TIMESTAMP(create_time))
            FROM information_schema.tables
            WHERE table_schema = DATABASE() AND table_name = 'randflake_store'";
        let Some(made) = self.connection.query_first::<String, _>(made)? else {
            return Ok(None);
        };
        let uuid = "SHOW GLOBAL VARIABLES LIKE 'server_uuid'";
        let uuid: Option<(String, String)> = self.connection.query_first(uuid)?;
        Ok(Some(uuid.map_or(made, |(_, uuid)| uuid)))
    }

    /// Whether nothing is to be made or fenced, which may take long.
    fn is_set_up(&mut self, fingerprint: &str, seen: &Seen) -> Result<bool, Failure> {
        let question = "SELECT COUNT(*) FROM randflake_store s, randflake_namespace n
            WHERE s.fingerprint = ? AND s.id = COALESCE(?, s.id) AND n.name = ?";
        let parameters = (fingerprint, seen.store, self.namespace.name());
        match self
            .connection
            .exec_first::<u32, _, _>(question, parameters)
        {
            Ok(count) => Ok(count == Some(1)),
            // Somebody is making it.
            Err(mysql::Error::MySqlError(told))
                if told.code == mysql::ServerError::ER_NO_SUCH_TABLE as u16 =>
            {
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Makes the tables and procedures, unless they are there. One does; the others wait.
    fn make_schema(&mut self) -> Result<(), Failure> {
        let lock = "SELECT COALESCE(GET_LOCK(MD5(CONCAT('randflake.', DATABASE())), 15), 0)";
        if self.connection.query_first::<u8, _>(lock)? != Some(1) {
            let why = "somebody else is making the tables of the lease store for too long";
            return Err(StoreError::unavailable(why).into());
        }
        // The connection's end releases the lock.
        match self.version()? {
            Some(VERSION) => return Ok(()),
            Some(version) => {
                return Err(StoreError::Unusable(format!(
                    "another randflake made the tables of the lease store (version {version}; this one \
                     knows {VERSION}): use the same one everywhere"
                ))
                .into());
            }
            None => {}
        }
        for statement in SCHEMA.iter() {
            self.connection.query_drop(statement)?;
        }
        let fingerprint = self.fingerprint()?;
        // Last: whoever finds the row finds all of it.
        let begin = "INSERT INTO randflake_store VALUES (1, ?, FLOOR(RAND() * 9e18), ?, 0, 0)";
        Ok(self.connection.exec_drop(begin, (VERSION, fingerprint))?)
    }

    fn version(&mut self) -> Result<Option<i32>, Failure> {
        let is_there = "SELECT COUNT(*) FROM information_schema.tables
            WHERE table_schema = DATABASE() AND table_name = 'randflake_store'";
        if self.connection.query_first::<u8, _>(is_there)? != Some(1) {
            return Ok(None);
        }
        let version = "SELECT version FROM randflake_store";
        Ok(self.connection.query_first(version)?)
    }

    /// Makes the namespace if it is missing, and compares the server with what it was.
    fn open_namespace(&mut self, fingerprint: &str, seen: &mut Seen) -> Result<(), Failure> {
        let namespace = self.namespace.clone();
        let spec = namespace.spec();
        let parameters = (
            fingerprint,
            namespace.name(),
            sql(namespace.node_ids()),
            sql(spec.epoch_unix_ms()),
            sql(spec.tick_ms()),
            sql(spec.max_tick()),
            sql_ms(namespace.max_ttl()),
            sql_ms(MAX_SKEW),
            seen.store,
            sql(seen.until_ms),
        );
        let call = "CALL randflake_open_namespace(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        let row: (i64, i64, u64, u64, u64, u64) = self.one(call, parameters)?;
        let (store, row, node_ids, epoch_unix_ms, tick_ms, max_ttl_ms) = row;
        namespace.check_layout(node_ids, epoch_unix_ms, tick_ms)?;
        self.row = row;
        self.max_ttl = Duration::from_millis(max_ttl_ms);
        seen.store = Some(store);
        Ok(())
    }

    /// The one row of an answer.
    fn one<T: FromRow>(
        &mut self,
        question: &str,
        parameters: impl Into<Params>,
    ) -> Result<T, Failure> {
        let row: Option<Row> = self.connection.exec_first(question, parameters)?;
        Ok(read(row.ok_or_else(|| {
            StoreError::unavailable("an answer without a row")
        })?)?)
    }

    /// The server's clock, as a procedure has told it.
    pub(super) fn moment(&self, unix_us: u64) -> Result<Moment, StoreError> {
        Moment::at(Duration::from_micros(unix_us), self.namespace.spec())
    }
}

/// A row of the types that it should have, unless somebody has edited the tables.
pub(super) fn read<T: FromRow>(row: Row) -> Result<T, StoreError> {
    T::from_row_opt(row).map_err(|_| StoreError::Unusable("the lease store was damaged".to_owned()))
}
