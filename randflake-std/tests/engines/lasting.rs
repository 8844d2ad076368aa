//! Mistakes that no waiting mends: in the URL, the server's settings, or a user's rights. Each is
//! refused as such at the first try, with what to change. Outages beside them stay outages.

use core::net::Ipv4Addr;
use core::time::Duration;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Instant;

use harness::certificates::{Authority, HOST};
use harness::etcd::EtcdCluster;
use harness::mariadb::MariadbServer;
use harness::postgres::PostgresServer;
use harness::redis::RedisServer;
use randflake_std::Randflake;
use randflake_std::lease::{
    AcquireRequest, LeaseStore, Namespace, NodeIds, StoreError, Token, open,
};

/// What a start makes of a URL: opening and a lease, as the tool, `serve` and a handle do.
fn start(url: &str) -> Result<LeaseStore, StoreError> {
    let mut store = open(url, &Namespace::new("orders", Randflake).unwrap())?;
    store.administration().end_quarantine()?;
    store.acquire(&AcquireRequest {
        token: Token::random().unwrap(),
        holder: "holder",
        nodes: NodeIds::Any(1),
        ttl: 60,
    })?;
    Ok(store)
}

/// Tries each line of a table: a name, a URL, and the words of a lasting mistake, apart by commas;
/// an outage has none. Names in angle brackets stand for addresses.
#[track_caller]
fn are_told(addresses: &[(&str, u16)], table: &str) {
    let mut wrong = Vec::new();
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let mut columns = line.split('|').map(str::trim);
        let [mistake, url, words] = [(); 3].map(|()| columns.next().unwrap());
        let url =
            addresses
                .iter()
                .fold(url.to_owned(), |url: String, (name, port): &(&str, u16)| {
                    url.replace(&format!("<{name}>"), &format!("127.0.0.1:{port}"))
                        .replace(&format!("<TLS {name}>"), &format!("{HOST}:{port}"))
                });
        let begun = Instant::now();
        let told = start(&url);
        let is_lasting = matches!(told, Err(StoreError::FailedPrecondition(_)));
        let is_outage = matches!(told, Err(StoreError::Unavailable(_)));
        let said = told.map_or_else(|error| error.to_string(), |_| "nothing".to_owned());
        eprintln!("{mistake} | {is_lasting} | {said}");
        let is_told = match words {
            "" => is_outage,
            words => is_lasting && words.split(", ").all(|word| said.contains(word)),
        };
        // The limit of a connection, and of finding out who is there.
        let is_at_once = begun.elapsed() < Duration::from_secs(15);
        if !is_told || !is_at_once || said.contains("hunter2") {
            wrong.push(format!("{mistake}: {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A server that gives one answer to whatever it is asked. It ends with the process.
fn answering(answer: String) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, answer) = (client.unwrap(), answer.clone());
            thread::spawn(move || {
                if client.read(&mut [0; 4_096]).is_ok_and(|count| count > 0) {
                    // A client that only looked has gone.
                    _ = client.write_all(answer.as_bytes());
                }
            });
        }
    });
    port
}

fn http(status: &str, body: &str) -> u16 {
    let length = body.len();
    answering(format!(
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    ))
}

/// The way to a server, on which some words of its clients are replaced by as many others.
fn changing(server: u16, from: &'static str, to: &'static str) -> u16 {
    assert_eq!(from.len(), to.len());
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let carry = move |mut client: TcpStream, mut server: TcpStream| {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(count @ 1..) = client.read(&mut buffer) {
            let mut sent = buffer[..count].to_vec();
            let at = |part: &[u8]| part == from.as_bytes();
            if let Some(at) = sent.windows(from.len()).position(at) {
                sent[at..at + from.len()].copy_from_slice(to.as_bytes());
            }
            if server.write_all(&sent).is_err() {
                break;
            }
        }
    };
    thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            let mut server = TcpStream::connect((Ipv4Addr::LOCALHOST, server)).unwrap();
            let there = (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || carry(there.0, there.1));
            thread::spawn(move || std::io::copy(&mut server, &mut client));
        }
    });
    port
}

