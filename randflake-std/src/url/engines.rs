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

macro_rules! engines {
    ($($store:ident of $($package:ident)::+, $name:literal, $feature:literal if $condition:meta: $schemes:expr, $form:literal;)*) => {
        $(
            #[cfg($condition)]
            pub use $($package)::+::$store;
        )*

        /// In the order in which messages list them.
        static ENGINES: &[KnownEngine] = &[$(
            KnownEngine {
                name: $name,
                feature: $feature,
                schemes: &$schemes,
                form: $form,
                registration: {
                    #[cfg($condition)]
                    { Some(&$($package)::+::ENGINE) }
                    #[cfg(not($condition))]
                    { None }
                },
            },
        )*];
    };
}

// To add an engine: a line here, and its feature in `Cargo.toml`.
engines! {
    SqliteStore of randflake_sqlite, "SQLite", "sqlite" if feature = "sqlite": ["sqlite"], "sqlite:PATH";
    StaticStore of randflake_lease::unstable::assigned, "static", "" if all(): ["static"], "static:PATH?node=N";
    RedisStore of randflake_redis, "Redis", "redis" if feature = "redis":
        ["redis", "rediss", "redis+unix"], "redis://HOST";
    EtcdStore of randflake_etcd, "etcd", "etcd" if feature = "etcd": ["etcd", "etcds"], "etcd://HOST";
    PostgresStore of randflake_postgres, "PostgreSQL", "postgres" if feature = "postgres":
        ["postgres", "postgresql"], "postgres://HOST/DATABASE";
    MysqlStore of randflake_mysql, "MySQL", "mysql" if feature = "mysql": ["mysql"], "mysql://HOST/DATABASE";
}

impl KnownEngine {
    /// The engine that a scheme's name belongs to.
    pub(super) fn of_scheme(name: &str) -> Option<&'static Self> {
        ENGINES.iter().find(|engine| engine.schemes.contains(&name))
    }

    /// Its registration, or which feature this build lacks for it.
    pub(super) fn registration(&self) -> Result<&'static Registration, StoreError> {
        self.registration.ok_or_else(|| {
            let Self { name, feature, .. } = self;
            StoreError::unusable(format!(
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
