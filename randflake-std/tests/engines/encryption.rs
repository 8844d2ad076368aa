//! Encrypted connections to real servers, whose certificates come from an authority that no machine
//! trusts, as those of most companies do: what it certifies is taken, and nothing else.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::sync::Arc;

use harness::certificates::{Authority, HOST};
use harness::etcd::EtcdCluster;
use harness::mariadb::MariadbServer;
use harness::postgres::PostgresServer;
use harness::redis::RedisServer;
use randflake_core::ManualClock;
use randflake_std::Randflake;
use randflake_std::lease::{
    AcquireRequest, Grant, LeaseStore, Namespace, NodeIds, RedisStore, StoreError, Token, open,
};

/// With all that has a meaning in URLs, and as a URL has it.
const PASSWORD: &str = "hunter2:@/?#%41";
const IN_URL: &str = "hunter2%3A%40%2F%3F%23%2541";

const ON_LOOPBACK: &str = "127.0.0.1";

fn namespace() -> Namespace {
    Namespace::new("orders", Randflake).unwrap()
}

/// The parameters of a URL that name files.
fn files(root: &Authority, client: Option<&Authority>) -> String {
    let mut parameters = format!("sslrootcert={}", root.file().display());
    if let Some(own) = client.map(Authority::client) {
        let (certificate, key) = (own.certificate.display(), own.key.display());
        parameters = format!("{parameters}&sslcert={certificate}&sslkey={key}");
    }
    parameters
}

/// A lease's whole life.
fn works(store: &mut LeaseStore) {
    store.administration().end_quarantine().unwrap();
    let grants = store
        .acquire(&AcquireRequest {
            token: Token::random().unwrap(),
            holder: "holder",
            nodes: NodeIds::Any(2),
            ttl: 60,
        })
        .unwrap()
        .grants;
    let renewed = store.renew(&grants, 60).unwrap();
    assert!(renewed.ends.iter().all(Result::is_ok), "{renewed:?}");
    let unused = grants.iter().map(|&grant| Grant {
        end: grant.start,
        ..grant
    });
    store.release(&unused.collect::<Vec<_>>()).unwrap();
}

#[track_caller]
fn fails(url: &str, why: &str) -> StoreError {
    let error = open(url, &namespace()).unwrap_err();
    let told = format!("{error} {error:?}");
    assert!(told.contains(why), "not {why:?}: {told}");
    assert!(!told.contains("hunter2"), "{told}");
    error
}

/// Not to be tried again.
#[track_caller]
fn refused(url: &str, why: &str) {
    let error = fails(url, why);
    assert!(
        matches!(error, StoreError::FailedPrecondition(_)),
        "{error:?}"
    );
}

/// What no engine takes; the URL is that of a host and the parameters that name files.
fn nothing_else_is_taken(authority: &Authority, url: impl Fn(&str, &str) -> String) {
    let other = Authority::new();
    refused(
        &url(HOST, &files(&other, Some(authority))),
        "sslrootcert=FILE",
    );
    refused(
        &url(ON_LOOPBACK, &files(authority, Some(authority))),
        "not valid for name \"127.0.0.1\"",
    );
    // Those that the machine trusts.
    let own = authority.client();
    let trusted = format!(
        "sslcert={}&sslkey={}",
        own.certificate.display(),
        own.key.display()
    );
    refused(&url(HOST, &trusted), "sslrootcert=FILE");
    let missing = "sslrootcert=/nowhere/ca.pem";
    refused(&url(HOST, missing), "/nowhere/ca.pem");
    let no_certificate = format!("sslrootcert={}", own.key.display());
    refused(&url(HOST, &no_certificate), "there is none in it");
}

/// The path of a file is decoded, and there is none.
#[test]
fn who_encrypts_reads_the_files_that_are_named() {
    for url in [
        "rediss://127.0.0.1?",
        "etcds://127.0.0.1?",
        "postgres://me@127.0.0.1/ids?sslmode=verify-full&",
        "mysql://127.0.0.1/ids?sslmode=require&",
    ] {
        let file = "sslrootcert=/nowhere/a%20b";
        refused(&format!("{url}{file}"), "/nowhere/a b cannot be used");
    }
}

