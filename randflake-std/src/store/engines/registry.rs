//! How each engine that a URL leads to is made, or which feature this build lacks for it: a line for each.

use crate::store::url::{Engine as Kind, Server};
use crate::store::{Engine, LeaseStore};
use crate::vocabulary::{Namespace, StoreError};

type Open<P> = fn(&P, &Namespace) -> Result<LeaseStore, StoreError>;
type Existing<P> = fn(&P, &Namespace) -> Result<Option<Box<dyn Engine>>, StoreError>;

/// An engine, by where its URL leads: a path, or a server.
pub(in crate::store) struct Registered<P: ?Sized + 'static> {
    name: &'static str,
    feature: &'static str,
    /// Opens a store. None where this build leaves the engine out, as the next.
    open: Option<Open<P>>,
    /// Makes the engine, which is not asked anything yet; none where its file is not there.
    existing: Option<Existing<P>>,
}

impl<P: ?Sized> Registered<P> {
    pub(in crate::store) fn open(
        &self,
        place: &P,
        namespace: &Namespace,
    ) -> Result<LeaseStore, StoreError> {
        let open = self.open.ok_or_else(|| self.left_out())?;
        open(place, namespace)
    }

    pub(in crate::store) fn existing(
        &self,
        place: &P,
        namespace: &Namespace,
    ) -> Result<Option<Box<dyn Engine>>, StoreError> {
        let existing = self.existing.ok_or_else(|| self.left_out())?;
        existing(place, namespace)
    }

    fn left_out(&self) -> StoreError {
        let Self { name, feature, .. } = self;
        StoreError::unusable(format!(
            "this build has no {name} store: build it with the cargo feature `{feature}`"
        ))
    }
}

/// An engine, its feature, its name for people, how a store of it is opened, and how it is made unasked.
macro_rules! register {
    ($engine:ident: $place:ty, $feature:literal, $name:literal, $open:expr, $existing:expr) => {
        #[cfg(feature = $feature)]
        pub(in crate::store) static $engine: Registered<$place> = Registered {
            name: $name,
            feature: $feature,
            open: Some($open),
            existing: Some($existing),
        };
        #[cfg(not(feature = $feature))]
        pub(in crate::store) static $engine: Registered<$place> = Registered {
            name: $name,
            feature: $feature,
            open: None,
            existing: None,
        };
    };
}

register!(SQLITE: str, "sqlite", "SQLite",
    |path, namespace| super::SqliteStore::open(path, namespace),
    |path, namespace| Ok(super::Sqlite::existing(path.as_ref(), namespace)?.map(boxed)));
register!(REDIS: Server, "redis", "Redis",
    |server, namespace| super::RedisStore::at(server, namespace, None),
    |server, namespace| super::Redis::over(server, namespace, None).map(boxed).map(Some));
register!(ETCD: Server, "etcd", "etcd",
    |server, namespace| super::EtcdStore::at(server, namespace, None),
    |server, namespace| super::Etcd::over(server, namespace, None).map(boxed).map(Some));
register!(POSTGRES: Server, "postgres", "PostgreSQL",
    super::PostgresStore::at,
    |server, namespace| super::Database::<super::Postgres>::at(server, namespace).map(boxed).map(Some));
register!(MYSQL: Server, "mysql", "MySQL",
    super::MysqlStore::at,
    |server, namespace| super::Database::<super::Mysql>::at(server, namespace).map(boxed).map(Some));

#[cfg(any(
    feature = "sqlite",
    feature = "redis",
    feature = "etcd",
    feature = "postgres",
    feature = "mysql"
))]
fn boxed(engine: impl Engine + 'static) -> Box<dyn Engine> {
    Box::new(engine)
}

/// The engine of a server's URL.
pub(in crate::store) fn of(server: &Server) -> &'static Registered<Server> {
    match server.scheme.engine {
        Kind::Redis => &REDIS,
        Kind::Etcd => &ETCD,
        Kind::Postgres => &POSTGRES,
        Kind::Mysql => &MYSQL,
    }
}
