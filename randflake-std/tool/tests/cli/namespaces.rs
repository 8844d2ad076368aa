//! `lease namespaces`, `lease drop`, and a namespace that is not there

use std::fs;

use crate::user::{User, objects, tells_of_a_quarantine};

/// All commands that only read.
const READS: [&[&str]; 5] = [
    &["lease", "list"],
    &["lease", "status"],
    &["lease", "namespaces"],
    &["lease", "release", "5"],
    &["lease", "drop", "default", "--yes"],
];

#[test]
fn what_reads_makes_nothing() {
    let user = User::without_store();
    for reads in READS {
        let answer = user.run(reads);
        assert!(answer.stderr.contains("leases.db"), "{reads:?}: {answer:?}");
        assert_eq!(fs::read_dir(user.path("")).unwrap().count(), 0, "{reads:?}");
    }
    let said = user.run(&["lease", "status"]).fails(1);
    assert!(
        said.starts_with("there is no namespace \"default\" in sqlite:/")
            && said.ends_with(
                "leases.db: the file is not there: is the path right? If it is new, the first `randflake generate` or \
                 `randflake lease acquire` makes it"
            ),
        "{said}"
    );
}

#[test]
fn a_missing_namespace_is_named_with_those_that_are_there() {
    let user = User::new();
    user.run_keyed(&["generate", "--namespace", "orders"]).ok();
    user.run(&["generate", "--layout", "snowflake"]).ok();
    for reads in [&["lease", "list"][..], &["lease", "status"]] {
        let said = user
            .run(&[reads, &["--namespace", "order"]].concat())
            .fails(1);
        assert!(
            said.ends_with("it has \"orders\", \"snowflake\"; choose one with --namespace"),
            "{said}"
        );
    }
    let rows = objects(&user.run(&["lease", "namespaces", "--json"]).ok());
    let names: Vec<_> = rows.iter().map(|row| row["namespace"].clone()).collect();
    assert_eq!(names, ["orders", "snowflake"]);
}

#[test]
fn the_layout_is_that_of_the_store() {
    let user = User::new();
    let custom = "custom:38,14,3@1577836800000/10";
    for (name, layout, described, total) in [
        ("plain", "snowflake", "plain snowflake", 1_024),
        (
            "hidden",
            "encrypted:snowflake",
            "encrypted snowflake",
            1_024,
        ),
        (
            "own",
            custom,
            "plain time 38 + node 14 + sequence 3 bits, ticks of 10 ms since 2020-01-01T00:00:00Z",
            16_384,
        ),
    ] {
        let generate = ["generate", "--layout", layout, "--namespace", name];
        user.run_keyed(&generate).ok();
        let status = ["lease", "status", "--json", "--namespace", name];
        let status = objects(&user.run(&status).ok());
        assert_eq!(status[0]["layout"], described);
        assert_eq!(status[0]["total"], total);
        let list = ["lease", "list", "--all", "--json", "--namespace", name];
        let list = objects(&user.run(&list).ok());
        assert_eq!(list.len(), 1, "{name}");
        // As a date of that layout.
        assert!(list[0]["start_utc"].as_str().unwrap().starts_with("20"));
    }
    let table = user.run(&["lease", "namespaces"]).ok();
    assert_eq!(table.lines().count(), 4, "{table}");
    assert!(
        table.contains("plain             0 of 1024        1m           plain snowflake\n"),
        "{table}"
    );
}

#[test]
fn a_namespace_with_live_leases_is_dropped_only_by_force() {
    let user = User::new();
    let mut endless = user.endless(&[]);
    endless.read(1);
    let drop = ["lease", "drop", "default"];
    let said = user.run(&[&drop[..], &["--yes"]].concat()).fails(1);
    assert!(
        said.contains("live leases of 64 node ids") && said.contains("add --force"),
        "{said}"
    );
    let said = user.run(&[&drop[..], &["--force"]].concat()).fails(2);
    assert!(said.contains("add --yes"), "{said}");
    let told = user.run(&[&drop[..], &["--force", "--yes"]].concat()).ok();
    assert!(told.contains("lease init --reopen"), "{told}");
    assert_eq!(user.run(&["lease", "namespaces", "--json"]).ok(), "");
    endless.kill();

    // Who comes back with it does not open it: a person does.
    for command in [&["generate"][..], &["lease", "init"]] {
        let said = user.run_keyed(command).fails(1);
        assert!(
            said.contains("was dropped") && said.contains("lease init --reopen"),
            "{said}"
        );
    }
    let told = user.run(&["lease", "init", "--reopen"]).ok();
    assert!(told.contains("was dropped, and opened again"), "{told}");
    // Another secret is allowed now, and waits for the leases of the first.
    let other = [("RANDFLAKE_KEY", "00000000000000000000000000000001")];
    let said = user.run_in(&other, &["generate"]).fails(3);
    assert!(
        said.contains("was dropped") && tells_of_a_quarantine(&said),
        "{said}"
    );
    let said = user.run(&["lease", "init"]).fails(1);
    assert!(
        said.contains("is not new") && said.contains("was dropped"),
        "{said}"
    );
    let status = objects(&user.run(&["lease", "status", "--json"]).ok());
    assert!(
        status[0]["quarantine"]
            .as_str()
            .unwrap()
            .contains("was dropped")
    );
}

