//! A connection that was found fit, and the store behind it the same as before.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row, Statement};

use super::failure::Failure;
use super::owner;
use super::tls::Target;
use crate::lease::database::{ANSWER_LIMIT, SETUP_LIMIT, Seen, sql, sql_ms};
use crate::lease::moment::Moment;
use crate::lease::{MAX_SKEW, Namespace, StoreError};

pub(super) const VERSION: i32 = 1;

const SCHEMA: &str = include_str!("schema.sql");

/// What the store relies on, whatever the server's, the database's or the role's settings are.
const SETTINGS: &str = "
    SET synchronous_commit = on;
    SET default_transaction_isolation = 'read committed';
    SET search_path = pg_catalog;
    SET statement_timeout = '20s';
    SET jit = off";

/// It is used for one operation after the other; after an error it is dropped.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) client: Client,
    driver: JoinHandle<()>,
    /// Of the functions that were called.
    statements: Mutex<BTreeMap<&'static str, Statement>>,
    pub(super) namespace: Namespace,
    /// Its row in the database.
    pub(super) row: i32,
    /// As the namespace was created.
    pub(super) max_ttl: Duration,
}

impl Session {
    pub(super) async fn open(
        target: &Target,
        namespace: &Namespace,
        seen: &mut Seen,
    ) -> Result<Self, Failure> {
        let connecting = timeout(ANSWER_LIMIT, target.connect());
        let (client, driver) = connecting.await.map_err(|_| Failure::TimeOut)??;
        // From here on whatever fails ends the connection.
        let mut session = Self {
            client,
            driver,
            statements: Mutex::default(),
            namespace: namespace.clone(),
            row: 0,
            max_ttl: namespace.max_ttl(),
        };
        let is_made = timeout(ANSWER_LIMIT, session.check_server());
        let is_made = is_made.await.map_err(|_| Failure::TimeOut)??;
        let setup = timeout(
            SETUP_LIMIT,
            session.set_up(is_made, target.owner.as_deref(), seen),
        );
        setup.await.map_err(|_| Failure::TimeOut)??;
        Ok(session)
    }

    /// Refuses a server that forgets what it has answered. Whether it has the schema.
    async fn check_server(&self) -> Result<bool, Failure> {
        self.client.batch_execute(SETTINGS).await?;
        let question = "SELECT pg_is_in_recovery(), current_setting('fsync') = 'on',
            to_regclass('randflake.store') IS NOT NULL";
        let row = self.client.query_typed_one(question, &[]).await?;
        if row.try_get(0)? {
            let why = "the server is a standby, which cannot grant anything";
            return Err(StoreError::unavailable(why).into());
        }
        if !row.try_get::<_, bool>(1)? {
            let why = "the PostgreSQL server runs with fsync=off, and would forget leases in a crash: \
                       turn it on";
            return Err(StoreError::Unusable(why.to_owned()).into());
        }
        Ok(row.try_get(2)?)
    }

    /// Makes what is missing, and compares what is there with what it was.
    async fn set_up(
        &mut self,
        is_made: bool,
        owner: Option<&str>,
        seen: &mut Seen,
    ) -> Result<(), Failure> {
        owner::check(self, owner).await?;
        if !is_made {
            self.client.batch_execute(SCHEMA).await?;
            // Another role may have been quicker.
            owner::check(self, owner).await?;
        }
        let version: i32 = self
            .client
            .query_typed_one("SELECT version FROM randflake.store", &[])
            .await?
            .try_get(0)?;
        if version != VERSION {
            return Err(StoreError::Unusable(format!(
                "another randflake made the schema of the lease store (version {version}; this one \
                 knows {VERSION}): use the same one everywhere"
            ))
            .into());
        }
        let namespace = &self.namespace;
        let spec = namespace.spec();
        let row = self
            .call(
                "open_namespace",
                &[
                    (&namespace.name(), Type::TEXT),
                    (&sql(namespace.node_ids()), Type::INT8),
                    (&sql(spec.epoch_unix_ms()), Type::INT8),
                    (&sql(spec.tick_ms()), Type::INT8),
                    (&sql(spec.max_tick()), Type::INT8),
                    (&sql_ms(namespace.max_ttl()), Type::INT8),
                    (&sql_ms(MAX_SKEW), Type::INT8),
                    (&seen.store, Type::INT8),
                    (&sql(seen.until_ms), Type::INT8),
                ],
            )
            .await?;
        namespace.check_layout(
            number(&row, "node_ids")?,
            number(&row, "epoch_unix_ms")?,
            number(&row, "tick_ms")?,
        )?;
        self.row = row.try_get("row_id")?;
        self.max_ttl = Duration::from_millis(number(&row, "max_ttl_ms")?);
        seen.store = Some(row.try_get("store_id")?);
        Ok(())
    }

    /// Calls a function of the schema: one transaction, and one round trip; another one before the first
    /// call of each function, so that the server reads and plans the statement once.
    pub(super) async fn call(
        &self,
        function: &'static str,
        arguments: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Row, Failure> {
        let known = self.statements().get(function).cloned();
        let statement = match known {
            Some(statement) => statement,
            None => self.prepare(function, arguments).await?,
        };
        let values: Vec<_> = arguments.iter().map(|(value, _)| *value).collect();
        Ok(self.client.query_one(&statement, &values).await?)
    }

    async fn prepare(
        &self,
        function: &'static str,
        arguments: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Statement, Failure> {
        let places: Vec<_> = (1..=arguments.len()).map(|n| format!("${n}")).collect();
        let call = format!("SELECT * FROM randflake.{function}({})", places.join(", "));
        let types: Vec<_> = arguments.iter().map(|(_, kind)| kind.clone()).collect();
        let statement = self.client.prepare_typed(&call, &types).await?;
        self.statements().insert(function, statement.clone());
        Ok(statement)
    }

    fn statements(&self) -> MutexGuard<'_, BTreeMap<&'static str, Statement>> {
        let statements = self.statements.lock();
        statements.unwrap_or_else(PoisonError::into_inner)
    }

    /// The server's clock, as the function told that was called.
    pub(super) fn moment(&self, row: &Row) -> Result<Moment, Failure> {
        let unix = Duration::from_micros(number(row, "unix_us")?);
        Ok(Moment::at(unix, self.namespace.spec())?)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// A column that is never negative, unless somebody has edited the tables.
pub(super) fn number(row: &Row, column: &str) -> Result<u64, Failure> {
    let number: i64 = row.try_get(column)?;
    u64::try_from(number).map_err(|_| {
        let why = format!("the lease store was damaged: {column} is {number}");
        StoreError::Unusable(why).into()
    })
}
