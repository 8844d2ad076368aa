//! Lost data of a Redis server, and its refusals: by the server's own clock.

use core::time::Duration;
use std::thread;
use std::time::Instant;

use crate::open;
use harness::free_port;
use harness::redis::RedisServer;
use randflake_lease::CounterError;
use randflake_lease::Loss;
use randflake_lease::unstable::rules::KeyCheck;
use randflake_lease::{
    ASSUMED_MAX_TTL, AcquireRequest, DEFAULT_MAX_TTL, Grant, LeaseStore, MAX_SKEW, NodeIds,
    StoreError,
};
use randflake_redis::RedisStore;

use randflake_lease::testkit::leases::{TTL, acquire, acquire_one, eight, ticks, token};

pub(crate) const MAX_TTL: Duration = DEFAULT_MAX_TTL;

/// Of a namespace that is declared new.
pub(crate) fn open_at_once(redis: &RedisServer) -> LeaseStore {
    let mut store = open_again(redis);
    store.administration().end_quarantine().unwrap();
    store
}

pub(crate) fn open_again(redis: &RedisServer) -> LeaseStore {
    RedisStore::open(&redis.url(), &eight("orders")).unwrap()
}

pub(crate) fn quarantined_for(store: &mut LeaseStore) -> Duration {
    match acquire(store, 99, 1) {
        Err(StoreError::Quarantined { retry_in, .. }) => retry_in,
        other => panic!("{other:?}"),
    }
}

fn goes_on(store: &mut LeaseStore, grant: Grant) -> bool {
    // The first one may only tell that the connection has ended.
    let renewed = store
        .renew(&[grant], TTL)
        .or_else(|_| store.renew(&[grant], TTL));
    renewed.unwrap().ends[0].is_ok_and(|end| end >= grant.end)
}

#[test]
fn a_new_server_waits_until_somebody_declares_it_new() {
    let redis = RedisServer::start();
    let mut store = open_again(&redis);
    let left = quarantined_for(&mut store);
    let all = ASSUMED_MAX_TTL + 2 * MAX_SKEW;
    assert!(left <= all && left + ticks(3) > all, "{left:?}");

    // What the lost record allowed is not known, so one of shorter leases waits as long.
    let brief = eight("brief").with_max_ttl(ticks(1));
    let mut store = RedisStore::open(&redis.url(), &brief).unwrap();
    let request = AcquireRequest {
        token: token(1),
        holder: "holder",
        nodes: NodeIds::Any(1),
        ttl: 1,
    };
    let refused = store.acquire(&request).unwrap_err();
    assert!(
        refused.to_string().contains("randflake lease init"),
        "{refused}"
    );
    let StoreError::Quarantined { retry_in, .. } = refused else {
        panic!("{refused:?}")
    };
    assert!(retry_in > ASSUMED_MAX_TTL, "{retry_in:?}");
    store.administration().end_quarantine().unwrap();
    store.acquire(&request).unwrap();
    let other = RedisStore::open(&redis.url(), &brief);
    other.unwrap().acquire(&request).unwrap();
}

#[test]
fn a_restart_is_noticed_and_what_is_held_goes_on() {
    let mut redis = RedisServer::start();
    let mut store = open_at_once(&redis);
    let grant = acquire_one(&mut store, 1);
    let records = store.list().unwrap();
    redis.server.restart();
    assert_eq!(store.list().unwrap(), records);
    assert!(goes_on(&mut store, grant));
    assert!(quarantined_for(&mut store) > MAX_TTL);
}

#[test]
fn who_comes_after_a_flush_waits_too() {
    let redis = RedisServer::start();
    let mut store = open_at_once(&redis);
    let grant = acquire_one(&mut store, 1);
    redis.ask("FLUSHALL");
    // It was never there before.
    let mut other = RedisStore::open(&redis.url(), &eight("orders")).unwrap();
    assert!(quarantined_for(&mut other) > MAX_TTL);
    let ends = store.renew(&[grant], TTL).unwrap().ends;
    assert_eq!(ends, [Err(Loss::Forgotten)]);
    assert!(quarantined_for(&mut store) > MAX_TTL);
}

#[test]
fn a_promoted_replica_waits_and_what_is_held_goes_on() {
    let first = RedisServer::start();
    let mut store = open_at_once(&first);
    let grant = acquire_one(&mut store, 1);
    let replica = RedisServer::start_with(&["--replicaof", "127.0.0.1", &first.port.to_string()]);
    while !replica
        .ask("INFO replication")
        .contains("master_link_status:up")
    {
        thread::sleep(Duration::from_millis(20));
    }
    // Before that it does not serve anyone.
    let refused = RedisStore::open(&replica.url(), &eight("orders"));
    assert!(
        matches!(refused, Err(StoreError::Unavailable(_))),
        "{refused:?}"
    );

    replica.ask("REPLICAOF NO ONE");
    let mut store = RedisStore::open(&replica.url(), &eight("orders")).unwrap();
    assert!(goes_on(&mut store, grant));
    assert!(quarantined_for(&mut store) > MAX_TTL);
    // The same process, once more: only the replication id tells.
    store.administration().override_quarantine().unwrap();
    acquire_one(&mut store, 2);
    replica.ask(&format!("REPLICAOF 127.0.0.1 {}", first.port));
    while !replica
        .ask("INFO replication")
        .contains("master_link_status:up")
    {
        thread::sleep(Duration::from_millis(20));
    }
    replica.ask("REPLICAOF NO ONE");
    assert!(quarantined_for(&mut store) > MAX_TTL);
}

