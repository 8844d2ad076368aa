//! Layouts of other systems

use std::collections::HashSet;

use randflake_std::randflake_core::LAYOUTS;
use serde_json::json;

use crate::user::{User, now_s, objects, words};

#[test]
fn parts_of_the_node_id_are_shown_by_name() {
    let user = User::new();
    let inspect = words("inspect --layout discord --from int 175928847299117063");
    assert_eq!(
        user.run(&inspect).ok(),
        "text      4s86bb0g4007\n\
         int       175928847299117063\n\
         raw       175928847299117063\n\
         time      1462015105.796 (2016-04-30T11:18:25.796Z)\n\
         node      32 (worker 1, process 0)\n\
         sequence  7\n"
    );
    let compose = "compose --time 1733706297.12 --node 7,1001,2 --sequence 5 --format json --layout \
                   custom:39,region:6+type:14+machine:2,3@1577836800000/10";
    let told = objects(&user.run(&words(compose)).ok());
    let expected = json!({ "region": 7, "type": 1_001, "machine": 2 });
    assert_eq!(told[0]["node_parts"], expected);
    assert_eq!(told[0]["unix_ms"], 1_733_706_297_120_u64);
    let wrong = compose.replace("7,1001,2", "7,1001,4");
    assert_eq!(
        user.run(&words(&wrong)).fails(2),
        "invalid value '7,1001,4' for '--node <N>': machine 4 is out of range: 0 to 3 are allowed"
    );
}

/// A time that no calendar of four digits has is said, not met with a panic.
#[test]
fn a_time_after_the_year_9999_is_told() {
    let user = User::new();
    let inspect = words("inspect --layout mastodon --from uint 18446744073709551615");
    let told = user.run(&inspect).ok();
    assert!(
        told.contains("281474976710.655 (after the year 9999)"),
        "{told}"
    );
}

#[test]
fn each_layout_issues_under_leases_of_its_own() {
    let user = User::new();
    let epoch = 1_000 * (now_s() - 86_400);
    for (layout, namespace) in [
        ("snowflake", "snowflake"),
        ("sonyflake", "sonyflake"),
        ("discord", "discord"),
        ("instagram", "instagram"),
        ("mastodon", "mastodon"),
        ("encrypted:snowflake", "encrypted-snowflake"),
        (
            &*format!("baidu@{epoch}"),
            &*format!("custom-28_35-22_13-13_0-{epoch}-1000"),
        ),
        (
            &*format!("custom:40,8,15@{epoch}/1"),
            &*format!("custom-40_23-8_15-15_0-{epoch}-1"),
        ),
    ] {
        let generate = [
            "generate", "-n", "300", "--layout", layout, "--format", "int",
        ];
        let ids = user.run_keyed(&generate).ok();
        let distinct: HashSet<_> = ids.lines().collect();
        assert_eq!(distinct.len(), 300, "{layout}");
        let inspect = ["inspect", "--json", "--from", "int", "--layout", layout];
        for told in objects(&user.run_on(ids.as_bytes(), &inspect).ok()) {
            let age_s = now_s().abs_diff(told["time"].as_u64().unwrap());
            assert!(age_s < 600, "{layout}: {told}");
        }
        let status = ["lease", "status", "--json", "--namespace", namespace];
        let status = objects(&user.run(&status).ok());
        assert_eq!(status[0]["namespace"], namespace);
    }
    let list = [
        "lease",
        "list",
        "--all",
        "--json",
        "--namespace",
        "snowflake",
    ];
    let leases = objects(&user.run(&list).ok());
    assert!(
        leases
            .iter()
            .all(|lease| lease["node"].as_u64() < Some(1_024))
    );
    assert!(!leases.is_empty());
    let other = [
        "generate",
        "--layout",
        "discord",
        "--namespace",
        "snowflake",
    ];
    let said = user.run(&other).fails(1);
    assert!(said.contains("the namespace has other terms: "), "{said}");
    let doctor = user.run(&["doctor", "--layout", "sonyflake"]).ok();
    assert!(doctor.contains("65536 node ids"), "{doctor}");
}

