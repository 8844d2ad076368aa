//! Opening of what a URL leads to: a store, its namespaces, and the option `max_ttl`.

use core::time::Duration;
use std::borrow::Cow;

use randflake_lease::unstable::catalog;
use randflake_lease::unstable::engine::Engine;
use randflake_lease::unstable::url::{MAX_TTL_OPTION, refused};
use randflake_lease::{LeaseStore, MAX_TTL_LIMIT, Namespace, NamespaceList, StoreError, date};

use super::StoreUrl;
use super::engines::{self, forms};

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
/// `N` is a number, `env` for the variable `RANDFLAKE_NODE_ID`, or `pod` for the ordinal of a pod
/// in a Kubernetes `StatefulSet`: see [`NodeIdSource`](crate::lease::NodeIdSource).
///
/// A path may be relative, or absolute as in `sqlite:/var/lib/ids/leases.db`; two slashes before
/// it, as in `sqlite:///var/lib/ids/leases.db` and `sqlite://leases.db`, make no difference.
///
/// Percent signs in a path are not decoded.
///
/// The other URLs may have a user and a password, `scheme://USER:PASSWORD@HOST:PORT`. In a
/// password, write `@`, `:`, `/`, `?`, `#` and `%` as `%40`, `%3A`, `%2F`, `%3F`, `%23` and `%25`.
/// An IPv6 address goes in brackets, `[2001:db8::10]:6379`, without a zone id. etcd and PostgreSQL
/// take several hosts, `HOST1:PORT1,HOST2:PORT2`. For a Unix socket, use
/// `redis+unix:///PATH?db=NUMBER` for Redis; for PostgreSQL, give its directory as the host,
/// `postgres://%2Frun%2Fpostgresql/DATABASE`. No error, log or `Debug` text shows user or password:
/// see [`StoreUrl`](crate::lease::StoreUrl).
///
/// Other options than these are refused. `owner` names the role that created the schema, if it is
/// not the URL's user. `application_name` is what the server shows of a connection (`randflake`
/// unless set). `connect_timeout` is the longest time for each address in seconds; all of them
/// share 3 s in any case. The next section describes the `ssl...` options.
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
/// `max_ttl` is [`Namespace::with_max_ttl`], for programs whose URL is set from outside; where both
/// are there and differ, it is refused. A counter has none.
///
/// # Encryption
///
/// `rediss://` and `etcds://` use TLS. PostgreSQL, MySQL and `MariaDB` use it with
/// `?sslmode=verify-full` (`require` means the same here); without the option, or with `disable`,
/// the connection is plain. `prefer`, `allow` and `verify-ca` are refused: they protect from nobody
/// who can change what is sent. All of it needs the cargo feature `tls`. The server's certificate
/// is always verified and must match the host of the URL. For all stores, the options have the
/// names of PostgreSQL's own clients:
///
/// | option             | file, as PEM                                                              |
/// |--------------------|---------------------------------------------------------------------------|
/// | `sslrootcert=FILE` | certificates of the trusted authorities, such as your own  |
/// | `sslcert=FILE`     | the certificate of this client, if the server asks for one                |
/// | `sslkey=FILE`      | its private key                                                           |
///
/// Without `sslrootcert`, the authorities of the operating system are trusted, or those in the file
/// that the variable `SSL_CERT_FILE` names. With it, only its own are. PostgreSQL, MySQL and
/// `MariaDB` stores read the files for each connection, so you can replace them while processes
/// run; Redis and etcd stores read them when they are opened.
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
/// It asks the server, and waits for the answer: see [how
/// long](randflake_lease#how-long-calls-block). [`deferred`](crate::lease::deferred()) leaves that
/// to the first acquire.
///
/// # Errors
///
/// - [`StoreError::Invalid`]: the URL has another form or other options;
/// - [`StoreError::FailedPrecondition`]: this build lacks the store's feature, a certificate file
///   cannot be used, or the server's certificate is not trusted or is for another host;
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
/// As for [`lease::open`](super::open), and [`StoreError::Invalid`] for `static:PATH`, which keeps
/// no counters.
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

/// The names of the namespaces in the store that a URL names; `None` if there is no store yet.
/// Creates nothing: no file, no tables, no namespace.
///
/// A dropped namespace is not listed, and neither is a counter that no lease was granted beside. A
/// Redis user needs the right `+scan`, and an etcd user read access to all keys that begin with
/// `randflake/`.
///
/// # Errors
///
/// As for [`open`](super::open), of which [`StoreError::Terms`] does not occur.
pub fn namespaces(url: &str) -> Result<Option<NamespaceList>, StoreError> {
    // A name that is allowed and not used: the engine asks for one, a list is of all.
    let Some(mut engine) = open_existing(url, "-")? else {
        return Ok(None);
    };
    catalog::names(&mut *engine)
}