#[test]
fn of_redis() {
    for command in ["INFO", "TIME", "EVALSHA", "SCRIPT", "HMGET"] {
        let redis = RedisServer::start_with(&["--rename-command", command, ""]);
        let line = format!("{command} renamed | redis://<redis> | {command}, rename-command");
        are_told(&[("redis", redis.port)], &line);
    }
    let sentinel = RedisServer::start_sentinel();
    let cluster = RedisServer::start_with(&["--cluster-enabled", "yes"]);
    let open = RedisServer::start();
    let locked = RedisServer::start_with(&["--requirepass", "hunter2"]);
    let addresses = [
        ("sentinel", sentinel.port),
        ("cluster", cluster.port),
        ("open", open.port),
        ("locked", locked.port),
        (
            "protected",
            answering("-DENIED Redis is running in protected mode\r\n".to_owned()),
        ),
        // It says so to the first command, and closes.
        (
            "full",
            answering("-ERR max number of clients reached\r\n".to_owned()),
        ),
    ];
    are_told(
        &addresses,
        "
        a Sentinel | redis://<sentinel> | Sentinel, name the master
        a database of a Sentinel | redis://<sentinel>/1 | SELECT, Sentinel
        a database of a cluster | redis://<cluster>/1 | database 0 alone
        database 99 | redis://<open>/99 | database 99, databases
        database 2^32 - 1 | redis://<open>/4294967295 | database 4294967295
        no password | redis://<locked> | asks for a password
        a wrong password | redis://:hunter3@<locked> | user and password
        no user of that name | redis://me:hunter2@<locked> | user and password
        a password where there is none | redis://:hunter3@<open> | user and password
        protected mode | redis://<protected> | protected mode
        a cluster without slots | redis://<cluster> |
        too many clients | redis://<full> |
        too many clients at a login | redis://:hunter2@<full> |
        ",
    );

    // It listens, and says nothing.
    open.server.suspend();
    let said = start(&open.url()).unwrap_err();
    open.server.resume();
    assert!(matches!(said, StoreError::Unavailable(_)), "{said:?}");
    assert!(said.to_string().contains("no answer within 5s"), "{said}");
}

#[test]
fn of_postgresql() {
    let server = PostgresServer::start();
    let standby = PostgresServer::standby_of(server.port);
    for statement in [
        "CREATE DATABASE ids",
        "CREATE DATABASE frozen",
        "CREATE DATABASE closed",
        "ALTER DATABASE frozen SET default_transaction_read_only = on",
        "REVOKE CONNECT ON DATABASE closed FROM PUBLIC",
        "CREATE ROLE me LOGIN PASSWORD 'hunter2'",
        "CREATE ROLE late LOGIN PASSWORD 'hunter2' VALID UNTIL '2020-01-01'",
        "CREATE ROLE kerberos LOGIN",
        "CREATE ROLE plain LOGIN",
        "CREATE ROLE reads LOGIN",
        "ALTER ROLE reads SET default_transaction_read_only = on",
        "CREATE ROLE nobody",
    ] {
        server.client("postgres").batch_execute(statement).unwrap();
    }
    server.admit(
        "host all me,late 127.0.0.1/32 scram-sha-256\n\
         host all kerberos 127.0.0.1/32 gss\n\
         hostssl all plain 127.0.0.1/32 trust\n\
         host all postgres,reads,nobody,ghost 127.0.0.1/32 trust\n",
    );
    let authority = Authority::new();
    let tls = format!(
        "sslmode=verify-full&sslrootcert={}",
        authority.file().display()
    );
    are_told(
        &[
            ("ids", server.port),
            ("standby", standby.port),
            // As CockroachDB, Redshift and PostgreSQL 11 answer.
            ("other", changing(server.port, "SET jit = off", "SET jix = off")),
        ],
        &"
        no password | postgres://me@<ids>/ids | asks for a password, USER:PASSWORD
        a wrong password | postgres://me:hunter3@<ids>/ids | password authentication failed
        an expired password | postgres://late:hunter2@<ids>/ids | password authentication failed
        GSSAPI | postgres://kerberos@<ids>/ids | GSSAPI, pg_hba.conf
        no line for the user | postgres://stranger@<ids>/ids | pg_hba.conf
        a plain connection | postgres://plain@<ids>/ids | no encryption
        no such role | postgres://ghost@<ids>/ids | \"ghost\" does not exist
        a role that may not log in | postgres://nobody@<ids>/ids | not permitted to log in
        no such database | postgres://postgres@<ids>/missing | \"missing\" does not exist
        template0 | postgres://postgres@<ids>/template0 | not currently accepting connections
        no right to connect | postgres://me:hunter2@<ids>/closed | permission denied for database
        no right to create | postgres://me:hunter2@<ids>/ids | permission denied for database
        a role that only reads | postgres://reads@<ids>/ids | default_transaction_read_only, ALTER ROLE
        a database that is only read | postgres://postgres@<ids>/frozen | default_transaction_read_only
        TLS where there is none | postgres://me@<TLS ids>/ids?TLS | no encrypted connections, sslmode=disable
        no such setting | postgres://postgres@<other>/ids | \"jix\", PostgreSQL 12 or later, CockroachDB
        a standby | postgres://postgres@<standby>/postgres |
        "
        .replace("?TLS", &format!("?{tls}")),
    );
}

