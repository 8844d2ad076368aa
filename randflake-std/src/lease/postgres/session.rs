//! A connection that was found fit, and the store behind it.

use std::collections::BTreeMap;

use tokio::task::{JoinHandle, yield_now};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row, Statement};

use super::failure::emptied;
use super::owner;
use super::tls::Target;
use crate::lease::EngineError;
use crate::lease::database::{self, Failure, check_version};

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
    /// Of the server and the tables.
    pub(super) fingerprint: String,
    /// Of the tables alone.
    pub(super) tables: String,
}

impl database::Session for Session {
    type Target = Target;

    async fn connect(target: &Target) -> Result<Self, Failure> {
        let (client, driver) = target.connect().await?;
        Ok(Self {
            client,
            driver,
            statements: BTreeMap::new(),
            number: getrandom::u64().map_err(EngineError::unavailable)?,
            fingerprint: String::new(),
            tables: String::new(),
        })
    }

    async fn set_up(&mut self, target: &mut Target) -> Result<(), Failure> {
        let owner = target.owner.as_deref();
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
        let values = [(&target.first as _, Type::INT8)];
        let rows = self.client.query_typed(&question, &values).await?;
        let row = rows.first().ok_or_else(emptied)?;
        check_version(row.try_get::<_, i32>(0)?.unsigned_abs().into())?;
        target.first.get_or_insert(row.try_get(1)?);
        self.fingerprint = row.try_get(2)?;
        self.tables = row.try_get(3)?;
        Ok(())
    }

    async fn is_open(&mut self) -> bool {
        // The runtime looks whether the server has closed the connection meanwhile; then its task does.
        yield_now().await;
        yield_now().await;
        !self.client.is_closed()
    }

    /// Its end is enough for the server.
    async fn close(self) {}
}

impl Session {
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
