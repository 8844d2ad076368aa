//! Records that come back older than they were, or are lost in part.

use harness::redis::RedisServer;
use randflake_lease::CounterError;
use randflake_lease::{Loss, QuarantineCause, StoreError};

use crate::continuity::{MAX_TTL, open_again, open_at_once, quarantined_for};
use randflake_lease::testkit::leases::{TTL, acquire_one};

const KEY: &str = "randflake:{orders}";

fn connect(redis: &RedisServer) -> redis::Connection {
    redis::Client::open(redis.url())
        .unwrap()
        .get_connection()
        .unwrap()
}

/// What the server has, for `restore`.
fn dump(redis: &RedisServer) -> Vec<u8> {
    let dumped = redis::cmd("DUMP").arg(KEY).query(&mut connect(redis));
    dumped.unwrap()
}

fn restore(redis: &RedisServer, dumped: &[u8]) {
    let mut restore = redis::cmd("RESTORE");
    let restored = restore.arg(KEY).arg(0).arg(dumped).arg("REPLACE");
    restored.exec(&mut connect(redis)).unwrap();
}

/// Nothing is sent for that; and a look finds whether the lease is there.
#[test]
fn closed_connection_is_noticed_once() {
    let redis = RedisServer::start();
    let mut holder = open_at_once(&redis);
    let grant = acquire_one(&mut holder, 1);
    assert!(!holder.has_disconnected());
    // It still is what it was, with its time limits.
    assert!(holder.renew(&[grant], TTL).unwrap().ends[0].is_ok());
    assert!(!holder.has_disconnected());
    assert_eq!(redis.ask("CLIENT KILL TYPE normal SKIPME yes"), ":1\r\n");
    while !holder.has_disconnected() {
        std::thread::yield_now();
    }
    assert!(!holder.has_disconnected() && holder.check_leases(&[grant], TTL).unwrap().is_same());
    assert_eq!(redis.ask("FLUSHALL"), "+OK\r\n");
    assert!(!holder.check_leases(&[grant], TTL).unwrap().is_same());
}

/// `randflake lease init` ends only the quarantine of a namespace that is new.
#[test]
fn namespace_missed_after_a_flush_is_not_new() {
    let redis = RedisServer::start();
    let mut holder = open_at_once(&redis);
    let grant = acquire_one(&mut holder, 1);
    assert_eq!(redis.ask("FLUSHALL"), "+OK\r\n");
    let ends = holder.renew(&[grant], TTL).unwrap().ends;
    assert_eq!(ends, [Err(Loss::Forgotten)]);
    let quarantine = open_again(&redis)
        .administration()
        .current_quarantine()
        .unwrap();
    assert_eq!(quarantine.unwrap().cause, QuarantineCause::Lost);
}

#[test]
fn a_key_that_is_put_back_is_noticed() {
    let redis = RedisServer::start();
    let mut holder = open_at_once(&redis);
    let old = dump(&redis);
    let grant = acquire_one(&mut holder, 1);
    restore(&redis, &old);
    // Only its holder knows of the lease.
    let mut other = open_again(&redis);
    assert!(quarantined_for(&mut other) > MAX_TTL);
    let ends = holder.renew(&[grant], TTL).unwrap().ends;
    assert_eq!(ends, [Err(Loss::Forgotten)]);
    assert!(quarantined_for(&mut holder) > MAX_TTL);
}

#[test]
fn a_counter_that_is_put_back_is_noticed() {
    let redis = RedisServer::start();
    let mut store = open_again(&redis);
    store.counter().resume(1).unwrap();
    let old = dump(&redis);
    let reserved = store.counter().reserve(10).unwrap();
    restore(&redis, &old);
    // Who has seen more says so in the store.
    for (mut store, known) in [(open_again(&redis), 1), (store, reserved.end())] {
        let lost = store.counter().reserve(1);
        assert!(
            matches!(lost, Err(CounterError::Lost { reached, .. }) if reached == known),
            "{lost:?}"
        );
    }
    let mut store = open_again(&redis);
    assert_eq!(
        store.counter().resume(reserved.end()).unwrap(),
        reserved.end()
    );
    assert_eq!(store.counter().reserve(1).unwrap().first(), reserved.end());
}

