//! MariaDB: whole rows are stored in the order of the primary key (`InnoDB`). Rows by `LOAD DATA`.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Instant;

use harness::mariadb::{Client, MariadbServer};

use super::{Database, Size};
use crate::kind::Kind;
use crate::recipe::{Means, Recipe};

const DATABASE: &str = "bench";
/// As much memory for pages as PostgreSQL has unless set otherwise.
const SERVER: [&str; 2] = [
    "--innodb-buffer-pool-size=128M",
    "--innodb-log-file-size=1G",
];
const SETTINGS: [&str; 6] = [
    "version",
    "innodb_flush_log_at_trx_commit",
    "innodb_doublewrite",
    "innodb_flush_method",
    "innodb_buffer_pool_size",
    "innodb_log_file_size",
];
const PAGE_BYTES: f64 = 16_384.0;
/// A record without its id: header 5, NULL bits 1, length of the text 1, transaction 6, roll
/// pointer 7, number 4, text 47.
const ROW_BYTES: u32 = 71;

pub(crate) struct Mariadb {
    client: Client,
    writers: Vec<(Client, PathBuf)>,
    _server: MariadbServer,
}

impl Mariadb {
    pub(crate) fn start(writers: u32) -> Self {
        let server = MariadbServer::start_with(&SERVER);
        let mut client = server.client(None);
        client
            .query_drop(format!("CREATE DATABASE {DATABASE}"))
            .expect("a database");
        let folder = server.server.folder().to_owned();
        let writers = (0..writers).map(|number| {
            (
                server.client(Some(DATABASE)),
                folder.join(format!("rows_{number}")),
            )
        });
        Self {
            writers: writers.collect(),
            client: server.client(Some(DATABASE)),
            _server: server,
        }
    }

    fn run(&mut self, statement: &str) {
        self.client.query_drop(statement).expect(statement);
    }

    fn query_one(&mut self, query: &str) -> f64 {
        let number = self.client.query_first(query).expect(query);
        number.expect("a row")
    }
}

impl Database for Mariadb {
    // Half of PostgreSQL's: a table of random ids takes ten times as long as a sequence's here.
    const ROWS: u64 = 1_000_000;

    fn name(&self) -> &'static str {
        "mariadb"
    }

    fn settings(&mut self) -> Vec<(String, String)> {
        let mut value = |name: &str| {
            let query = format!("SELECT CAST(@@{name} AS CHAR)");
            self.client
                .query_first(&query)
                .expect(&query)
                .expect("a value")
        };
        SETTINGS
            .map(str::to_owned)
            .map(|name| (name.clone(), value(&name)))
            .to_vec()
    }

    fn knows(&self, recipe: Recipe) -> bool {
        !matches!(recipe.means, Means::FillFactor | Means::Brin)
    }

    fn create(&mut self, recipe: Recipe, bounds: &[i64]) {
        let column = match recipe.kind {
            Kind::UuidV4 | Kind::UuidV7 => "uuid",
            Kind::Ulid => "char(26) CHARACTER SET ascii COLLATE ascii_bin",
            _ => "bigint",
        };
        let partitions = match recipe.means {
            Means::Partitions => {
                let bounds = bounds
                    .iter()
                    .map(|bound| format!("({bound})"))
                    .chain(["MAXVALUE".to_owned()])
                    .enumerate();
                let parts = bounds
                    .map(|(number, to)| format!("PARTITION p{number} VALUES LESS THAN {to}"))
                    .collect::<Vec<_>>()
                    .join(", ");
                format!("PARTITION BY RANGE (id) ({parts})")
            }
            _ => String::new(),
        };
        self.run(&format!(
            "CREATE TABLE {} (id {column} PRIMARY KEY, customer int, note text) {partitions}",
            recipe.name()
        ));
    }

    fn insert(&mut self, recipe: Recipe, lines: &[String]) -> f64 {
        for ((_, path), lines) in self.writers.iter().zip(lines) {
            fs::write(path, lines).expect("a file of rows");
        }
        let name = recipe.name();
        let started = Instant::now();
        thread::scope(|scope| {
            for (client, path) in &mut self.writers {
                let load = format!("LOAD DATA INFILE '{}' INTO TABLE {name}", path.display());
                scope.spawn(move || client.query_drop(&load).expect(&load));
            }
        });
        started.elapsed().as_secs_f64()
    }

    fn checkpoint(&mut self) {
        self.run("SET GLOBAL innodb_log_checkpoint_now = ON");
    }

    fn log_bytes(&mut self) -> u64 {
        let query = "SHOW GLOBAL STATUS LIKE 'Innodb_lsn_current'";
        let status = self.client.query_first(query).expect(query);
        let (_, bytes): (String, u64) = status.expect("a row");
        bytes
    }

    fn size(&mut self, recipe: Recipe, rows: u64) -> Size {
        let name = recipe.name();
        self.client
            .query::<(String, String, String, String)>(&format!("ANALYZE TABLE {name}"))
            .expect("statistics");
        // Partitions are tables of their own there.
        let pages = self.query_one(&format!(
            "SELECT CAST(SUM(stat_value) AS DOUBLE) FROM mysql.innodb_index_stats \
             WHERE stat_name = 'n_leaf_pages' AND (table_name = '{name}' OR table_name LIKE '{name}#P#%')"
        ));
        let bytes = pages * PAGE_BYTES;
        let of_rows = rows as f64 * f64::from(ROW_BYTES + recipe.kind.bytes());
        Size {
            index_bytes: bytes,
            leaf_density: Some(100.0 * of_rows / bytes),
            table_bytes: bytes,
        }
    }
}
