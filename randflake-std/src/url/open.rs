//! Opens what a URL leads to.

use super::StoreUrl;
use super::engines;
use randflake_lease::LeaseStore;
use randflake_lease::{Namespace, StoreError};

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
/// Kubernetes `StatefulSet`: see [`NodeIdSource`](crate::lease::NodeIdSource).
///
/// A path may be relative, or absolute as in `sqlite:/var/lib/ids/leases.db`; two slashes before it,
/// as in `sqlite:///var/lib/ids/leases.db` and `sqlite://leases.db`, make no difference.
///
/// Percent signs in a path are not decoded.
///
/// The other URLs may have a user and a password, `scheme://USER:PASSWORD@HOST:PORT`. In a password, write `@`, `:`,
/// `/`, `?`, `#` and `%` as `%40`, `%3A`, `%2F`, `%3F`, `%23` and `%25`. An IPv6 address goes in brackets,
/// `[2001:db8::10]:6379`, without a zone id. etcd and PostgreSQL take several hosts,
/// `HOST1:PORT1,HOST2:PORT2`. For a Unix socket, use `redis+unix:///PATH?db=NUMBER` for Redis; for PostgreSQL, give its
/// directory as the host, `postgres://%2Frun%2Fpostgresql/DATABASE`. No error, log or `Debug` text shows user or
/// password: see [`StoreUrl`](crate::lease::StoreUrl).
///
/// Other options than these are refused. `owner` names the role that created the schema, if it is not the URL's user.
/// `application_name` is what the server shows of a connection (`randflake` unless set). `connect_timeout` is the
/// longest time for each address in seconds; all of them share 3 s in any case. The next section describes the `ssl...` options.
///
/// | option                             | URLs                                       |
/// |------------------------------------|--------------------------------------------|
/// | `max_ttl`                          | all: the namespace's longest TTL, as `15m` |
/// | `node`                             | `static`                                   |
/// | `db`                               | `redis+unix`                               |
/// | `owner`                            | `postgres`, `postgresql`                   |
/// | `application_name`                 | those                                      |
/// | `connect_timeout`                  | those                                      |
/// | `sslmode`                          | `postgres`, `postgresql`, `mysql`          |
/// | `sslrootcert`, `sslcert`, `sslkey` | those, `redis`, `rediss`, `etcd`, `etcds`  |
///
/// `max_ttl` is [`Namespace::with_max_ttl`], for programs whose URL is set from outside; where both are there and differ, it
/// is refused. A counter has none.
///
/// # Encryption
///
/// `rediss://` and `etcds://` use TLS. PostgreSQL, MySQL and `MariaDB` use it with `?sslmode=verify-full` (`require`
/// means the same here); without the option, or with `disable`, the connection is plain. `prefer`, `allow` and `verify-ca`
/// are refused: they protect from nobody who can change what is sent. All of it needs the cargo feature
/// `tls`. The server's certificate is always verified and must match the host of the URL. For all stores,
/// the options have the names of PostgreSQL's own clients:
///
/// | option             | file, as PEM                                                              |
/// |--------------------|---------------------------------------------------------------------------|
/// | `sslrootcert=FILE` | certificates of the trusted authorities, such as your own  |
/// | `sslcert=FILE`     | the certificate of this client, if the server asks for one                |
/// | `sslkey=FILE`      | its private key                                                           |
///
/// Without `sslrootcert`, the authorities of the operating system are trusted, or those in the file that the variable
/// `SSL_CERT_FILE` names. With it, only its own are. PostgreSQL, MySQL and `MariaDB` stores read the files for each
/// connection, so you can replace them while processes run; Redis and etcd stores read them when they are opened.
///
/// ```text
/// rediss://:PASSWORD@redis.internal:6379/0?sslrootcert=/etc/orders/ca.pem
/// etcds://etcd-1,etcd-2?sslrootcert=/etc/orders/ca.pem&sslcert=/etc/orders/me.pem&sslkey=/etc/orders/me.key
/// postgres://ids:PASSWORD@db.internal/ids?sslmode=verify-full&sslrootcert=/etc/orders/ca.pem
/// mysql://ids:PASSWORD@db.internal/ids?sslmode=verify-full&sslrootcert=/etc/orders/ca.pem
/// ```
///
/// # Blocking
///
/// It asks the server, and waits for the answer: see [how long](randflake_lease#how-long-calls-block).
/// [`deferred`](crate::lease::deferred()) leaves that to the first acquire.
///
/// # Errors
///
/// - [`StoreError::Invalid`]: the URL has another form or other options;
/// - [`StoreError::FailedPrecondition`]: this build lacks the store's feature, a certificate file cannot be used, or the server's
///   certificate is not trusted or is for another host;
/// - those of the store.
///
/// ```
/// use randflake_std::Randflake;
/// use randflake_std::lease::{Namespace, open};
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
pub fn open(url: &str, namespace: &Namespace) -> Result<LeaseStore, StoreError> {
    let url: StoreUrl = url.parse()?;
    let namespace = url.terms_of(namespace)?;
    (url.location.engine().open)(&url.location, &namespace)
}

/// Opens the store that a URL names, for the counter of a namespace; otherwise like
/// [`lease::open`](super::open). It blocks [as long](randflake_lease#how-long-calls-block).
///
/// # Errors
///
/// As for [`lease::open`](super::open), and [`StoreError::Invalid`] for `static:PATH`, which keeps no
/// counters.
pub fn open_counter(url: &str, namespace: &Namespace) -> Result<LeaseStore, StoreError> {
    // Without `max_ttl`: a counter has no leases.
    let StoreUrl { location, .. } = url.parse()?;
    let engine = location.engine();
    if !engine.has_counters {
        return Err(StoreError::Invalid(format!(
            "no counters are kept where this URL leads: take {}",
            engines::forms_with_counters()
        )));
    }
    (engine.open)(&location, namespace)
}