/// Before any client gets to see them, one of which panics. No server is asked.
#[test]
fn a_key_that_does_not_fit_its_certificate_is_refused() {
    let (authority, other) = (Authority::new(), Authority::new());
    let folder = tempfile::tempdir().unwrap();
    let damaged = folder.path().join("key.pem");
    let text = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    fs::write(&damaged, text).unwrap();
    let (root, certificate) = (authority.file(), authority.client().certificate);
    for url in [
        "rediss://127.0.0.1:1?",
        "etcds://127.0.0.1:1?",
        "postgres://me@127.0.0.1:1/ids?sslmode=verify-full&",
        "mysql://127.0.0.1:1/ids?sslmode=require&",
    ] {
        for key in [&damaged, &other.client().key] {
            let files = format!(
                "sslrootcert={}&sslcert={}&sslkey={}",
                root.display(),
                certificate.display(),
                key.display()
            );
            refused(&format!("{url}{files}"), "sslcert and sslkey");
        }
    }
}

#[test]
fn what_would_not_protect_is_refused() {
    for (url, remedy) in [
        (
            "postgres://host/ids?sslmode=prefer",
            "sslmode=prefer, which is plain wherever an attacker",
        ),
        (
            "mysql://host/ids?sslmode=allow",
            "write sslmode=verify-full to encrypt, or sslmode=disable",
        ),
        (
            "postgres://host/ids?sslmode=verify-ca",
            "takes a certificate of another host",
        ),
        (
            "postgres://host/ids?sslmode=hunter2",
            "verify-full, require and disable",
        ),
        (
            "postgres://host/ids?sslrootcert=ca.pem",
            "sslmode=verify-full",
        ),
        (
            "mysql://host/ids?sslmode=disable&sslrootcert=ca.pem",
            "sslmode=verify-full",
        ),
        ("redis://host?sslrootcert=ca.pem", "rediss://"),
        ("redis://host?sslmode=require", "rediss://"),
        ("etcd://host?sslkey=ca.pem", "etcds://"),
        (
            "mysql://host/ids?sslmode=verify-full&sslkey=ca.pem",
            "both are needed",
        ),
    ] {
        let error = fails(url, remedy);
        assert!(matches!(error, StoreError::Invalid(_)), "{error:?}");
        let error = error.to_string();
        assert!(
            !error.contains("hunter2") && !error.contains("ca.pem"),
            "{error}"
        );
    }
}

#[test]
fn redis() {
    let authority = Authority::new();
    let redis = RedisServer::start_encrypted(&authority, &["--requirepass", PASSWORD]);
    let port = redis.port;
    let url = |host: &str, files: &str| format!("rediss://:{IN_URL}@{host}:{port}/0?{files}");

    let clock = Arc::new(ManualClock::at_unix_ms(1_800_000_000_000));
    let right = url(HOST, &files(&authority, Some(&authority)));
    let mut store = RedisStore::open_with_clock(&right, &namespace(), Arc::clone(&clock)).unwrap();
    works(&mut store);
    assert!(!format!("{store:?}").contains("hunter2"), "{store:?}");

    nothing_else_is_taken(&authority, url);
    refused(&url(HOST, &files(&authority, None)), "sslcert=FILE");
    let plain = format!("redis://:{IN_URL}@{HOST}:{port}/0");
    let error = open(&plain, &namespace()).unwrap_err().to_string();
    assert!(
        error.contains("rediss://") && !error.contains("hunter2"),
        "{error}"
    );

    let own = authority.own();
    let [certificate, key] = [&own.certificate, &own.key].map(|file| file.to_str().unwrap());
    let files_of_it = ["--tls-cert-file", certificate, "--tls-key-file", key];
    let no_end_entity = RedisServer::start_encrypted(&authority, &files_of_it);
    let url = format!(
        "rediss://{HOST}:{}?{}",
        no_end_entity.port,
        files(&authority, Some(&authority))
    );
    refused(&url, "is an authority's (CA:TRUE)");

    let not_encrypted = RedisServer::start();
    let url = format!(
        "rediss://{HOST}:{}?{}",
        not_encrypted.port,
        files(&authority, None)
    );
    fails(&url, "no encrypted connections");
}

