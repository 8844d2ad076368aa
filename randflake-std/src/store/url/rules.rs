//! What each engine's URL may have.

/// A kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Redis,
    Etcd,
    Postgres,
    Mysql,
}

/// What is allowed behind a scheme.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Scheme {
    pub(crate) name: &'static str,
    pub(crate) engine: Engine,
    /// Whether connections are encrypted without `sslmode`.
    pub(crate) is_encrypted: bool,
    /// How to get an encrypted connection.
    pub(crate) encrypts_by: &'static str,
    pub(super) place: Place,
    /// Every other option is refused: clients have some that switch verification off.
    pub(super) options: &'static [&'static str],
    /// The URL as an error shows it.
    pub(super) form: &'static str,
}

/// Where the server is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    Host { port: u16 },
    Hosts { port: u16 },
    Socket,
}

const BY_SCHEME: &[&str] = &["sslrootcert", "sslcert", "sslkey"];
const OF_POSTGRES: &[&str] = &[
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "owner",
    "application_name",
    "connect_timeout",
];

const BY_MODE: &[&str] = &["sslmode", "sslrootcert", "sslcert", "sslkey"];

const MODE: &str = "sslmode=verify-full";

const REDIS: &str =
    "redis://[[USER]:PASSWORD@]HOST[:PORT][/NUMBER], or rediss:// for encrypted connections";
const SOCKET: &str = "redis+unix://[[USER]:PASSWORD@]/PATH[?db=NUMBER]";
const ETCD: &str =
    "etcd://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...], or etcds:// for encrypted connections";
const POSTGRES: &str = "postgres://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]...]/DATABASE";
const MYSQL: &str = "mysql://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE";

const fn scheme(name: &'static str, engine: Engine) -> Scheme {
    let (place, options, encrypts_by, form) = match engine {
        Engine::Redis => (Place::Host { port: 6_379 }, BY_SCHEME, "rediss://", REDIS),
        Engine::Etcd => (Place::Hosts { port: 2_379 }, BY_SCHEME, "etcds://", ETCD),
        Engine::Postgres => (Place::Hosts { port: 5_432 }, OF_POSTGRES, MODE, POSTGRES),
        Engine::Mysql => (Place::Host { port: 3_306 }, BY_MODE, MODE, MYSQL),
    };
    Scheme {
        name,
        engine,
        is_encrypted: false,
        encrypts_by,
        place,
        options,
        form,
    }
}

const fn encrypted(name: &'static str, engine: Engine) -> Scheme {
    Scheme {
        is_encrypted: true,
        ..scheme(name, engine)
    }
}

pub(super) static SCHEMES: [Scheme; 8] = [
    scheme("redis", Engine::Redis),
    encrypted("rediss", Engine::Redis),
    Scheme {
        place: Place::Socket,
        options: &["db"],
        form: SOCKET,
        ..scheme("redis+unix", Engine::Redis)
    },
    scheme("etcd", Engine::Etcd),
    encrypted("etcds", Engine::Etcd),
    scheme("postgres", Engine::Postgres),
    scheme("postgresql", Engine::Postgres),
    scheme("mysql", Engine::Mysql),
];

/// All forms, in short.
pub(super) const KNOWN: &str = "sqlite:PATH, static:PATH?node=N, redis://HOST, etcd://HOST, \
                                postgres://HOST/DATABASE or mysql://HOST/DATABASE";
