//! A connection that was found fit, and the store behind it.

use std::collections::BTreeMap;

use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row, Statement};

use super::failure::Failure;
use super::owner;
use super::tls::Target;
use crate::lease::EngineError;
use crate::lease::database::{ANSWER_LIMIT, SETUP_LIMIT};
use crate::ledger::{VERSION, newer};

/// What the store relies on, whatever the server's, the database's or the role's settings are. There is one good
/// plan for each statement: by the primary key.
const SETTINGS: &str = "
    SET synchronous_commit = on;
    SET default_transaction_isolation = 'read committed';
    SET default_transaction_read_only = off;
    SET search_path = pg_catalog;
    SET statement_timeout = '20s';
    SET jit = off;
    SET plan_cache_mode = force_generic_plan;
    SET enable_seqscan = off;
    SET enable_bitmapscan = off;
    SET enable_hashjoin = off;
    SET enable_mergejoin = off;
    SET enable_material = off;
    SET randflake.session = {session}";

/// What stands in statements between braces.
const PARTS: [(&str, &str); 5] = [
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
    // All that may change under a session. The second number is another one when all records were removed.
    (
        "{tables}",
        "concat_ws('/', to_regclass('randflake.record')::oid,
            pg_relation_filenode(to_regclass('randflake.record')))",
    ),
];

/// It is used for one operation after the other; after an error it is dropped.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) client: Client,
    driver: JoinHandle<()>,
    /// By their text before it was completed.
    statements: BTreeMap<&'static str, Statement>,
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
    /// `first` is the store that this process has used first: its connections say so.
    pub(super) async fn open(target: &Target, first: Option<i64>) -> Result<Self, Failure> {
        let mut target = target.clone();
        if let Some(first) = first {
            target.config.application_name(format!("randflake {first}"));
        }
        let (client, driver) = timeout(ANSWER_LIMIT, target.connect()).await??;
        // From here on whatever fails ends the connection.
        let mut session = Self {
            client,
            driver,
            statements: BTreeMap::new(),
            number: getrandom::u64().map_err(EngineError::unavailable)?,
            store: 0,
            fingerprint: String::new(),
            tables: String::new(),
        };
        let owner = target.owner.as_deref();
        timeout(SETUP_LIMIT, session.set_up(owner, first)).await??;
        Ok(session)
    }

    /// Makes what is missing, and looks at what is there.
    async fn set_up(&mut self, owner: Option<&str>, first: Option<i64>) -> Result<(), Failure> {
        self.client.batch_execute(&self.complete(SETTINGS)).await?;
        let question = "SELECT pg_is_in_recovery(), to_regclass('randflake.store') IS NOT NULL";
        let row = self.client.query_typed_one(question, &[]).await?;
        if row.try_get(0)? {
            let why = "the server is a standby, which cannot grant anything";
            return Err(EngineError::unavailable(why).into());
        }
        owner::check(&self.client, owner).await?;
        if !row.try_get::<_, bool>(1)? {
            let schema = self.complete(include_str!("schema.sql"));
            self.client.batch_execute(&schema).await?;
            // Another role may have been quicker.
            owner::check(&self.client, owner).await?;
        }
        let question = self.complete(
            "SELECT version, id, {fingerprint}, {tables},
                set_config('application_name', 'randflake ' || coalesce($1, id), false)
            FROM randflake.store",
        );
        let values = [(&first as _, Type::INT8)];
        let rows = self.client.query_typed(&question, &values).await?;
        let row = rows.first().ok_or_else(Failure::emptied)?;
        let version: i32 = row.try_get(0)?;
        if i64::from(version) != i64::from(VERSION) {
            let version = u64::try_from(version).unwrap_or_default();
            return Err(Failure::unusable(format!(
                "the schema randflake: {}",
                newer(version)
            )));
        }
        self.store = row.try_get(1)?;
        self.fingerprint = row.try_get(2)?;
        self.tables = row.try_get(3)?;
        Ok(())
    }

    /// Whether the connection is still there, as far as is known.
    pub(super) fn is_open(&self) -> bool {
        !self.client.is_closed()
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
        &mut self,
        statement: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Error> {
        if let Some(known) = self.statements.get(statement) {
            return self.client.query(known, values).await;
        }
        let new = self.client.prepare(&self.complete(statement)).await?;
        let rows = self.client.query(&new, values).await;
        self.statements.insert(statement, new);
        rows
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.driver.abort();
    }
}
