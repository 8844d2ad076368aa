//! Where the records of namespaces are kept: one folder for each engine.

mod assigned;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod database;
mod etcd;
mod memory;
mod mysql;
mod postgres;
mod redis;
mod registry;
mod sqlite;

pub use self::assigned::{NODE_ID_VARIABLE, NodeIdSource};
pub use self::memory::MemoryStore;
#[cfg(any(feature = "postgres", feature = "mysql"))]
use self::registry::ExistingEngine;
pub(super) use self::registry::{Opening, Registration};
use crate::store::url::Scheme;

/// The engines that URLs lead to, each by its folder, its type for programs, and the feature that brings this.
macro_rules! engines {
    ($($folder:ident: $store:ident if $condition:meta,)*) => {
        $(
            #[cfg($condition)]
            pub use self::$folder::$store;
        )*

        /// In the order in which messages list them.
        static ENGINES: &[&Registration] = &[$(&$folder::ENGINE),*];
    };
}

// To add an engine: its module above, and a line here.
engines! {
    sqlite: SqliteStore if feature = "sqlite",
    assigned: StaticStore if all(),
    redis: RedisStore if feature = "redis",
    etcd: EtcdStore if feature = "etcd",
    postgres: PostgresStore if feature = "postgres",
    mysql: MysqlStore if feature = "mysql",
}

/// The engine and the scheme of a scheme's name.
pub(super) fn of_scheme(name: &str) -> Option<(&'static Registration, &'static Scheme)> {
    ENGINES.iter().find_map(|engine| {
        let scheme = engine.schemes.iter().find(|scheme| scheme.name == name)?;
        Some((*engine, scheme))
    })
}

/// The URLs that there are, in short: `sqlite:PATH, redis://HOST or mysql://HOST/DATABASE`.
pub(super) fn forms() -> String {
    listed(|_| true)
}

/// The URLs of engines that keep counters, in short.
pub(super) fn forms_with_counters() -> String {
    listed(|engine| engine.has_counters)
}

fn listed(is_listed: impl Fn(&Registration) -> bool) -> String {
    let engines = ENGINES.iter().filter(|engine| is_listed(engine));
    let forms: Vec<_> = engines.map(|engine| engine.short_form).collect();
    match &*forms {
        [others @ .., last] => format!("{} or {last}", others.join(", ")),
        [] => String::new(),
    }
}

/// Bytes as text. Those that are none are shown by a sign of their own, so that whoever reads them finds them damaged.
#[cfg(any(feature = "etcd", feature = "redis"))]
fn shown(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
