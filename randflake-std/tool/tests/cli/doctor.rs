//! The command `randflake doctor`.

use std::fs;

use crate::user::{KEY, User, objects, tells_of_a_quarantine};

#[test]
fn a_fresh_home_is_well() {
    let user = User::without_store();
    let told = user.run(&["doctor"]).ok();
    assert!(
        told.contains("/randflake/leases.db, not made yet: the first generate makes it"),
        "{told}"
    );
    assert!(
        told.lines().all(|line| line.starts_with("ok       ")),
        "{told}"
    );
    // It makes nothing.
    assert_eq!(fs::read_dir(user.path("")).unwrap().count(), 0);

    user.run(&["lease", "init"]).in_new_store().ok();
    let told = user.run(&["doctor"]).ok();
    // The folder for temporary files may be in memory.
    let is_well = |line: &str| line.starts_with("ok       ") || line.starts_with("caution  volume");
    assert!(told.lines().all(is_well), "{told}");
    assert!(told.contains("/key, made by the first generate"), "{told}");
    for said in [
        "/randflake/leases.db",
        "\"default\": 131072 node ids",
        "acquired in ",
        "0 of 131072",
        "synchronous  2",
        "quarantine   none",
    ] {
        assert!(told.contains(said), "{said}: {told}");
    }
    assert!(!user.state("key").exists());
}

#[test]
fn it_says_where_the_secret_comes_from_and_never_what_it_is() {
    let user = User::new();
    user.run(&["generate"]);
    let secret = fs::read_to_string(user.state("key")).unwrap();
    let told = user.run(&["doctor"]).ok();
    assert!(told.contains("/randflake/key, mode 0600"), "{told}");
    assert!(!told.contains(secret.trim()));
    // The namespace is that of the other secret.
    let user = User::new();
    let told = user.run_keyed(&["doctor", "--json"]).ok();
    let findings = objects(&told);
    assert!(
        findings.iter().all(|finding| finding["ok"] == true),
        "{told}"
    );
    let secret = findings
        .iter()
        .find(|finding| finding["check"] == "secret")
        .unwrap();
    assert_eq!(secret["detail"], "RANDFLAKE_KEY");
    // Another machine may have it, too.
    let caution = secret["caution"].as_str().unwrap();
    assert!(caution.contains("on this machine alone"), "{caution}");
    let plain = user.run_keyed(&["doctor", "--json", "--layout", "snowflake"]);
    let findings = objects(&plain.ok());
    assert!(
        findings
            .iter()
            .all(|finding| finding["check"] != "secret" || finding["caution"].is_null())
    );
    assert!(!told.contains(KEY));
}

#[cfg(unix)]
/// Where several machines use the store, `generate` makes no secret.
#[test]
fn a_secret_that_nobody_makes_is_missed() {
    let user = User::new();
    let url = format!("static:{}?node=7", user.path("node").display());
    let doctor = ["doctor", "--store", &url];
    let answer = user.run(&doctor);
    let told = &answer.stdout;
    assert!(told.contains("problem  secret"), "{told}");
    assert!(told.contains("randflake keygen --out"), "{told}");
    assert_eq!(answer.fails(1), "1 problem");
    let told = user.run_keyed(&doctor).ok();
    assert!(told.contains("RANDFLAKE_KEY"), "{told}");
    // Plain ids need none.
    user.run(&[&doctor[..], &["--layout", "snowflake"]].concat())
        .ok();
}

#[test]
fn problems_are_told_and_counted() {
    use std::os::unix::fs::PermissionsExt;

    let user = User::new();
    user.run(&["generate"]);
    let set_mode = |name: &str, mode: u32| {
        fs::set_permissions(user.state(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    set_mode("", 0o777);
    let answer = user.run(&["doctor"]);
    for check in ["directory", "secret   ", "store    "] {
        let line = format!("problem  {check}");
        let line = answer.stdout.lines().find(|told| told.starts_with(&line));
        assert!(
            line.is_some_and(|line| line.contains("mode 0777")),
            "{}",
            answer.stdout
        );
    }
    assert_eq!(answer.fails(1), "3 problems");

    set_mode("", 0o700);
    set_mode("key", 0o644);
    fs::remove_file(user.state("leases.db")).unwrap();
    let answer = user.run(&["doctor"]);
    let problems: Vec<_> = answer
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("problem  "))
        .collect();
    let [secret] = problems[..] else {
        panic!("{}", answer.stdout);
    };
    assert!(secret.contains("mode 0644"), "{problems:?}");
    assert_eq!(answer.fails(1), "1 problem");

    set_mode("key", 0o600);
    let init = user.run(&["lease", "init", "--yes", "--no-wait"]);
    init.in_new_store().ok();
    user.run(&["lease", "quarantine"]).ok();
    let answer = user.run(&["doctor"]);
    let wait = answer.stdout.lines();
    let mut wait = wait.filter(|line| line.starts_with("caution  quarantine"));
    assert!(wait.any(tells_of_a_quarantine), "{}", answer.stdout);
    let lease = answer.stdout.lines();
    let mut lease = lease.filter(|line| line.starts_with("problem  lease"));
    assert!(lease.any(tells_of_a_quarantine), "{}", answer.stdout);
    assert_eq!(answer.fails(1), "1 problem");

    let said = user.run_keyed(&["doctor", "--store", "nowhere"]);
    assert!(said.stdout.contains("problem  store"), "{}", said.stdout);
    assert_eq!(said.fails(1), "1 problem");
}
