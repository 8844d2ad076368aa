//! Opens what a URL leads to.

use super::rules::Engine;
use super::{Form, Server, StoreUrl};
use crate::lease::{LeaseStore, Namespace, StaticStore, StoreError};
use crate::segment::SegmentStore;

/// Opens the store that a URL names.
///
/// | URL                             | store                                 | cargo feature |
/// |---------------------------------|---------------------------------------|---------------|
/// | `sqlite:PATH`                   | `SqliteStore`: a file of this machine | `sqlite`      |
/// | `redis://HOST`, `rediss://HOST` | `RedisStore`: a Redis server          | `redis`       |
/// | `etcd://HOST`, `etcds://HOST`   | `EtcdStore`: an etcd cluster          | `etcd`        |
/// | `postgres://HOST/DATABASE`      | `PostgresStore`: a PostgreSQL server  | `postgres`    |
/// | `mysql://HOST/DATABASE`         | `MysqlStore`: MySQL or MariaDB        | `mysql`       |
/// | `static:PATH?node=N`            | `StaticStore`: an assigned node id    |               |
///
/// `N` is a number, `env` for the variable `RANDFLAKE_NODE_ID`, or `pod` for the ordinal of a pod in a
/// Kubernetes `StatefulSet`: see [`NodeIdSource`](super::NodeIdSource).
///
/// A path may be relative, or absolute as in `sqlite:/var/lib/ids/leases.db`; two slashes before it,
/// as in `sqlite:///var/lib/ids/leases.db` and `sqlite://leases.db`, make no difference.
///
/// It is taken as it is written.
///
/// The other URLs may have a user and a password, `scheme://USER:PASSWORD@HOST:PORT`. What has a meaning in
/// URLs, such as `@`, `:`, `/`, `?`, `#` and `%` in a password, is written as `%40`, `%3A`, `%2F`, `%3F`, `%23`
/// and `%25`; an IPv6 address stands in brackets. etcd and PostgreSQL take several hosts,
/// `HOST1:PORT1,HOST2:PORT2`. A socket of this machine is `redis+unix:///PATH?db=NUMBER` for Redis; for PostgreSQL
/// its directory is the host, `postgres://%2Frun%2Fpostgresql/DATABASE`. No error, log or `Debug` text
/// shows user or password: see [`StoreUrl`](super::StoreUrl).
///
/// These options are all that there are; others are refused. `owner` names the role or user that made the
/// tables and functions, if it is another one than the URL's; the `ssl...` options are those of the section
/// below.
///
/// | option                             | URLs                                       |
/// |------------------------------------|--------------------------------------------|
/// | `node`                             | `static`                                   |
/// | `db`                               | `redis+unix`                               |
/// | `owner`                            | `postgres`, `postgresql`                   |
/// | `sslmode`                          | `postgres`, `postgresql`, `mysql`          |
/// | `sslrootcert`, `sslcert`, `sslkey` | those, `redis`, `rediss`, `etcd`, `etcds`  |
///
/// # Encryption
///
/// `rediss://` and `etcds://` use TLS; PostgreSQL, MySQL and `MariaDB` use it with `?sslmode=verify-full`, of
/// which `require` is another name here, and not without or with `disable`. Each needs its cargo feature, such
/// as `redis-tls`. A server's certificate is always verified, and must be for the host of the URL. The options
/// have the names of PostgreSQL's own clients, for all of these:
///
/// | option             | file, as PEM                                                              |
/// |--------------------|---------------------------------------------------------------------------|
/// | `sslrootcert=FILE` | certificates of the authorities that are trusted: those of your own, say  |
/// | `sslcert=FILE`     | the certificate of this client, if the server asks for one                |
/// | `sslkey=FILE`      | its private key                                                           |
///
/// Without `sslrootcert` those are trusted that the operating system trusts, or that the variable
/// `SSL_CERT_FILE` names; with it, no others.
/// PostgreSQL, MySQL and `MariaDB` read the files for each connection, so they may be replaced while
/// processes run; Redis and etcd when the store is opened.
///
/// ```text
/// rediss://:PASSWORD@redis.internal:6379/0?sslrootcert=/etc/orders/ca.pem
/// etcds://etcd-1,etcd-2?sslrootcert=/etc/orders/ca.pem&sslcert=/etc/orders/me.pem&sslkey=/etc/orders/me.key
/// postgres://ids:PASSWORD@db.internal/ids?sslmode=verify-full&sslrootcert=/etc/orders/ca.pem
/// mysql://ids:PASSWORD@db.internal/ids?sslmode=verify-full&sslrootcert=/etc/orders/ca.pem
/// ```
///
/// # Errors
///
/// [`StoreError::Invalid`] when the URL has another form or other options,
/// [`StoreError::Unusable`] when the store was left out of this build, a file of certificates cannot be
/// used, or the server's certificate is not trusted or is for another host; and those of the store.
///
/// ```
/// use randflake_std::lease::{Namespace, open};
/// use randflake_std::Randflake;
///
/// let namespace = Namespace::new("orders", Randflake)?;
/// assert_eq!(
///     open("mongodb://user:secret@host", &namespace).unwrap_err().to_string(),
///     "lease stores of scheme \"mongodb\" are not known: take sqlite:PATH, static:PATH?node=N, \
///      redis://HOST, etcd://HOST, postgres://HOST/DATABASE or \
///      mysql://HOST/DATABASE"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open(url: &str, namespace: &Namespace) -> Result<Box<dyn LeaseStore>, StoreError> {
    let StoreUrl(form) = url.parse()?;
    Ok(match form {
        Form::Static { path, node } => Box::new(StaticStore::open(path, node, namespace)?),
        form => opened(&form, namespace)?,
    })
}