#[test]
fn a_server_that_evicts_leases_is_refused() {
    let redis = RedisServer::start_with(&["--maxmemory-policy", "allkeys-lru"]);
    let refused = RedisStore::open(&redis.url(), &eight("orders")).unwrap_err();
    let StoreError::FailedPrecondition(error) = refused else {
        panic!("{refused:?}")
    };
    assert!(error.to_string().contains("allkeys-lru"), "{error}");
    redis.ask("CONFIG SET maxmemory-policy volatile-lru");
    let mut store = open_at_once(&redis);
    acquire_one(&mut store, 1);

    // Under an open session too.
    redis.ask("CONFIG SET maxmemory-policy allkeys-random");
    let refused = acquire(&mut store, 2, 1).unwrap_err();
    assert!(refused.to_string().contains("allkeys-random"), "{refused}");
}

#[test]
fn another_programs_keys_are_left_alone() {
    let redis = RedisServer::start();
    redis.ask("SET randflake:{orders} mine");
    let refused = RedisStore::open(&redis.url(), &eight("orders"));
    assert!(
        matches!(refused, Err(StoreError::FailedPrecondition(_))),
        "{refused:?}"
    );
    assert!(redis.ask("GET randflake:{orders}").contains("mine"));
    redis.ask("DEL randflake:{orders}");
    for (text, why) in [
        ("mine", "another program's"),
        ("11:mine", "damaged"),
        ("99:x", "update this one"),
    ] {
        redis.ask(&format!("HSET randflake:{{orders}} namespace {text}"));
        let refused = RedisStore::open(&redis.url(), &eight("orders")).unwrap_err();
        assert!(refused.to_string().contains(why), "{refused}");
        assert!(
            redis
                .ask("HGET randflake:{orders} namespace")
                .contains(text)
        );
    }
}

#[test]
fn no_error_shows_the_password() {
    let redis = RedisServer::start_with(&["--requirepass", "the-right-one"]);
    let url = |password| format!("redis://:{password}@127.0.0.1:{}/0", redis.port);
    let refused = open(&url("s3cret"), &eight("orders")).unwrap_err();
    assert!(
        matches!(refused, StoreError::FailedPrecondition(_)),
        "{refused:?}"
    );
    let none = open(&redis.url(), &eight("orders")).unwrap_err();
    assert!(
        matches!(none, StoreError::FailedPrecondition(_)),
        "{none:?}"
    );
    let store = open(&url("the-right-one"), &eight("orders")).unwrap();
    let nobody = open("redis://:s3cret@127.0.0.1:1", &eight("orders")).unwrap_err();
    assert!(matches!(nobody, StoreError::Unavailable(_)), "{nobody:?}");
    let wrong = open("redis://:s3cret@host:port", &eight("orders")).unwrap_err();
    assert!(matches!(wrong, StoreError::Invalid(_)), "{wrong:?}");
    let encrypted = open("rediss://:s3cret@127.0.0.1:1#insecure", &eight("orders")).unwrap_err();
    for shown in [
        format!("{refused} {refused:?}"),
        format!("{nobody} {nobody:?} {wrong} {wrong:?} {encrypted} {encrypted:?}"),
        format!("{store:?}"),
    ] {
        assert!(
            !shown.contains("s3cret") && !shown.contains("the-right-one"),
            "{shown}"
        );
    }
}

#[test]
fn hanging_server_is_an_error_and_return_is_noticed() {
    let mut redis = RedisServer::start();
    let mut store = open_at_once(&redis);
    let grant = acquire_one(&mut store, 1);
    redis.server.suspend();
    // It would never answer.
    let refused = store.renew(&[grant], 12);
    assert!(
        matches!(refused, Err(StoreError::Unavailable(_))),
        "{refused:?}"
    );
    redis.server.resume();
    assert!(goes_on(&mut store, grant));
    redis.server.kill();
    let refused = store.renew(&[grant], TTL);
    assert!(
        matches!(refused, Err(StoreError::Unavailable(_))),
        "{refused:?}"
    );
    redis.server.restart();
    assert!(goes_on(&mut store, grant));
}

#[test]
fn a_diagnosis_names_what_a_crash_would_lose() {
    let careless = RedisServer::start_with(&["--appendonly", "no"]);
    let careful = RedisServer::start();
    let durability = |redis: &RedisServer| {
        let findings = open_at_once(redis).administration().diagnose().unwrap();
        let finding = findings
            .into_iter()
            .find(|finding| finding.name == "appendonly");
        format!("{:?}", finding.unwrap())
    };
    assert!(durability(&careful).contains("Fine"));
    assert!(durability(&careless).contains("Caution"));
}

