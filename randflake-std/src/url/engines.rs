//! The engines that URLs lead to.

use randflake_lease::StoreError;
use randflake_lease::unstable::url::Registration;

/// An engine, whether or not this build has it.
#[derive(Debug)]
pub(super) struct KnownEngine {
    /// Name of the engine in messages.
    name: &'static str,
    /// The cargo feature that brings it.
    feature: &'static str,
    schemes: &'static [&'static str],
    /// Its URL in short, where all forms are listed.
    form: &'static str,
    /// `None` if this build leaves it out.
    registration: Option<&'static Registration>,
}

/// The static of an engine's package, if this build has it.
macro_rules! if_built {
    ($condition:meta, $engine:path) => {{
        #[cfg($condition)]
        {
            Some(&$engine)
        }
        #[cfg(not($condition))]
        {
            None
        }
    }};
}

// To add an engine: its type and its row here, and its feature in `Cargo.toml`.
#[cfg(feature = "etcd")]
pub use randflake_etcd::EtcdStore;
pub use randflake_lease::StaticStore;
#[cfg(feature = "mysql")]
pub use randflake_mysql::MysqlStore;
#[cfg(feature = "postgres")]
pub use randflake_postgres::PostgresStore;
#[cfg(feature = "redis")]
pub use randflake_redis::RedisStore;
#[cfg(feature = "sqlite")]
pub use randflake_sqlite::SqliteStore;

/// In the order in which messages list them.
static ENGINES: &[KnownEngine] = &[
    KnownEngine {
        name: "SQLite",
        feature: "sqlite",
        schemes: &["sqlite"],
        form: "sqlite:PATH",
        registration: if_built!(feature = "sqlite", randflake_sqlite::ENGINE),
    },
    KnownEngine {
        name: "static",
        feature: "",
        schemes: &["static"],
        form: "static:PATH?node=N",
        registration: Some(&randflake_lease::unstable::assigned::ENGINE),
    },
    KnownEngine {
        name: "Redis",
        feature: "redis",
        schemes: &["redis", "rediss", "redis+unix"],
        form: "redis://HOST",
        registration: if_built!(feature = "redis", randflake_redis::ENGINE),
    },
    KnownEngine {
        name: "etcd",
        feature: "etcd",
        schemes: &["etcd", "etcds"],
        form: "etcd://HOST",
        registration: if_built!(feature = "etcd", randflake_etcd::ENGINE),
    },
    KnownEngine {
        name: "PostgreSQL",
        feature: "postgres",
        schemes: &["postgres", "postgresql"],
        form: "postgres://HOST/DATABASE",
        registration: if_built!(feature = "postgres", randflake_postgres::ENGINE),
    },
    KnownEngine {
        name: "MySQL",
        feature: "mysql",
        schemes: &["mysql"],
        form: "mysql://HOST/DATABASE",
        registration: if_built!(feature = "mysql", randflake_mysql::ENGINE),
    },
];

impl KnownEngine {
    /// The engine that a scheme's name belongs to.
    pub(super) fn of_scheme(name: &str) -> Option<&'static Self> {
        ENGINES.iter().find(|engine| engine.schemes.contains(&name))
    }

    /// Its registration, or which feature this build lacks for it.
    pub(super) fn registration(&self) -> Result<&'static Registration, StoreError> {
        self.registration.ok_or_else(|| {
            let Self { name, feature, .. } = self;
            StoreError::failed_precondition(format!(
                "this build has no {name} store: build it with the cargo feature `{feature}`"
            ))
        })
    }

    /// Whether it has room for counters, as every store has that clients share.
    fn has_counters(&self) -> bool {
        self.registration
            .is_none_or(|registration| registration.has_counters)
    }
}

/// The URLs that there are, in short: `sqlite:PATH, redis://HOST or mysql://HOST/DATABASE`.
pub(super) fn forms() -> String {
    listed(|_| true)
}

/// The URLs of engines that keep counters, in short.
pub(super) fn forms_with_counters() -> String {
    listed(KnownEngine::has_counters)
}

fn listed(is_listed: impl Fn(&KnownEngine) -> bool) -> String {
    let engines = ENGINES.iter().filter(|engine| is_listed(engine));
    let forms: Vec<_> = engines.map(|engine| engine.form).collect();
    match &*forms {
        [others @ .., last] => format!("{} or {last}", others.join(", ")),
        [] => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A build that leaves an engine out knows it by this list alone.
    #[test]
    fn schemes_are_those_of_the_engines() {
        for engine in ENGINES {
            let Some(registration) = engine.registration else {
                continue;
            };
            let schemes = registration.schemes.iter().map(|scheme| scheme.name);
            assert!(schemes.eq(engine.schemes.iter().copied()), "{engine:?}");
            assert_eq!(registration.name, engine.name);
        }
    }
}