#[test]
fn etcd() {
    let authority = Authority::new();
    let cluster = EtcdCluster::start_encrypted(&authority);
    let port = cluster.members[0].port;
    let url = |host: &str, files: &str| format!("etcds://{host}:{port}?{files}");

    let right = url(HOST, &files(&authority, Some(&authority)));
    works(&mut open(&right, &namespace()).unwrap());

    nothing_else_is_taken(&authority, url);
    // It may end the connection before this side has read why.
    fails(&url(HOST, &files(&authority, None)), "sslcert=FILE");
    fails(&format!("etcd://{HOST}:{port}"), "etcds://");

    let not_encrypted = EtcdCluster::start(1);
    let url = format!(
        "etcds://{HOST}:{}?{}",
        not_encrypted.members[0].port,
        files(&authority, None)
    );
    fails(&url, "no encrypted connections");
}

#[test]
fn postgres() {
    let authority = Authority::new();
    let postgres = PostgresServer::start_encrypted(&authority);
    let create = format!("CREATE ROLE me LOGIN SUPERUSER PASSWORD '{PASSWORD}'");
    postgres.client("postgres").batch_execute(&create).unwrap();
    // The certificate proves that it is one of the company's, the password who.
    postgres.admit(
        "hostssl all me 127.0.0.1/32 scram-sha-256 clientcert=verify-ca\n\
         host all postgres 127.0.0.1/32 trust\n",
    );
    let at = |host: &str| format!("postgres://me:{IN_URL}@{host}:{}/postgres", postgres.port);
    let url = |host: &str, files: &str| format!("{}?sslmode=verify-full&{files}", at(host));

    let right = url(HOST, &files(&authority, Some(&authority)));
    let mut store = open(&right, &namespace()).unwrap();
    works(&mut store);
    assert!(!format!("{store:?}").contains("hunter2"), "{store:?}");
    let encrypted = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
        WHERE usename = 'me'";
    let row = postgres.client("postgres").query_one(encrypted, &[]);
    assert!(row.unwrap().get::<_, bool>(0));

    nothing_else_is_taken(&authority, url);
    refused(&url(HOST, &files(&authority, None)), "client certificate");
    refused(&at(HOST), "no encryption");
}

#[test]
fn mariadb() {
    let authority = Authority::new();
    let mariadb = MariadbServer::start_encrypted(&authority);
    let mut client = mariadb.client(None);
    client.query_drop("CREATE DATABASE ids").unwrap();
    for statement in [
        format!("CREATE USER me IDENTIFIED BY '{PASSWORD}' REQUIRE X509"),
        "GRANT ALL ON ids.* TO me".to_owned(),
    ] {
        client.query_drop(statement).unwrap();
    }
    let at = |host: &str| format!("mysql://me:{IN_URL}@{host}:{}/ids", mariadb.port);
    let url = |host: &str, files: &str| format!("{}?sslmode=verify-full&{files}", at(host));

    let right = url(HOST, &files(&authority, Some(&authority)));
    let mut store = open(&right, &namespace()).unwrap();
    works(&mut store);
    assert!(!format!("{store:?}").contains("hunter2"), "{store:?}");

    nothing_else_is_taken(&authority, url);
    refused(&url(HOST, &files(&authority, None)), "Access denied");
    client
        .query_drop("SET GLOBAL require_secure_transport = ON")
        .unwrap();
    let plain = format!("mysql://root@{HOST}:{}/ids", mariadb.port);
    refused(&plain, "sslmode=verify-full");

    // The certificate is another authority's; an option of a client's must not make up for that.
    let another = files(&Authority::new(), Some(&authority));
    let unverified = format!("{another}&danger_accept_invalid_certs=true");
    let error = open(&url(HOST, &unverified), &namespace())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("the option \"danger_accept_invalid_certs\""),
        "{error}"
    );
}