#[test]
fn cluster_redirects_to_the_namespaces_node() {
    let node = || {
        let bus = free_port().to_string();
        let settings = ["--cluster-enabled", "yes", "--cluster-port", &bus];
        (RedisServer::start_with(&settings), bus)
    };
    let ((redis, _), (other, bus)) = (node(), node());
    assert_eq!(redis.ask("CLUSTER ADDSLOTSRANGE 0 16383"), "+OK\r\n");
    redis.ask(&format!("CLUSTER MEET 127.0.0.1 {} {bus}", other.port));
    until(|| redis.ask("CLUSTER INFO").contains("cluster_state:ok"));
    let mut store = open_at_once(&redis);
    let grant = acquire_one(&mut store, 1);
    assert!(goes_on(&mut store, grant));
    store.release(&[grant]).unwrap();
    assert_eq!(store.list().unwrap().len(), 1);

    // Until it has heard of the first one.
    until(|| other.ask("GET randflake:{orders}").starts_with("-MOVED"));
    let refused = RedisStore::open(&other.url(), &eight("orders")).unwrap_err();
    let StoreError::FailedPrecondition(error) = refused else {
        panic!("{refused:?}")
    };
    let place = format!("127.0.0.1:{} has this namespace", redis.port);
    assert!(error.to_string().contains(&place), "{error}");
}

/// The claim of a secret is one for the whole cluster.
#[test]
fn cluster_keeps_a_claim_where_its_key_belongs() {
    let node = || {
        let bus = free_port().to_string();
        let settings = ["--cluster-enabled", "yes", "--cluster-port", &bus];
        (RedisServer::start_with(&settings), bus)
    };
    let ((redis, _), (other, bus)) = (node(), node());
    let slot: u32 = redis
        .ask("CLUSTER KEYSLOT randflake:key:00000007")
        .trim_start_matches(':')
        .trim()
        .parse()
        .unwrap();
    assert_eq!(other.ask(&format!("CLUSTER ADDSLOTS {slot}")), "+OK\r\n");
    let (before, after) = (slot - 1, slot + 1);
    let rest = format!("CLUSTER ADDSLOTSRANGE 0 {before} {after} 16383");
    assert_eq!(redis.ask(&rest), "+OK\r\n");
    redis.ask(&format!("CLUSTER MEET 127.0.0.1 {} {bus}", other.port));
    for node in [&redis, &other] {
        until(|| node.ask("CLUSTER INFO").contains("cluster_state:ok"));
    }
    until(|| {
        redis
            .ask("HGET randflake:key:00000007 claim")
            .starts_with("-MOVED")
    });
    let mut store = open_at_once(&redis);
    store.set_key_check(KeyCheck::Key(7));
    acquire_one(&mut store, 1);
    let claim = other.ask("HGET randflake:key:00000007 claim");
    assert!(claim.contains("11:orders"), "{claim}");
}

pub(crate) fn until(is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "it does not come"
        );
        thread::sleep(Duration::from_millis(20));
    }
}

fn is_lost(store: &mut LeaseStore) -> bool {
    match store.counter().reserve(1) {
        Ok(_) => false,
        Err(CounterError::Lost { .. }) => true,
        Err(error) => panic!("{error:?}"),
    }
}

#[test]
fn counter_waits_for_a_person_after_server_changes() {
    let mut redis = RedisServer::start();
    let replica = RedisServer::start_with(&["--replicaof", "127.0.0.1", &redis.port.to_string()]);
    let mut store = RedisStore::open(&redis.url(), &eight("orders")).unwrap();
    assert!(is_lost(&mut store), "new, or forgotten");
    assert_eq!(store.counter().resume(1).unwrap(), 1);
    let reserved = store.counter().reserve(10).unwrap();

    // A restart: all is there, but nobody knows that.
    redis.server.restart();
    assert!(is_lost(&mut store));
    assert_eq!(store.counter().status().unwrap().next, Some(reserved.end()));
    assert_eq!(store.counter().resume(1).unwrap(), reserved.end());
    let reserved = store.counter().reserve(10).unwrap();

    // A field that was deleted.
    redis.ask("HDEL randflake:{orders} counter");
    assert!(is_lost(&mut store));
    assert_eq!(
        store.counter().resume(reserved.end()).unwrap(),
        reserved.end()
    );
    store.counter().reserve(1).unwrap();

    // A replica that takes over may lack the last reservation.
    let started = Instant::now();
    let has_it = || {
        replica
            .ask("HGET randflake:{orders} counter")
            .contains("11:m:")
    };
    while !has_it() {
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "it does not follow"
        );
        thread::sleep(Duration::from_millis(20));
    }
    replica.ask("REPLICAOF NO ONE");
    let mut store = RedisStore::open(&replica.url(), &eight("orders")).unwrap();
    assert!(is_lost(&mut store));
}
