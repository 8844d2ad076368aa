//! PostgreSQL: rows by `COPY`.

use std::io::Write as _;
use std::thread;
use std::time::Instant;

use harness::postgres::PostgresServer;
use postgres::Client;
use postgres::types::FromSql;

use super::{Database, Size};
use crate::kind::Kind;
use crate::recipe::{Means, Recipe};

const SETTINGS: [&str; 7] = [
    "server_version",
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "shared_buffers",
    "max_wal_size",
    "checkpoint_timeout",
];

pub(crate) struct Postgres {
    client: Client,
    writers: Vec<Client>,
    // After the clients: they are closed first.
    _server: PostgresServer,
}

impl Postgres {
    pub(crate) fn start(writers: u32) -> Self {
        let server = PostgresServer::start();
        let mut client = server.client("postgres");
        client
            .batch_execute("CREATE EXTENSION pgstattuple")
            .expect("PostgreSQL's contributed modules");
        Self {
            client,
            writers: (0..writers).map(|_| server.client("postgres")).collect(),
            _server: server,
        }
    }

    fn run(&mut self, statement: &str) {
        self.client.batch_execute(statement).expect(statement);
    }

    fn query_one<T: for<'a> FromSql<'a>>(&mut self, query: &str) -> T {
        self.client.query_one(query, &[]).expect(query).get(0)
    }
}

impl Database for Postgres {
    const ROWS: u64 = 2_000_000;

    fn name(&self) -> &'static str {
        "postgres"
    }

    fn settings(&mut self) -> Vec<(String, String)> {
        let mut value = |name: &str| self.query_one(&format!("SHOW {name}"));
        SETTINGS
            .map(str::to_owned)
            .map(|name| (name.clone(), value(&name)))
            .to_vec()
    }

    fn knows(&self, _: Recipe) -> bool {
        true
    }

    fn create(&mut self, recipe: Recipe, bounds: &[i64]) {
        let name = recipe.name();
        let column = match recipe.kind {
            Kind::UuidV4 | Kind::UuidV7 => "uuid",
            Kind::Ulid => "char(26) COLLATE \"C\"",
            _ => "bigint",
        };
        let (key, behind) = match recipe.means {
            Means::Nothing | Means::Sorted => ("PRIMARY KEY", ""),
            Means::FillFactor => ("PRIMARY KEY WITH (fillfactor = 70)", ""),
            Means::Partitions => ("PRIMARY KEY", "PARTITION BY RANGE (id)"),
            Means::Brin => ("NOT NULL", ""),
        };
        self.run(&format!(
            "CREATE TABLE {name} (id {column} {key}, customer int, note text) {behind}"
        ));
        if recipe.means == Means::Brin {
            self.run(&format!(
                "CREATE INDEX {name}_pkey ON {name} USING brin (id)"
            ));
        }
        let mut from = "MINVALUE".to_owned();
        let bounds = bounds
            .iter()
            .map(i64::to_string)
            .chain(["MAXVALUE".to_owned()]);
        for (number, to) in bounds
            .enumerate()
            .filter(|_| recipe.means == Means::Partitions)
        {
            self.run(&format!(
                "CREATE TABLE {name}_{number} PARTITION OF {name} FOR VALUES FROM ({from}) TO ({to})"
            ));
            from = to;
        }
    }

    fn insert(&mut self, recipe: Recipe, lines: &[String]) -> f64 {
        let copy = format!("COPY {} FROM STDIN", recipe.name());
        let started = Instant::now();
        thread::scope(|scope| {
            for (client, lines) in self.writers.iter_mut().zip(lines) {
                let copy = &copy;
                scope.spawn(move || {
                    let mut writer = client.copy_in(copy).expect("a copy");
                    writer.write_all(lines.as_bytes()).expect("rows");
                    writer.finish().expect("a commit");
                });
            }
        });
        started.elapsed().as_secs_f64()
    }

    fn checkpoint(&mut self) {
        self.run("CHECKPOINT");
    }

    fn log_bytes(&mut self) -> u64 {
        let bytes: i64 = self.query_one("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint");
        bytes.cast_unsigned()
    }

    fn size(&mut self, recipe: Recipe, _: u64) -> Size {
        let name = recipe.name();
        let leaves = format!(
            "(SELECT oid AS relid FROM pg_class WHERE relkind = 'r' AND relname ~ '^{name}(_[0-9])?$') AS t \
             JOIN pg_index ON indrelid = relid"
        );
        let mut sum =
            |what: &str| self.query_one(&format!("SELECT sum({what})::float8 FROM {leaves}"));
        let index_bytes = sum("pg_relation_size(indexrelid)");
        let table_bytes = sum("pg_relation_size(relid)");
        let density = format!(
            "SELECT sum(leaf_pages * avg_leaf_density) / sum(leaf_pages) \
             FROM (SELECT (pgstatindex(indexrelid::regclass)).* FROM {leaves}) AS s WHERE leaf_pages > 0"
        );
        Size {
            index_bytes,
            leaf_density: recipe.is_unique().then(|| self.query_one(&density)),
            table_bytes,
        }
    }
}
