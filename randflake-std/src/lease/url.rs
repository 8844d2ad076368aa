//! Stores by URL.

use super::{LeaseStore, Namespace, StaticStore, StoreError};
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
/// What has a meaning in URLs, such as `@`, `:`, `/`, `?`, `#` and `%` in a password, is written as
/// `%40`, `%3A`, `%2F`, `%3F`, `%23` and `%25`.
///
/// # Encryption
///
/// Redis and etcd are spoken to by TLS where the scheme says so, PostgreSQL, MySQL and `MariaDB` with
/// `?sslmode=verify-full`, of which `require` is another name here; else the connection is plain. Each
/// needs its cargo feature, as `redis-tls`. A server's certificate is always verified, and must be for the
/// host of the URL. The parameters have the names of PostgreSQL's own clients, for all of these:
///
/// | parameter          | file, as PEM                                                              |
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
/// [`StoreError::Invalid`] when the URL's scheme is not known or its path is missing,
/// [`StoreError::Unusable`] when the store was left out of this build, a file of certificates cannot be
/// used, or the server's certificate is not trusted or is for another host; and those of the store.
///
/// ```
/// use randflake_std::lease::{Namespace, open};
/// use randflake_std::Randflake;
///
/// let namespace = Namespace::of::<Randflake>("orders")?;
/// assert_eq!(
///     open("mongodb://user:secret@host", &namespace).unwrap_err().to_string(),
///     "lease stores of scheme \"mongodb\" are not known: take sqlite:PATH, static:PATH?node=N, \
///      redis://HOST, etcd://HOST, postgres://HOST/DATABASE or \
///      mysql://HOST/DATABASE"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open(url: &str, namespace: &Namespace) -> Result<Box<dyn LeaseStore>, StoreError> {
    // What follows the scheme may hold a password: no error shows it.
    match url.split_once(':') {
        Some(("sqlite", path)) => Ok(open_sqlite(sqlite_path(path)?, namespace)?),
        Some(("redis" | "rediss" | "redis+unix", _)) => Ok(open_redis(url, namespace)?),
        Some(("etcd" | "etcds", _)) => Ok(open_etcd(url, namespace)?),
        Some(("postgres" | "postgresql", _)) => Ok(open_postgres(url, namespace)?),
        Some(("mysql", _)) => Ok(open_mysql(url, namespace)?),
        Some(("static", rest)) => open_static(rest, namespace),
        Some((scheme, _)) if is_scheme(scheme) => Err(StoreError::Invalid(format!(
            "lease stores of scheme {scheme:?} are not known: take {KNOWN}"
        ))),
        _ => Err(StoreError::Invalid(format!(
            "the lease store's URL has no scheme: take {KNOWN}"
        ))),
    }
}

/// A store of both leases and counters.
pub(crate) trait Store: LeaseStore + SegmentStore {}

impl<S: LeaseStore + SegmentStore> Store for S {}

const KNOWN: &str = "sqlite:PATH, static:PATH?node=N, redis://HOST, etcd://HOST, \
                     postgres://HOST/DATABASE or mysql://HOST/DATABASE";

fn is_scheme(scheme: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    !scheme.is_empty() && scheme.chars().all(allowed)
}

pub(crate) fn sqlite_path(rest: &str) -> Result<&str, StoreError> {
    let path = rest.strip_prefix("//").unwrap_or(rest);
    let refused = |why| {
        let sentence = format!("the lease store's URL {why}: take sqlite:PATH");
        Err(StoreError::Invalid(sentence))
    };
    match path {
        "" => refused("has no path"),
        ":memory:" => refused("names no file"),
        _ if path.contains('?') => refused("has parameters, and SQLite's takes none"),
        _ => Ok(path),
    }
}

fn open_static(rest: &str, namespace: &Namespace) -> Result<Box<dyn LeaseStore>, StoreError> {
    let refused = |why| {
        let sentence = format!("the lease store's URL {why}: take static:PATH?node=N");
        StoreError::Invalid(sentence)
    };
    let path = rest.strip_prefix("//").unwrap_or(rest);
    let (path, parameters) = path.split_once('?').unwrap_or((path, ""));
    if path.is_empty() {
        return Err(refused("has no path"));
    }
    let node = parameters
        .strip_prefix("node=")
        .ok_or_else(|| refused("has no `node`, or other parameters"))?;
    let store = StaticStore::open(path, node.parse()?, namespace)?;
    Ok(Box::new(store))
}

