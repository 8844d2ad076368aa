//! The engines, and what each is asked beside the store's operations.

use core::time::Duration;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use harness::etcd::EtcdCluster;
use harness::mariadb::MariadbServer;
use harness::postgres::PostgresServer;
use harness::redis::RedisServer;
use randflake_std::Randflake;
use randflake_std::lease::{LeaseStore, Namespace, SqliteStore, open};
use randflake_std::randflake_core::{Field, Layout, LayoutFields, LayoutSpec, ManualClock, Plain};
use tempfile::TempDir;

use randflake_lease::testkit::leases::declared_new;

/// How much is measured.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    /// Rounds of each time measured.
    pub(crate) rounds: u32,
    /// Time span of each rate measured.
    pub(crate) span: Duration,
    node_id_bits: u32,
    /// How long it takes at most to lease all node ids; each engine's own where there are many.
    filling: Option<Duration>,
}

impl Size {
    /// As many node ids as Randflake has.
    pub(crate) const fn whole(rounds: u32) -> Self {
        Self {
            rounds,
            span: Duration::from_secs(1),
            node_id_bits: 17,
            filling: None,
        }
    }

    /// Enough to see that all of it still works.
    pub(crate) const SHORT: Self = Self {
        rounds: 1,
        span: Duration::from_millis(10),
        node_id_bits: 11,
        filling: Some(Duration::from_secs(4)),
    };
}

/// Ticks are so short that each renewal moves an end: one that changes nothing is answered by some engines without a wait
/// for the disk.
const fn millis(node_id_bits: u32) -> LayoutSpec {
    LayoutSpec::declare(LayoutFields {
        timestamp: Field {
            bits: 41,
            shift: node_id_bits + 6,
        },
        node_id: Field {
            bits: node_id_bits,
            shift: 6,
        },
        sequence: Field { bits: 6, shift: 0 },
        epoch_unix_ms: 1_730_000_000_000,
        tick_ms: 1,
    })
}

/// As many node ids as Baidu's uid-generator has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Wide;

impl Layout for Wide {
    type Permutation = Plain;

    const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields {
        timestamp: Field {
            bits: 41,
            shift: 22,
        },
        node_id: Field { bits: 22, shift: 0 },
        sequence: Field { bits: 0, shift: 22 },
        epoch_unix_ms: 1_730_000_000_000,
        tick_ms: 1,
    });
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Sqlite,
    Redis,
    Postgres,
    Mariadb,
    Etcd,
}

impl Kind {
    pub(crate) const ALL: [Self; 5] = [
        Self::Sqlite,
        Self::Redis,
        Self::Postgres,
        Self::Mariadb,
        Self::Etcd,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Redis => "redis",
            Self::Postgres => "postgres",
            Self::Mariadb => "mariadb",
            Self::Etcd => "etcd",
        }
    }

    /// Name of the engine in the report.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Redis => "Redis",
            Self::Postgres => "PostgreSQL",
            Self::Mariadb => "MariaDB",
            Self::Etcd => "etcd",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// As many node ids as one operation leases.
    pub(crate) fn at_once(self) -> u32 {
        match self {
            Self::Etcd => 100,
            _ => 8_192,
        }
    }

    /// How long it takes at most to lease all node ids of Randflake.
    fn filling(self) -> Duration {
        match self {
            Self::Etcd => Duration::from_secs(150),
            _ => Duration::from_secs(30),
        }
    }
}

enum Server {
    Sqlite(TempDir),
    Redis(RedisServer),
    Postgres(PostgresServer),
    Mariadb(MariadbServer),
    Etcd(EtcdCluster),
}

/// The longest TTL in ticks, which are milliseconds here. All of an engine's figures are taken within one.
pub(crate) const TTL: u64 = 300_000;

/// One that runs, and ends when it is dropped.
pub(crate) struct Engine {
    pub(crate) kind: Kind,
    pub(crate) size: Size,
    server: Server,
}

/// An SQLite store that was made a minute ago: a new one waits before it grants.
fn aged_store() -> TempDir {
    let folder = TempDir::new().unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let then = now.saturating_sub(Duration::from_secs(60));
    let clock = ManualClock::at_unix_ms(then.as_millis().try_into().unwrap());
    let namespace = Namespace::new("default", Randflake).unwrap();
    SqliteStore::open_with_clock(folder.path().join("leases.db"), &namespace, Arc::new(clock))
        .unwrap();
    folder
}