/// The order of the stored bits is the layout's, so a table's namespace refuses ids in another order.
#[test]
fn a_namespace_of_milliflake_takes_no_other_layout() {
    let user = User::new();
    let generate = words("generate -n 3 --layout milliflake --format int");
    let ids = user.run_keyed(&generate).ok();
    let mut inspect = words("inspect --json --from int --layout encrypted:milliflake");
    inspect.extend(ids.lines());
    let told = objects(&user.run_keyed(&inspect).ok());
    let raws: Vec<_> = told.iter().map(|told| told["raw"].to_string()).collect();
    assert!(told.len() == 3 && raws.is_sorted(), "{told:?}");
    let other = words("generate --namespace encrypted-milliflake");
    let said = user.run_keyed(&other).fails(1);
    assert!(said.contains("the namespace has other terms: "), "{said}");
}

/// A plain layout neither needs nor makes a secret.
#[test]
fn plain_ids_need_no_secret() {
    let user = User::new();
    let id = user
        .run(&words("generate --layout instagram --format int"))
        .ok();
    assert!(!user.state("key").exists());
    user.run(&[
        "inspect",
        "--layout",
        "instagram",
        "--from",
        "int",
        id.trim(),
    ])
    .ok();
    let said = user
        .run(&words("inspect --layout encrypted:instagram 0"))
        .fails(1);
    assert!(said.starts_with("no secret"), "{said}");
}

#[test]
fn the_help_names_every_layout() {
    let help = User::new().run(&["inspect", "-h"]).ok();
    for (name, _) in LAYOUTS {
        assert!(help.contains(name), "{name}: {help}");
    }
}

#[test]
fn a_wrong_layout_is_refused_with_what_is_possible() {
    let shape = "a custom layout is written custom:TIME,NODE,SEQUENCE@EPOCH/TICK_MS, such as \
                 custom:41,10,12@2020-01-01/1";
    let bits = "1 to 63 bits of time, 0 to 32 of node id, 0 to 32 of sequence and at most 64 together are allowed";
    let names = LAYOUTS.map(|(name, _)| name).join(", ");
    let user = User::new();
    for (layout, said) in [
        (
            "twitter",
            &*format!("unknown layout: {names} are known; {shape}"),
        ),
        (
            "Snowflake",
            "unknown layout: write snowflake, in lower case",
        ),
        (
            "custom:41,10,12",
            &format!("epoch and tick are missing: {shape}"),
        ),
        (
            "custom:41,10@0/1",
            &format!("three numbers of bits are needed: {shape}"),
        ),
        (
            "custom:41,10,12@0",
            &format!("epoch and tick are missing: {shape}"),
        ),
        (
            "custom:41,x,12@0/1",
            &format!("'x' is not a number of bits: {shape}"),
        ),
        (
            "custom:41,10,14@0/1",
            &format!("41 + 10 + 14 bits are 65: {bits}"),
        ),
        (
            "custom:0,10,12@0/1",
            &format!("0 + 10 + 12 bits are 22: {bits}"),
        ),
        (
            "custom:20,10,33@0/1",
            &format!("20 + 10 + 33 bits are 63: {bits}"),
        ),
        (
            "custom:4294967295,4294967295,4294967295@0/1",
            &format!("4294967295 + 4294967295 + 4294967295 bits are 12884901885: {bits}"),
        ),
        (
            "custom:41,10,12@0/0",
            "the tick has no length: at least 1 ms is allowed",
        ),
        (
            "snowflake@yesterday",
            "'yesterday' is not an epoch: a date such as 2025-01-01 or Unix milliseconds are allowed",
        ),
        (
            "snowflake@1577836800",
            "'1577836800' looks like Unix seconds, and milliseconds are allowed: write 1577836800000 or \
             2020-01-01T00:00:00Z; if it is milliseconds, write 1970-01-19T06:17:16.800Z",
        ),
        (
            "sonyflake@2025-01-01/10ms",
            "'10ms' is not the length of a tick in milliseconds",
        ),
        (
            "custom:63,1,0@18446744073709551615/1000",
            "the last tick's time is over 64 bits of milliseconds",
        ),
        (
            "custom:41,a:0+b:10,12@0/1",
            "'a:0+b:10': NAME:BITS+NAME:BITS is allowed, with 1 to 32 bits each",
        ),
        (
            "custom:41,a:20+b:20,12@0/1",
            &format!("41 + 40 + 12 bits are 93: {bits}"),
        ),
    ] {
        for command in ["generate", "inspect", "lease init"] {
            let line = [words(command), vec!["--layout", layout]].concat();
            assert_eq!(
                user.run(&line).fails(2),
                format!("invalid value '{layout}' for '--layout <LAYOUT>': {said}")
            );
        }
    }
}