/// Who switches writes off may have promoted another server: sessions that are open stop too.
#[test]
fn switched_off_writes_in_postgresql_stay_off() {
    let server = PostgresServer::start();
    let mut admin = server.client("postgres");
    let mut store = start(&server.url("postgres")).unwrap();
    let mut turn = |value: &str| {
        let set = format!("ALTER SYSTEM SET default_transaction_read_only = {value}");
        // One after the other, and without a transaction around them.
        for statement in [
            "SET default_transaction_read_only = off",
            &set,
            "SELECT pg_reload_conf()",
        ] {
            admin.batch_execute(statement).unwrap();
        }
        let shown = || {
            let mut client = server.client("postgres");
            let row = client.query_one("SHOW default_transaction_read_only", &[]);
            row.unwrap().get::<_, String>(0)
        };
        while shown() != value {
            thread::yield_now();
        }
    };
    turn("on");
    // The first try ends the session, and the next one learns why.
    store.administration().start_quarantine().unwrap_err();
    let refused = store.administration().start_quarantine().unwrap_err();
    assert!(
        matches!(refused, StoreError::FailedPrecondition(_)),
        "{refused:?}"
    );
    assert!(refused.to_string().contains("set it off"), "{refused}");
    turn("off");
    store.administration().start_quarantine().unwrap();
}

#[test]
fn of_mysql() {
    let server = MariadbServer::start_with(&["--log-bin", "--sync-binlog=1"]);
    let mut admin = server.client(None);
    let mut run = |statement: &str| admin.query_drop(statement).unwrap();
    for statement in [
        "CREATE DATABASE ids",
        "CREATE DATABASE logged",
        "CREATE USER locked ACCOUNT LOCK",
        "CREATE USER expired IDENTIFIED BY 'hunter2' PASSWORD EXPIRE",
        "CREATE USER local IDENTIFIED VIA unix_socket",
        "CREATE USER encrypted REQUIRE SSL",
        "CREATE USER elsewhere@192.0.2.1",
        "CREATE USER me IDENTIFIED BY 'hunter2'",
        "CREATE USER reader",
        "GRANT SELECT ON ids.* TO reader",
        "GRANT ALL ON ids.* TO locked, expired, local, encrypted, elsewhere@192.0.2.1",
    ] {
        run(statement);
    }
    let address = [("ids", server.port)];
    let authority = Authority::new();
    let tls = format!(
        "sslmode=verify-full&sslrootcert={}",
        authority.file().display()
    );
    let expired = "an expired password | mysql://expired:hunter2@<ids>/ids | ALTER USER, PASSWORD EXPIRE NEVER";
    are_told(
        &address,
        &"
        a locked account | mysql://locked@<ids>/ids | locked, ACCOUNT UNLOCK
        a user of the socket | mysql://local@<ids>/ids | unix_socket, IDENTIFIED BY
        a user who must encrypt | mysql://encrypted@<ids>/ids | sslmode=verify-full
        a user of another host | mysql://elsewhere@<ids>/ids | Access denied
        no such user | mysql://ghost@<ids>/ids | Access denied
        no password | mysql://me@<ids>/ids | Access denied
        a wrong password | mysql://me:hunter3@<ids>/ids | Access denied
        no right to the database | mysql://me:hunter2@<ids>/ids | Access denied
        no right to create | mysql://reader@<ids>/ids | CREATE command denied
        no such database | mysql://root@<ids>/missing | Unknown database
        TLS where there is none | mysql://root@<TLS ids>/ids?TLS | no encrypted connections, sslmode=disable
        "
        .replace("?TLS", &format!("?{tls}")),
    );
    are_told(&address, expired);
    run("SET GLOBAL disconnect_on_expired_password = ON");
    are_told(&address, expired);

    // As replicas are: one may be promoted.
    run("SET GLOBAL read_only = ON");
    are_told(&address, "a replica | mysql://root@<ids>/ids |");
    run("SET GLOBAL read_only = OFF");

    let logged = format!("mysql://root@127.0.0.1:{}/logged", server.port);
    start(&logged).unwrap();
    run("SET GLOBAL binlog_format = 'STATEMENT'");
    are_told(
        &address,
        "
        no tables | mysql://root@<ids>/ids | binlog_format=STATEMENT, SET GLOBAL binlog_format = 'MIXED'
        tables | mysql://root@<ids>/logged | binlog_format=STATEMENT, SET GLOBAL binlog_format = 'MIXED'
        ",
    );
    run("SET GLOBAL binlog_format = 'MIXED'");
    start(&logged).unwrap();
}