/// Opens the store that a URL names, for the counter of a namespace, as [`lease::open`](crate::lease::open) does.
///
/// # Errors
///
/// As for [`lease::open`](crate::lease::open), and [`StoreError::Invalid`] for `static:PATH`, which keeps no
/// counters.
pub fn open_counter(url: &str, namespace: &Namespace) -> Result<Box<dyn SegmentStore>, StoreError> {
    let StoreUrl(form) = url.parse()?;
    Ok(opened(&form, namespace)?)
}

/// A store of both leases and counters.
trait Store: LeaseStore + SegmentStore {}

impl<S: LeaseStore + SegmentStore> Store for S {}

fn opened(form: &Form, namespace: &Namespace) -> Result<Box<dyn Store>, StoreError> {
    match form {
        Form::Static { .. } => Err(StoreError::Invalid(
            "no counters are kept where this URL leads: take sqlite:PATH, redis://HOST, etcd://HOST, \
             postgres://HOST/DATABASE or mysql://HOST/DATABASE"
                .to_owned(),
        )),
        Form::Sqlite { path } => open_sqlite(path, namespace),
        Form::Server(server) => match server.scheme.engine {
            Engine::Redis => open_redis(server, namespace),
            Engine::Etcd => open_etcd(server, namespace),
            Engine::Postgres => open_postgres(server, namespace),
            Engine::Mysql => open_mysql(server, namespace),
        },
    }
}

#[cfg_attr(
    all(
        feature = "sqlite",
        feature = "redis",
        feature = "etcd",
        feature = "postgres",
        feature = "mysql"
    ),
    expect(dead_code, reason = "nothing is left out")
)]
pub(super) fn left_out(engine: &str, feature: &str) -> StoreError {
    StoreError::unusable(format!(
        "this build has no {engine} store: build it with the cargo feature `{feature}`"
    ))
}

/// The function that opens an engine, or says that this build leaves it out.
macro_rules! opener {
    ($name:ident, $at:ident: $place:ty, $namespace:ident, $feature:tt, $engine:tt, $open:expr) => {
        #[cfg(feature = $feature)]
        fn $name($at: $place, $namespace: &Namespace) -> Result<Box<dyn Store>, StoreError> {
            Ok(Box::new($open?))
        }

        #[cfg(not(feature = $feature))]
        fn $name(_: $place, _: &Namespace) -> Result<Box<dyn Store>, StoreError> {
            Err(left_out($engine, $feature))
        }
    };
}

opener!(open_sqlite, path: &str, namespace, "sqlite", "SQLite", {
    crate::lease::SqliteStore::open(path, namespace)
});
opener!(open_redis, server: &Server, namespace, "redis", "Redis", {
    crate::lease::RedisStore::at(server, namespace, None)
});
opener!(open_etcd, server: &Server, namespace, "etcd", "etcd", {
    crate::lease::EtcdStore::at(server, namespace, None)
});
opener!(open_postgres, server: &Server, namespace, "postgres", "PostgreSQL", {
    crate::lease::PostgresStore::at(server, namespace)
});
opener!(open_mysql, server: &Server, namespace, "mysql", "MySQL", {
    crate::lease::MysqlStore::at(server, namespace)
});