#[test]
fn newcomer_notices_a_deleted_namespace() {
    for deletion in [
        "DEL randflake:{orders}",
        "HDEL randflake:{orders} namespace",
    ] {
        let redis = RedisServer::start();
        let mut holder = open_at_once(&redis);
        let grant = acquire_one(&mut holder, 1);
        assert_eq!(redis.ask(deletion), ":1\r\n");
        let mut other = open_again(&redis);
        assert!(quarantined_for(&mut other) > MAX_TTL, "{deletion}");
        let ends = holder.renew(&[grant], TTL).unwrap().ends;
        assert_eq!(ends, [Err(Loss::Forgotten)], "{deletion}");
        assert!(quarantined_for(&mut holder) > MAX_TTL, "{deletion}");

        // A second time, once somebody has ended that.
        other.administration().override_quarantine().unwrap();
        acquire_one(&mut other, 2);
        assert_eq!(redis.ask(deletion), ":1\r\n");
        assert!(
            quarantined_for(&mut open_again(&redis)) > MAX_TTL,
            "{deletion}"
        );
    }
}

#[test]
fn holder_notices_its_deleted_node_id() {
    let redis = RedisServer::start();
    let mut holder = open_at_once(&redis);
    let grant = acquire_one(&mut holder, 1);
    let deletion = format!("HDEL {KEY} {}", grant.node_id);
    assert_eq!(redis.ask(&deletion), ":1\r\n");
    let ends = holder.renew(&[grant], TTL).unwrap().ends;
    assert_eq!(ends, [Err(Loss::Forgotten)]);
    assert!(quarantined_for(&mut open_again(&redis)) > MAX_TTL);
}

#[cfg(target_os = "linux")]
mod clocks {
    use std::fs;
    use std::process::Command;

    use super::*;
    use harness::preloaded_clock::PreloadedClock;
    use randflake_lease::testkit::leases::acquire;

    /// The quarantine that follows on older data would end by the wrong clock, so it must not be
    /// written.
    #[test]
    fn server_behind_ends_no_quarantine_early() {
        let clock = PreloadedClock::off_by_ms(0);
        let mut redis = RedisServer::start_by(&clock);
        let mut holder = open_at_once(&redis);
        let folder = redis.server.folder().to_owned();
        let backup = tempfile::TempDir::new().unwrap();
        copy(&folder.join("appendonlydir"), backup.path());
        let grants = acquire(&mut holder, 1, 8).unwrap().grants;

        redis.server.kill();
        fs::remove_dir_all(folder.join("appendonlydir")).unwrap();
        copy(&backup.path().join("appendonlydir"), &folder);
        clock.set_ms(-400_000);
        redis.server.restart();
        let mut other = open_again(&redis);
        let before = redis.ask("HGET randflake:{orders} namespace");
        for refused in [
            acquire(&mut other, 2, 1).unwrap_err(),
            other.administration().start_quarantine().unwrap_err(),
            other.administration().end_quarantine().unwrap_err(),
        ] {
            assert!(
                matches!(refused, StoreError::ClockSkew { .. }),
                "{refused:?}"
            );
        }
        assert_eq!(redis.ask("HGET randflake:{orders} namespace"), before);

        clock.set_ms(0);
        assert!(quarantined_for(&mut other) > MAX_TTL);
        // The first one may only tell that the connection has ended.
        let renewed = holder
            .renew(&grants, TTL)
            .or_else(|_| holder.renew(&grants, TTL))
            .unwrap();
        assert_eq!(renewed.ends, [Err(Loss::Forgotten); 8]);
    }

    /// Nothing that a server's clock shows makes an empty one old enough to grant.
    #[test]
    fn empty_server_with_a_clock_ahead_is_not_old() {
        let clock = PreloadedClock::off_by_ms(-3_600_000);
        let redis = RedisServer::start_by(&clock);
        clock.set_ms(0);
        let told = redis.ask("INFO server");
        let uptime = told
            .lines()
            .find_map(|line| line.strip_prefix("uptime_in_seconds:"));
        assert!(uptime.unwrap().parse::<u64>().unwrap() >= 3_600, "{told}");
        let mut store = open_again(&redis);
        assert!(quarantined_for(&mut store) > MAX_TTL);
    }

    /// A renewal over a leap counts as failed, and does not move the end.
    #[test]
    fn renewal_over_a_leap_of_the_clock_is_refused() {
        let clock = PreloadedClock::off_by_ms(0);
        let redis = RedisServer::start_by(&clock);
        let mut store = open_at_once(&redis);
        let grant = acquire_one(&mut store, 1);
        for offset_ms in [5_000, 0] {
            clock.set_ms(offset_ms);
            let records = store.list().unwrap();
            let refused = store.renew(&[grant], TTL);
            assert!(
                matches!(refused, Err(StoreError::ClockSkew { .. })),
                "{refused:?}"
            );
            assert_eq!(store.list().unwrap(), records);
            // Once: then this machine's clock has to agree, which it does within 10 s.
            assert!(store.renew(&[grant], TTL).unwrap().ends[0].is_ok());
        }
    }

    fn copy(from: &std::path::Path, to: &std::path::Path) {
        let copied = Command::new("cp").arg("-r").args([from, to]).status();
        assert!(copied.unwrap().success());
    }
}