#[test]
fn of_etcd() {
    let cluster = EtcdCluster::start(1);
    let member = &cluster.members[0];
    for (path, body) in [
        ("auth/user/add", r#"{"name":"root","password":"hunter2"}"#),
        ("auth/user/add", r#"{"name":"me","password":"hunter2"}"#),
        ("auth/role/add", r#"{"name":"root"}"#),
        ("auth/user/grant", r#"{"user":"root","role":"root"}"#),
        ("auth/enable", "{}"),
    ] {
        let reply = member.post(path, body);
        assert!(!reply.contains("error"), "{path}: {reply}");
    }
    let kubernetes = r#"{"kind":"Status","status":"Failure","message":"not found","code":404}"#;
    let no_method = r#"{"code":12,"message":"unknown method"}"#;
    let no_leader = r#"{"code":14,"message":"etcdserver: no leader"}"#;
    are_told(
        &[
            ("ids", member.port),
            ("page", http("200 OK", "<html>")),
            ("none", http("404 Not Found", "<html>")),
            ("found", http("302 Found", "")),
            ("json", http("200 OK", r#"{"ok":true}"#)),
            ("kubernetes", http("404 Not Found", kubernetes)),
            ("method", http("501 Not Implemented", no_method)),
            ("proxy", http("503 Service Unavailable", "<html>")),
            ("leader", http("503 Service Unavailable", no_leader)),
        ],
        "
        no user | etcd://<ids> | user name is empty
        a wrong password | etcd://root:hunter3@<ids> | authentication failed
        no right to the keys | etcd://me:hunter2@<ids> | permission denied
        a page | etcd://<page> | 200 OK, as no etcd does
        no page | etcd://<none> | 404 Not Found, as no etcd does
        a redirection | etcd://<found> | 302 Found, as no etcd does
        other JSON | etcd://<json> | as no etcd does
        Kubernetes | etcd://<kubernetes> | 404 Not Found, as no etcd does
        a missing method | etcd://<method> | unknown method
        a proxy without members | etcd://<proxy> |
        a member without a leader | etcd://<leader> |
        ",
    );
}

/// It speaks another protocol, or encrypts where the URL does not, or the other way round.
#[test]
fn of_another_server() {
    let authority = Authority::new();
    let redis = RedisServer::start();
    let redis_tls = RedisServer::start_encrypted(&authority, &[]);
    let postgres = PostgresServer::start();
    let mariadb = MariadbServer::start();
    let etcd = EtcdCluster::start(1);
    let etcd_tls = EtcdCluster::start_encrypted(&authority);
    let root = authority.file();
    are_told(
        &[
            ("redis", redis.port),
            ("redis-tls", redis_tls.port),
            ("postgresql", postgres.port),
            ("mariadb", mariadb.port),
            ("etcd", etcd.members[0].port),
            ("etcd-tls", etcd_tls.members[0].port),
            ("http", http("400 Bad Request", "<html>")),
            // As a proxy without a server behind it.
            ("nobody", answering(String::new())),
        ],
        &"
        PostgreSQL for Redis | redis://<postgresql> | PostgreSQL answers there
        MariaDB for Redis | redis://<mariadb> | MariaDB answers there
        etcd for Redis | redis://<etcd> | HTTP server answers there
        HTTP for Redis | redis://<http> | HTTP server answers there
        Redis for PostgreSQL | postgres://me@<redis>/ids | Redis answers there
        MariaDB for PostgreSQL | postgres://me@<mariadb>/ids | MariaDB answers there
        etcd for PostgreSQL | postgres://me@<etcd>/ids | HTTP server answers there
        HTTP for PostgreSQL | postgres://me@<http>/ids | HTTP server answers there
        two others for PostgreSQL | postgres://me@<http>,<redis>/ids | HTTP server answers there, Redis answers there
        HTTP and nobody for PostgreSQL | postgres://me@<http>,<nobody>/ids |
        Redis for MySQL | mysql://me@<redis>/ids | Redis answers there
        PostgreSQL for MySQL | mysql://me@<postgresql>/ids | PostgreSQL answers there
        HTTP for MySQL | mysql://me@<http>/ids | HTTP server answers there
        Redis for etcd | etcd://<redis> | Redis answers there
        PostgreSQL for etcd | etcd://<postgresql> | PostgreSQL answers there
        MariaDB for etcd | etcd://<mariadb> | MariaDB answers there
        TLS for Redis | redis://<redis-tls> | encrypted connections only, rediss://
        TLS for etcd | etcd://<etcd-tls> | encrypted connections only, etcds://
        Redis without TLS | rediss://<TLS redis>?TLS | no encrypted connections
        etcd without TLS | etcds://<TLS etcd>?TLS | no encrypted connections
        a user where there are none | etcd://me:hunter2@<etcd> | authentication is not enabled
        nobody for Redis | redis://<nobody> |
        nobody for PostgreSQL | postgres://me@<nobody>/ids |
        nobody for etcd | etcd://<nobody> |
        "
        .replace("?TLS", &format!("?sslrootcert={}", root.display())),
    );
}
