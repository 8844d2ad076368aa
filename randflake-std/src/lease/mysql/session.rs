//! A connection that was found fit, and the store behind it the same as before.

use core::time::Duration;
use std::sync::LazyLock;

use mysql_async::prelude::{FromRow, Queryable};
use mysql_async::{Conn, Error as SqlError, Params, Row};
use tokio::time::timeout;

use super::failure::{Failure, NO_SUCH_TABLE};
use super::owner;
use super::tls::Target;
use crate::lease::database::{ANSWER_LIMIT, SETUP_LIMIT, Seen, sql, sql_ms};
use crate::lease::moment::Moment;
use crate::lease::{MAX_SKEW, Namespace, StoreError};

pub(super) const VERSION: i32 = 1;

/// What the store relies on, whatever the server's settings are.
const SETTINGS: &str = "SET SESSION autocommit = 1, time_zone = '+00:00',
    sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO',
    innodb_lock_wait_timeout = 2, sql_safe_updates = 0";
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
    pub(super) namespace: Namespace,
    /// Its row in the database.
    pub(super) row: i64,
    /// As the namespace was created.
    pub(super) max_ttl: Duration,
}

impl Session {
    /// Connects, and makes what is missing.
    pub(super) async fn open(
        target: &Target,
        namespace: &Namespace,
        seen: &mut Seen,
    ) -> Result<Self, Failure> {
        let connecting = timeout(ANSWER_LIMIT, Conn::new(target.options()?));
        let mut session = Self {
            connection: connecting.await.map_err(|_| Failure::TimeOut)??,
            namespace: namespace.clone(),
            row: 0,
            max_ttl: namespace.max_ttl(),
        };
        let check = timeout(ANSWER_LIMIT, session.check_server());
        check.await.map_err(|_| Failure::TimeOut)??;
        let setup = timeout(SETUP_LIMIT, session.set_up(target.owner.as_deref(), seen));
        setup.await.map_err(|_| Failure::TimeOut)??;
        Ok(session)
    }

    /// Makes what is missing, and compares what is there with what it was.
    async fn set_up(&mut self, owner: Option<&str>, seen: &mut Seen) -> Result<(), Failure> {
        owner::check(self, owner).await?;
        if self.version().await? != Some(VERSION) {
            self.make_schema().await?;
            // Another user may have been quicker.
            owner::check(self, owner).await?;
        }
        let fingerprint = self.fingerprint().await?.ok_or_else(|| {
            StoreError::unavailable("the tables of the lease store were dropped meanwhile")
        })?;
        self.open_namespace(&fingerprint, seen).await
    }

    /// Refuses a server that forgets what it has answered.
    async fn check_server(&mut self) -> Result<(), Failure> {
        self.connection.query_drop(SETTINGS).await?;
        self.connection.query_drop(ISOLATION).await?;
        let question = "SELECT @@GLOBAL.innodb_flush_log_at_trx_commit, @@GLOBAL.log_bin,
            @@GLOBAL.sync_binlog, @@GLOBAL.read_only";
        let (flushes, has_log, syncs, is_read_only): (u8, bool, u32, bool) =
            self.one(question, ()).await?;
        if flushes != 1 {
            return Err(StoreError::Unusable(format!(
                "the MySQL server runs with innodb_flush_log_at_trx_commit={flushes}, and would forget \
                 leases in a crash: set it to 1"
            ))
            .into());
        }
        // Recovery rolls back what InnoDB has prepared and the binary log does not have.
        if has_log && syncs != 1 {
            return Err(StoreError::Unusable(format!(
                "the MySQL server runs with log_bin and sync_binlog={syncs}, and would forget leases in a \
                 crash: set sync_binlog to 1"
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
    pub(super) async fn fingerprint(&mut self) -> Result<Option<String>, Failure> {
        let made = "SELECT CONCAT(@@server_id, '/', UNIX_TIMESTAMP(create_time))
            FROM information_schema.tables
            WHERE table_schema = DATABASE() AND table_name = 'randflake_store'";
        let Some(made) = self.connection.query_first::<String, _>(made).await? else {
            return Ok(None);
        };
        let uuid = "SHOW GLOBAL VARIABLES LIKE 'server_uuid'";
        let uuid: Option<(String, String)> = self.connection.query_first(uuid).await?;
        Ok(Some(uuid.map_or(made, |(_, uuid)| uuid)))
    }

    /// Makes the tables and procedures, unless they are there. One does; the others wait.
    async fn make_schema(&mut self) -> Result<(), Failure> {
        let lock = "SELECT COALESCE(GET_LOCK(MD5(CONCAT('randflake.', DATABASE())), 15), 0)";
        if self.connection.query_first::<u8, _>(lock).await? != Some(1) {
            let why = "somebody else is making the tables of the lease store for too long";
            return Err(StoreError::unavailable(why).into());
        }
        // If anything fails, the connection's end releases the lock.
        match self.version().await? {
            Some(VERSION) => {}
            Some(version) => {
                return Err(StoreError::Unusable(format!(
                    "another randflake made the tables of the lease store (version {version}; this one \
                     knows {VERSION}): use the same one everywhere"
                ))
                .into());
            }
            None => {
                for statement in SCHEMA.iter() {
                    self.connection.query_drop(*statement).await?;
                }
                let fingerprint = self.fingerprint().await?;
                // Last: whoever finds the row finds all of it.
                let begin =
                    "INSERT INTO randflake_store VALUES (1, ?, FLOOR(RAND() * 9e18), ?, 0, 0)";
                let parameters = (VERSION, fingerprint);
                self.connection.exec_drop(begin, parameters).await?;
            }
        }
        let unlock = "DO RELEASE_LOCK(MD5(CONCAT('randflake.', DATABASE())))";
        Ok(self.connection.query_drop(unlock).await?)
    }

    /// That of the tables, if they are there.
    async fn version(&mut self) -> Result<Option<i32>, Failure> {
        let version = "SELECT version FROM randflake_store";
        match self.connection.query_first(version).await {
            Err(SqlError::Server(told)) if told.code == NO_SUCH_TABLE => Ok(None),
            version => Ok(version?),
        }
    }

    /// Makes the namespace if it is missing, and compares the server with what it was.
    async fn open_namespace(&mut self, fingerprint: &str, seen: &mut Seen) -> Result<(), Failure> {
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
        let row: (i64, i64, u64, u64, u64, u64) = self.one(call, parameters).await?;
        let (store, row, node_ids, epoch_unix_ms, tick_ms, max_ttl_ms) = row;
        namespace.check_layout(node_ids, epoch_unix_ms, tick_ms)?;
        self.row = row;
        self.max_ttl = Duration::from_millis(max_ttl_ms);
        seen.store = Some(store);
        Ok(())
    }

    /// The one row of an answer.
    async fn one<T: FromRow>(
        &mut self,
        question: &str,
        parameters: impl Into<Params> + Send,
    ) -> Result<T, Failure> {
        let row: Option<Row> = self.connection.exec_first(question, parameters).await?;
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
