//! `lease namespaces`, `lease drop`, and a namespace that is not there

use crate::user::{User, objects, tells_of_a_quarantine};

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