#[test]
fn a_counter_outlives_its_namespace() {
    let user = User::new();
    user.run_keyed(&["generate"]).ok();
    user.begin_counter(&[]);
    assert_eq!(user.run(&["segment", "-n", "2"]).ok(), "1\n2\n");
    user.run(&["lease", "drop", "default", "--yes", "--force"])
        .ok();
    assert_eq!(user.run(&["segment"]).ok(), "3\n");
}

#[test]
fn another_secret_is_refused_and_both_are_told() {
    let user = User::new();
    user.run_keyed(&["generate"]).ok();
    let other = [("RANDFLAKE_KEY", "00000000000000000000000000000001")];
    for command in [&["generate"][..], &["lease", "acquire"]] {
        let said = user.run_in(&other, command).fails(1);
        assert!(
            said.starts_with(
                "the namespace has other terms: it is stored with the secret of check value "
            ) && said.contains(", and opened with the secret of check value ")
                && said.ends_with("use what is stored, or another namespace"),
            "{said}"
        );
    }
    let said = user.run_in(&other, &["generate", "--namespace", "other"]);
    said.ok();
}

#[test]
fn no_secret_is_made_where_several_machines_meet() {
    let user = User::new();
    let file = format!("static:{}?node=1", user.argument("node"));
    for url in ["redis://127.0.0.1:1", "postgres://x@127.0.0.1:1/x", &file] {
        let said = user.run(&["generate", "--store", url]).fails(1);
        for part in [
            "all machines that use ",
            "randflake keygen --out",
            "--key-file",
        ] {
            assert!(said.contains(part), "{url}: {said}");
        }
        assert!(!user.state("key").exists());
    }
    let encrypt = ["segment", "--encrypt", "--store", "redis://127.0.0.1:1"];
    assert!(user.run(&encrypt).fails(1).starts_with("no secret: "));
    // Plain ids need none.
    let plain = ["generate", "--layout", "snowflake", "--store", &file];
    assert!(!user.run(&plain).stderr.contains("secret"));
}

#[test]
fn a_namespace_that_cannot_be_read_does_not_hide_the_others() {
    let user = User::new();
    for name in ["apples", "pears", "plums"] {
        user.run_keyed(&["generate", "--shared-secret", "--namespace", name])
            .ok();
    }
    let store = rusqlite::Connection::open(user.state("leases.db")).unwrap();
    let damage = "UPDATE record SET value = 'rotten' WHERE namespace = 'pears' AND kind = 0";
    assert_eq!(store.execute(damage, []).unwrap(), 1);
    drop(store);
    for arguments in [
        &["lease", "namespaces"][..],
        &["lease", "namespaces", "--json"],
    ] {
        let answer = user.run(arguments);
        assert!(
            answer.stdout.contains("apples") && answer.stdout.contains("plums"),
            "{answer:?}"
        );
        assert!(!answer.stdout.contains("pears"), "{answer:?}");
        assert!(
            answer.stderr.contains("the namespace \"pears\""),
            "{answer:?}"
        );
        assert!(
            answer.stderr.contains("1 namespace cannot be read"),
            "{answer:?}"
        );
        assert_eq!(answer.status, Some(1));
    }
}

/// As after `lease upgrade` by a later program.
#[test]
fn a_namespace_of_a_later_version_is_left_as_it_is() {
    let user = User::new();
    user.run_keyed(&["generate"]).ok();
    let status = objects(&user.run(&["lease", "status", "--json"]).ok());
    assert_eq!(status[0]["version"], 1);
    let said = user.run(&["lease", "upgrade"]).ok();
    let nothing = "namespace \"default\" has version 1, the highest that this randflake knows: nothing to do\n";
    assert_eq!(said, nothing);
    let missing = user.run(&["lease", "upgrade", "--namespace", "plums"]);
    assert!(missing.fails(1).contains("no namespace \"plums\""));

    let store = rusqlite::Connection::open(user.state("leases.db")).unwrap();
    let raise = "UPDATE record SET value = '22:22:' || substr(value, 7) WHERE kind = 0";
    assert_eq!(store.execute(raise, []).unwrap(), 1);
    let texts = || {
        let all = "SELECT group_concat(value, '; ') FROM record ORDER BY kind, number";
        let texts: String = store.query_row(all, [], |row| row.get(0)).unwrap();
        texts
    };
    let before = texts();
    for arguments in [
        &["generate"][..],
        &["lease", "acquire"],
        &["lease", "list"],
        &["lease", "status"],
        &["lease", "init", "--yes", "--no-wait"],
        &["lease", "quarantine"],
        &["lease", "quarantine", "--end"],
        &["lease", "upgrade", "--force"],
        &["lease", "drop", "default", "--yes", "--force"],
    ] {
        let said = user.run_keyed(arguments).fails(1);
        let why = "a newer randflake made it (version 2; this one knows 1): update this one";
        assert!(said.contains(why), "{arguments:?}: {said}");
    }
    assert_eq!(texts(), before);
}
