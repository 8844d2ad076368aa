//! The engines, with their own counts beside the store's operations.

use core::time::Duration;
use std::fs;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use harness::engine::{ENGINES, EngineServer, ServerEngine};
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

/// Ticks are so short that each renewal moves an end: one that changes nothing is answered by some
/// engines without a wait for the disk.
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

/// An engine that is measured.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// Files, without a server.
    Files,
    Server(&'static EngineServer),
}

impl Kind {
    pub(crate) fn all() -> Vec<Self> {
        let servers = ENGINES.iter().copied().map(Self::Server);
        [Self::Files].into_iter().chain(servers).collect()
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Files => "sqlite",
            Self::Server(server) => server.name,
        }
    }

    /// Name of the engine in the report.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Files => "SQLite",
            Self::Server(server) => server.title,
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|kind| kind.name() == name)
    }

    /// As many node ids as one operation leases.
    pub(crate) fn at_once(self) -> u32 {
        match self {
            Self::Files => 8_192,
            Self::Server(server) => server.most_at_once,
        }
    }

    /// How long it takes at most to lease all node ids of Randflake.
    fn filling(self) -> Duration {
        match self {
            Self::Files => Duration::from_secs(30),
            Self::Server(server) => server.filling,
        }
    }
}

enum Store {
    Files(TempDir),
    Server(Box<dyn ServerEngine>),
}

/// The longest TTL in ticks, which are milliseconds here. All of an engine's figures are taken
/// within one.
pub(crate) const TTL: u64 = 300_000;

/// One that runs, and ends when it is dropped.
pub(crate) struct Engine {
    pub(crate) kind: Kind,
    pub(crate) size: Size,
    store: Store,
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
    /// As it answers durably, and else with its own settings; the databases have memory for their
    /// tables.
    pub(crate) fn start(kind: Kind, size: Size) -> Self {
        let store = match kind {
            Kind::Files => Store::Files(aged_store()),
            Kind::Server(server) => Store::Server((server.start_large)()),
        };
        Self { kind, size, store }
    }

    /// How long it takes at most to lease all node ids.
    pub(crate) fn filling(&self) -> Duration {
        self.size.filling.unwrap_or_else(|| self.kind.filling())
    }

    /// Its server, if it has one.
    pub(crate) fn server(&self) -> Option<&harness::server::Server> {
        match &self.store {
            Store::Files(_) => None,
            Store::Server(server) => Some(server.process()),
        }
    }

    fn url(&self) -> String {
        match &self.store {
            Store::Files(folder) => format!("sqlite:{}/leases.db", folder.path().display()),
            Store::Server(server) => server.url(),
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
        match &self.store {
            Store::Files(folder) => {
                let files = fs::read_dir(folder).unwrap();
                files
                    .map(|file| file.unwrap().metadata().unwrap().len())
                    .sum()
            }
            Store::Server(server) => server.stored_bytes(),
        }
    }
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
