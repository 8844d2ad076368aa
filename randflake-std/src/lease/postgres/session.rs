//! A connection that was found fit, and the store behind it.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

use super::failure::Failure;
use super::owner;
use super::tls::Target;
use crate::lease::StoreError;
use crate::lease::database::{ANSWER_LIMIT, SETUP_LIMIT};
use crate::ledger::{VERSION, newer};

/// What the store relies on, whatever the server's, the database's or the role's settings are. There is one good
/// plan for each statement: by the indexes.
const SETTINGS: &str = "
    SET synchronous_commit = on;
    SET default_transaction_isolation = 'read committed';
    SET default_transaction_read_only = off;
    SET search_path = pg_catalog;
    SET statement_timeout = '20s';
    SET jit = off;
    SET plan_cache_mode = force_generic_plan;
    SET enable_seqscan = off;
    SET enable_hashjoin = off;
    SET enable_mergejoin = off;
    SET enable_material = off;
    SET randflake.session = {session}";

/// What stands in statements between braces.
const PARTS: [(&str, &str); 7] = [
    (
        "{head}",
        "{same} AS is_same, {fit} AS is_fit, 'fsync=' || current_setting('fsync')
            || ' and synchronous_commit=' || current_setting('synchronous_commit') AS settings,
        {fingerprint} AS fingerprint",
    ),
    // The answers to writes are lost without these.
    (
        "{fit}",
        "{same} AND current_setting('fsync') = 'on'
            AND current_setting('synchronous_commit') IN ('on', 'remote_apply')",
    ),
    (
        "{same}",
        "coalesce(current_setting('randflake.session', true), '') = '{session}'",
    ),
    (
        "{now}",
        "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
    ),
    // Another one after a promotion or a restoration to a point in time, on a copy of server or database, and
    // when a dump was restored in place.
    (
        "{fingerprint}",
        "(SELECT system_identifier || '/' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) || '/'
            || (SELECT oid FROM pg_database WHERE datname = current_database()) || '/' || {tables}
        FROM pg_control_system())",
    ),
    (
        "{tables}",
        "concat_ws('/', to_regclass('randflake.namespace')::oid, to_regclass('randflake.lease')::oid,
            to_regclass('randflake.counter')::oid)",
    ),
    // Processes that have used a store that was here before this one.
    (
        "{is_first}",
        "NOT EXISTS (SELECT FROM pg_stat_activity a WHERE a.datname = current_database()
            AND a.application_name LIKE 'randflake %' AND a.application_name <> 'randflake ' || s.id)",
    ),
];

/// It is used for one operation after the other; after an error it is dropped.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) client: Client,
    driver: JoinHandle<()>,
    /// By their text before it was completed.
    statements: Mutex<BTreeMap<&'static str, Statement>>,
    /// Tells it from others that a pooler may put in its place.
    number: u64,
    /// The random number of the store.
    pub(super) store: i64,
    /// Of the server and the tables.
    pub(super) fingerprint: String,
    /// Of the tables alone.
    pub(super) tables: String,
}

impl Session {
    /// `first` is the store that this process has used first.
    pub(super) async fn open(target: &Target, first: Option<i64>) -> Result<Self, Failure> {
        let mut target = target.clone();
        if let Some(first) = first {
            target.config.application_name(label(first));
        }
        let connecting = timeout(ANSWER_LIMIT, target.connect());
        let (client, driver) = connecting.await.map_err(|_| Failure::TimeOut)??;
        // From here on whatever fails ends the connection.
        let mut session = Self {
            client,
            driver,
            statements: Mutex::default(),
            number: getrandom::u64().map_err(StoreError::unavailable)?,
            store: 0,
            fingerprint: String::new(),
            tables: String::new(),
        };
        let setup = timeout(SETUP_LIMIT, session.set_up(target.owner.as_deref(), first));
        setup.await.map_err(|_| Failure::TimeOut)??;
        Ok(session)
    }

    /// Makes what is missing, and looks at what is there.
    async fn set_up(&mut self, owner: Option<&str>, first: Option<i64>) -> Result<(), Failure> {
        self.client.batch_execute(&self.complete(SETTINGS)).await?;
        let question = "SELECT pg_is_in_recovery(), to_regclass('randflake.store') IS NOT NULL";
        let row = self.client.query_typed_one(question, &[]).await?;
        if row.try_get(0)? {
            let why = "the server is a standby, which cannot grant anything";
            return Err(StoreError::unavailable(why).into());
        }
        owner::check(self, owner).await?;
        if !row.try_get::<_, bool>(1)? {
            let schema = self.complete(include_str!("schema.sql"));
            self.client.batch_execute(&schema).await?;
            // Another role may have been quicker.
            owner::check(self, owner).await?;
        }
        let question = "SELECT version, id, {fingerprint} AS fingerprint, {tables} AS tables
            FROM randflake.store";
        let question = self.complete(question);
        let rows = self.client.query_typed(&question, &[]).await?;
        let row = rows.first().ok_or_else(|| damaged("store is empty"))?;
        let version: i32 = row.try_get("version")?;
        if i64::from(version) != i64::from(VERSION) {
            let version = u64::try_from(version).unwrap_or_default();
            let why = format!("the schema randflake: {}", newer(version));
            return Err(StoreError::Unusable(why).into());
        }
        self.store = row.try_get("id")?;
        self.fingerprint = row.try_get("fingerprint")?;
        self.tables = row.try_get("tables")?;
        if first.is_none() {
            let label = format!("SET application_name = '{}'", label(self.store));
            self.client.batch_execute(&label).await?;
        }
        Ok(())
    }

    fn complete(&self, statement: &str) -> String {
        let text = PARTS
            .iter()
            .fold(statement.to_owned(), |text, (name, part)| {
                text.replace(name, part)
            });
        text.replace("{session}", &self.number.to_string())
    }

    /// Asks in one round trip; another one before a statement's first use, so that the server reads and plans
    /// it once.
    pub(super) async fn ask(
        &self,
        statement: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Failure> {
        let lock = || {
            self.statements
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        let known = lock().get(statement).cloned();
        let prepared = if let Some(known) = known {
            known
        } else {
            let new = self.client.prepare(&self.complete(statement)).await?;
            lock().insert(statement, new.clone());
            new
        };
        Ok(self.client.query(&prepared, values).await?)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// By which a connection says which store its process has used first.
fn label(store: i64) -> String {
    format!("randflake {store}")
}

/// A column that is never negative, unless somebody has edited the tables.
pub(super) fn number(row: &Row, column: &str) -> Result<u64, Failure> {
    let number: i64 = row.try_get(column)?;
    u64::try_from(number).map_err(|_| damaged(&format!("{column} is {number}")))
}

pub(super) fn damaged(how: &str) -> Failure {
    StoreError::Unusable(format!("the schema randflake was damaged: {how}")).into()
}
