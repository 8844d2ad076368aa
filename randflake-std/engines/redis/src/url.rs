//! URLs of Redis, and the settings of the client that they lead to.

use redis::io::tcp::TcpSettings;
use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisConnectionInfo};

use crate::engine::Redis;
use crate::store::RedisStore;
use randflake_lease::StoreError;
use randflake_lease::unstable::url::{
    Address, AddressKind, CERTIFICATES, Host, Location, Registration, Scheme, number,
};

/// The engine as URLs lead to it.
pub static ENGINE: Registration = Registration {
    name: "Redis",
    schemes: &[
        REDIS,
        Scheme {
            name: "rediss",
            is_encrypted: true,
            ..REDIS
        },
        Scheme {
            name: "redis+unix",
            place: AddressKind::Socket,
            options: &["db"],
            form: "redis+unix://[[USER]:PASSWORD@]/PATH[?db=NUMBER]",
            ..REDIS
        },
    ],
    has_counters: true,
    check,
    open: |location, namespace| RedisStore::at(location, namespace, None),
    open_existing: |location, namespace| {
        Ok(Some(Box::new(Redis::over(location, namespace, None)?)))
    },
};

const REDIS: Scheme = Scheme {
    name: "redis",
    is_encrypted: false,
    encrypts_by: "rediss://",
    place: AddressKind::Host { port: 6_379 },
    options: CERTIFICATES,
    form: "redis://[[USER]:PASSWORD@]HOST[:PORT][/NUMBER], or rediss:// for encrypted connections",
};

fn check(location: &Location) -> Result<(), StoreError> {
    // A password alone is that of the user `default`.
    if location.user.is_some() && location.password.is_none() {
        return Err(location.refused("has a user without a password"));
    }
    Ok(())
}

/// Field by field: the client's own parser takes options that switch verification off.
pub(crate) fn settings(location: &Location) -> Result<ConnectionInfo, StoreError> {
    let address = match (&location.address, location.hosts()) {
        (Address::Socket(path), _) => ConnectionAddr::Unix(path.into()),
        (_, [Host { name, port }]) if location.scheme.is_encrypted => ConnectionAddr::TcpTls {
            host: name.clone(),
            port: *port,
            // Another value would take any certificate.
            insecure: false,
            tls_params: None,
        },
        (_, [Host { name, port }]) => ConnectionAddr::Tcp(name.clone(), *port),
        _ => return Err(location.refused("does not have one host")),
    };
    // The client's name and version would be two more replies to wait for when a server hangs.
    let mut login = RedisConnectionInfo::default().set_skip_set_lib_name();
    if let Some(password) = &location.password {
        login = login.set_password(password.as_str());
    }
    if let Some(user) = &location.user {
        login = login.set_username(user);
    }
    if let Some(database) = &location.database {
        let database = number::<u32>(database);
        let database =
            database.ok_or_else(|| location.refused("has a database that is no number"))?;
        login = login.set_db(database.into());
    }
    let settings = address.into_connection_info();
    Ok(settings
        .map_err(StoreError::unavailable)?
        // Or what is too long for one packet waits for an acknowledgement.
        .set_tcp_settings(TcpSettings::default().set_nodelay(true))
        .set_redis_settings(login))
}