/// Namespaces of the store that a URL names, each with its stored terms. Leaves out those that
/// cannot be read, and creates nothing.
///
/// # Errors
///
/// As for [`namespaces`].
pub fn stored(url: &str) -> Result<Vec<Namespace>, StoreError> {
    let engine = open_existing(url, "-")?;
    let all = engine.map(|mut engine| catalog::all(&mut *engine));
    Ok(all.transpose()?.flatten().unwrap_or_default())
}

/// The namespace of a name in the store that a URL names, as it is stored: [`open`](super::open)
/// takes it. `None` if it is not there. Creates nothing.
///
/// ```
/// use randflake_std::lease::{find, namespaces};
///
/// # let folder = tempfile::tempdir()?;
/// let url = format!("sqlite:{}", folder.path().join("leases.db").display());
/// assert_eq!(find(&url, "orders")?, None);
/// assert_eq!(namespaces(&url)?, None);
/// # assert_eq!(folder.path().read_dir()?.count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As for [`open`](super::open), of which [`StoreError::Terms`] does not occur;
/// [`StoreError::Invalid`] for a name that no namespace may have.
pub fn find(url: &str, name: &str) -> Result<Option<Namespace>, StoreError> {
    let Some(mut engine) = open_existing(url, name)? else {
        return Ok(None);
    };
    catalog::find(&mut *engine, name)
}

/// The engine of a URL, unless it keeps its store in a file that is not there.
fn open_existing(url: &str, name: &str) -> Result<Option<Box<dyn Engine>>, StoreError> {
    let StoreUrl { location, .. } = url.parse()?;
    (location.engine().open_existing)(&location, &catalog::any(name)?)
}

/// A URL without the option, and what the option says. No error shows any of it: it may be part of
/// a password.
pub(super) fn split(url: &str) -> Result<(Cow<'_, str>, Option<Duration>), StoreError> {
    // Taken out before the URL is parsed: it is of the namespace, and no scheme lists it.
    let (place, query) = url.split_once('?').unwrap_or((url, ""));
    let value = |part: &'_ str| {
        part.strip_prefix(MAX_TTL_OPTION)?
            .strip_prefix('=')
            .map(str::to_owned)
    };
    let found: Vec<_> = query.split('&').filter_map(value).collect();
    let text = match &*found {
        [] => return Ok((Cow::Borrowed(url), None)),
        [text] => text,
        // Which one counts would be a guess, and two processes might guess differently.
        _ => return Err(refused("has the option max_ttl twice", &forms())),
    };
    let time = date::duration(text).filter(|time| !time.is_zero() && *time <= MAX_TTL_LIMIT);
    let time = time.ok_or_else(|| {
        let why =
            "has a max_ttl that is no time above 0 and up to 14610 days, such as 90s, 15m or 1h";
        refused(why, &forms())
    })?;
    let others = query.split('&').filter(|part| value(part).is_none());
    let rest = others.collect::<Vec<_>>().join("&");
    let url = match &*rest {
        "" => place.to_owned(),
        rest => format!("{place}?{rest}"),
    };
    Ok((Cow::Owned(url), Some(time)))
}

impl StoreUrl {
    /// The longest TTL that the option `max_ttl` says, if it is there.
    #[must_use]
    pub fn max_ttl(&self) -> Option<Duration> {
        self.max_ttl
    }

    /// The namespace with the longest TTL of this URL.
    pub(super) fn terms_of(&self, namespace: &Namespace) -> Result<Namespace, StoreError> {
        let Some(asked) = self.max_ttl else {
            return Ok(namespace.clone());
        };
        let set = namespace.clone().with_max_ttl(asked);
        // A namespace that says nothing has the default, which the URL may replace.
        if namespace.terms().max_ttl_ms.is_some() && set.max_ttl() != namespace.max_ttl() {
            return Err(StoreError::Invalid(format!(
                "the lease store's URL has a max_ttl of {}, and the namespace is opened with a longest TTL of {}: say it in \
                 one place, or the same in both",
                date::span(set.max_ttl()),
                date::span(namespace.max_ttl())
            )));
        }
        Ok(set)
    }
}
