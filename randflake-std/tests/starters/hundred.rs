//! A hundred processes begin at once on a server that is new: one of them makes what is missing,
//! none fails, and no two are granted the same.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::{env, process};

use harness::etcd::EtcdCluster;
use harness::mariadb::MariadbServer;
use harness::postgres::PostgresServer;
use harness::redis::RedisServer;
use harness::server::spawn;
use randflake_std::lease::{AcquireRequest, NodeIds, Token, open};

use crate::{acquire_when_due, declare_new, namespace};

const STARTERS: usize = 100;
const NODE_IDS_EACH: usize = 3;
/// Where a starter's store is.
pub(crate) const STORE: &str = "STARTERS_TEST_STORE";

/// Opens the store when it is told to, and leases when it is told to; says when it has done so.
pub(crate) fn starter(url: &str) {
    let mut orders = io::stdin().lines();
    let mut wait = |told: &str| {
        println!("{told}");
        io::stdout().flush().unwrap();
        orders.next();
    };
    wait("ready");
    let mut store = open(url, &namespace()).unwrap();
    wait("open");
    let request = AcquireRequest {
        token: Token::random().unwrap(),
        holder: &process::id().to_string(),
        nodes: NodeIds::Any(u32::try_from(NODE_IDS_EACH).unwrap()),
        ttl: 60,
    };
    for grant in acquire_when_due(&mut store, &request).unwrap().grants {
        println!("{}", grant.node_id);
    }
}

struct Starter {
    child: Child,
    told: BufReader<ChildStdout>,
}

impl Starter {
    fn new(url: &str) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command
            .env(STORE, url)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = spawn(command).unwrap();
        let told = BufReader::new(child.stdout.take().unwrap());
        Self { child, told }
    }

    fn node_ids(mut self) -> Vec<u32> {
        let lines = self.told.by_ref().lines();
        let node_ids = lines.map(|line| line.unwrap().parse().unwrap()).collect();
        assert!(self.child.wait().unwrap().success(), "a process failed");
        node_ids
    }
}

impl Drop for Starter {
    fn drop(&mut self) {
        let _gone_already = self.child.kill();
        let _gone_already = self.child.wait();
    }
}

fn a_hundred_begin_at_once(url: &str) {
    all_are_granted(url, || declare_new(url));
}

fn all_are_granted(url: &str, declare: impl FnOnce()) {
    let mut starters: Vec<_> = (0..STARTERS).map(|_| Starter::new(url)).collect();
    all_have(&mut starters, "ready");
    all_go(&mut starters);
    all_have(&mut starters, "open");
    declare();
    all_go(&mut starters);
    let granted: Vec<_> = starters.into_iter().flat_map(Starter::node_ids).collect();
    assert_eq!(granted.len(), STARTERS * NODE_IDS_EACH);
    let distinct: BTreeSet<_> = granted.into_iter().collect();
    assert_eq!(distinct.len(), STARTERS * NODE_IDS_EACH);
}

fn all_have(starters: &mut [Starter], told: &str) {
    for starter in starters {
        let mut line = String::new();
        starter.told.read_line(&mut line).unwrap();
        assert_eq!(line.trim_end(), told, "a process failed");
    }
}

fn all_go(starters: &mut [Starter]) {
    for starter in starters {
        let mut orders = starter.child.stdin.as_ref().unwrap();
        orders.write_all(b"go\n").unwrap();
    }
}

pub(crate) fn redis() {
    let server = RedisServer::start();
    a_hundred_begin_at_once(&server.url());
    let namespaces = server.ask("KEYS randflake:*");
    // One namespace, and the order of its node ids.
    assert!(namespaces.starts_with("*2\r\n"), "{namespaces}");
}

/// Nobody declares it new: the first one makes it, beside others that are about to, and it grants
/// soon.
pub(crate) fn sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("leases.db").display());
    all_are_granted(&url, || {});
}

pub(crate) fn etcd() {
    let cluster = EtcdCluster::start(1);
    a_hundred_begin_at_once(&cluster.url());
    // `randflake/orders/namespace`, which was written once.
    let key = r#"{"key":"cmFuZGZsYWtlL29yZGVycy9uYW1lc3BhY2U="}"#;
    let written = cluster.members[0].post("kv/range", key);
    assert!(written.contains(r#""version":"1""#), "{written}");
}

pub(crate) fn postgres() {
    let server = PostgresServer::start();
    a_hundred_begin_at_once(&server.url("postgres"));
    let count = "SELECT (SELECT count(*) FROM randflake.store) + 10 * count(*) FROM randflake.record WHERE kind = 0";
    let row = server.client("postgres").query_one(count, &[]).unwrap();
    assert_eq!(row.get::<_, i64>(0), 11);
}

pub(crate) fn mariadb() {
    let server = MariadbServer::start();
    let create = "CREATE DATABASE ids";
    server.client(None).query_drop(create).unwrap();
    a_hundred_begin_at_once(&server.url("ids"));
    let count = "SELECT (SELECT COUNT(*) FROM randflake_store) + 10 * COUNT(*) FROM randflake_record WHERE kind = 0";
    let count: Option<u64> = server.client(Some("ids")).query_first(count).unwrap();
    assert_eq!(count, Some(11));
}