#[cfg(feature = "sqlite")]
pub(crate) fn open_sqlite(path: &str, namespace: &Namespace) -> Result<Box<dyn Store>, StoreError> {
    Ok(Box::new(super::SqliteStore::open(path, namespace)?))
}

#[cfg(not(feature = "sqlite"))]
pub(crate) fn open_sqlite(_: &str, _: &Namespace) -> Result<Box<dyn Store>, StoreError> {
    Err(StoreError::Unusable(
        "this build has no SQLite store: build it with the cargo feature `sqlite`".to_owned(),
    ))
}

#[cfg(feature = "redis")]
pub(crate) fn open_redis(url: &str, namespace: &Namespace) -> Result<Box<dyn Store>, StoreError> {
    Ok(Box::new(super::RedisStore::open(url, namespace)?))
}

#[cfg(not(feature = "redis"))]
pub(crate) fn open_redis(_: &str, _: &Namespace) -> Result<Box<dyn Store>, StoreError> {
    Err(StoreError::Unusable(
        "this build has no Redis store: build it with the cargo feature `redis`".to_owned(),
    ))
}

#[cfg(feature = "postgres")]
pub(crate) fn open_postgres(
    url: &str,
    namespace: &Namespace,
) -> Result<Box<dyn Store>, StoreError> {
    Ok(Box::new(super::PostgresStore::open(url, namespace)?))
}

#[cfg(not(feature = "postgres"))]
pub(crate) fn open_postgres(_: &str, _: &Namespace) -> Result<Box<dyn Store>, StoreError> {
    Err(StoreError::Unusable(
        "this build has no PostgreSQL store: build it with the cargo feature `postgres`".to_owned(),
    ))
}

#[cfg(feature = "mysql")]
pub(crate) fn open_mysql(url: &str, namespace: &Namespace) -> Result<Box<dyn Store>, StoreError> {
    Ok(Box::new(super::MysqlStore::open(url, namespace)?))
}

#[cfg(not(feature = "mysql"))]
pub(crate) fn open_mysql(_: &str, _: &Namespace) -> Result<Box<dyn Store>, StoreError> {
    Err(StoreError::Unusable(
        "this build has no MySQL store: build it with the cargo feature `mysql`".to_owned(),
    ))
}

#[cfg(feature = "etcd")]
pub(crate) fn open_etcd(url: &str, namespace: &Namespace) -> Result<Box<dyn Store>, StoreError> {
    Ok(Box::new(super::EtcdStore::open(url, namespace)?))
}

#[cfg(not(feature = "etcd"))]
pub(crate) fn open_etcd(_: &str, _: &Namespace) -> Result<Box<dyn Store>, StoreError> {
    Err(StoreError::Unusable(
        "this build has no etcd store: build it with the cargo feature `etcd`".to_owned(),
    ))
}

#[cfg(test)]
mod tests {
    use super::{open, sqlite_path};
    use crate::Randflake;
    use crate::lease::{Namespace, StoreError};

    #[test]
    fn no_error_shows_what_may_be_a_password() {
        let namespace = Namespace::of::<Randflake>("orders").unwrap();
        for url in [
            "ftp://me:secret@host",
            "me:secret@host",
            "secret",
            "://secret",
            "sec ret:",
            "",
        ] {
            let error = open(url, &namespace).unwrap_err();
            assert!(matches!(error, StoreError::Invalid(_)), "{url}: {error}");
            assert!(!error.to_string().contains("sec"), "{url}: {error}");
        }
    }

    #[cfg(not(feature = "sqlite"))]
    #[test]
    fn a_store_that_was_left_out_is_named() {
        let namespace = Namespace::of::<Randflake>("orders").unwrap();
        let error = open("sqlite:leases.db", &namespace).unwrap_err();
        assert!(
            error.to_string().contains("cargo feature `sqlite`"),
            "{error}"
        );
    }

    #[test]
    fn paths() {
        for (rest, path) in [
            ("leases.db", "leases.db"),
            ("./leases.db", "./leases.db"),
            ("/srv/leases.db", "/srv/leases.db"),
            ("//leases.db", "leases.db"),
            ("///srv/leases.db", "/srv/leases.db"),
        ] {
            assert_eq!(sqlite_path(rest).unwrap(), path);
        }
        for rest in ["", "//", ":memory:", "leases.db?mode=ro"] {
            assert!(sqlite_path(rest).is_err(), "{rest}");
        }
    }
}