impl Engine {
    /// As it answers durably, and else with its own settings; the databases have memory for their tables.
    pub(crate) fn start(kind: Kind, size: Size) -> Self {
        let server = match kind {
            Kind::Sqlite => Server::Sqlite(aged_store()),
            Kind::Redis => Server::Redis(RedisServer::start()),
            Kind::Postgres => Server::Postgres(PostgresServer::start()),
            Kind::Mariadb => {
                let settings = [
                    "--innodb-buffer-pool-size=256M",
                    "--innodb-log-file-size=96M",
                ];
                let server = MariadbServer::start_with(&settings);
                server
                    .client(None)
                    .query_drop("CREATE DATABASE ids")
                    .unwrap();
                Server::Mariadb(server)
            }
            Kind::Etcd => Server::Etcd(EtcdCluster::start(1)),
        };
        Self { kind, size, server }
    }

    /// How long it takes at most to lease all node ids.
    pub(crate) fn filling(&self) -> Duration {
        self.size.filling.unwrap_or_else(|| self.kind.filling())
    }

    /// Its server, if it has one.
    pub(crate) fn server(&self) -> Option<&harness::server::Server> {
        match &self.server {
            Server::Sqlite(_) => None,
            Server::Redis(server) => Some(&server.server),
            Server::Postgres(server) => Some(&server.server),
            Server::Mariadb(server) => Some(&server.server),
            Server::Etcd(cluster) => Some(&cluster.members[0].server),
        }
    }

    fn url(&self) -> String {
        match &self.server {
            Server::Sqlite(folder) => format!("sqlite:{}/leases.db", folder.path().display()),
            Server::Redis(server) => server.url(),
            Server::Postgres(server) => server.url("postgres"),
            Server::Mariadb(server) => server.url("ids"),
            Server::Etcd(cluster) => cluster.url(),
        }
    }

    /// A namespace of its own.
    pub(crate) fn space(&self, name: &str) -> Space<'_> {
        let longest = Duration::from_millis(TTL);
        let namespace = Namespace::new(name, millis(self.size.node_id_bits)).unwrap();
        Space {
            engine: self,
            namespace: namespace.with_max_ttl(longest),
        }
    }

    /// One with more node ids.
    pub(crate) fn wide_space(&self) -> Space<'_> {
        Space {
            engine: self,
            namespace: Namespace::new("wide", Wide)
                .unwrap()
                .with_max_ttl(Duration::from_millis(TTL)),
        }
    }

    /// What it keeps all leases in: files, or memory where that is what they are in.
    pub(crate) fn bytes(&self) -> u64 {
        let number = |text: &str| text.trim().parse().unwrap();
        match &self.server {
            Server::Sqlite(folder) => size(folder.path()),
            Server::Redis(server) => {
                let memory = server.ask("INFO memory");
                let used = memory.split_once("used_memory:").unwrap().1;
                number(used.split_once('\r').unwrap().0)
            }
            Server::Postgres(server) => {
                let sizes =
                    "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
                    WHERE relnamespace = to_regnamespace('randflake') AND relkind = 'r'";
                let row = server.client("postgres").query_one(sizes, &[]).unwrap();
                row.get::<_, i64>(0).cast_unsigned()
            }
            Server::Mariadb(server) => size(&server.server.folder().join("data/ids")),
            Server::Etcd(cluster) => {
                let status = cluster.members[0].post("maintenance/status", "{}");
                let used = status.split_once(r#""dbSizeInUse":""#).unwrap().1;
                number(used.split_once('"').unwrap().0)
            }
        }
    }
}

/// Of a folder's files.
fn size(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).unwrap();
    files
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum()
}

/// A namespace of an engine.
pub(crate) struct Space<'e> {
    engine: &'e Engine,
    namespace: Namespace,
}

impl Space<'_> {
    /// As the first process opens it.
    pub(crate) fn open(&self) -> LeaseStore {
        declared_new(&self.engine.url(), self.connect()).unwrap()
    }

    /// As a process opens it that finds the namespace there.
    pub(crate) fn connect(&self) -> LeaseStore {
        open(&self.engine.url(), &self.namespace).unwrap()
    }

    pub(crate) fn node_ids(&self) -> u32 {
        u32::try_from(self.namespace.node_ids()).unwrap()
    }
}
