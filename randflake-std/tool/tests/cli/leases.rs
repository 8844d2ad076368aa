//! `lease list`, `lease status` and `lease release`

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::user::{Answer, KEY, User, objects, tells_of_a_quarantine};

#[test]
fn without_leases_all_say_so() {
    let user = User::new();
    user.run(&["lease", "init"]).ok();
    assert_eq!(user.run(&["lease", "list", "--json"]).ok(), "");
    let list = user.run(&["lease", "list"]);
    assert_eq!(
        (list.stdout.as_str(), list.stderr.as_str()),
        ("", "randflake: no leases\n")
    );
    let status = objects(&user.run(&["lease", "status", "--json"]).ok());
    assert_eq!(
        (&status[0]["live"], &status[0]["total"]),
        (&0.into(), &131_072.into())
    );
    assert!(status[0]["soonest_end_unix_ms"].is_null());
    assert_eq!(
        user.run(&["lease", "release", "5", "6"]).ok(),
        "node id 5 is free\nnode id 6 is free\n"
    );
    assert_eq!(
        user.run(&["lease", "release", "131072"]).fails(2),
        "invalid value '131072' for '<NODE>...': 0 to 131071 are allowed"
    );
}

#[test]
fn leases_are_listed_and_counted() {
    let user = User::new();
    let mut endless = user.endless(&["--node-ids", "3"]);
    endless.read(1);
    let leases = objects(&user.run(&["lease", "list", "--json"]).ok());
    assert_eq!(leases.len(), 3);
    assert!(leases.is_sorted_by_key(|lease| lease["node"].as_u64()));
    for lease in &leases {
        assert_eq!(lease["live"], true);
        let holder = lease["holder"].as_str().unwrap();
        assert!(
            holder.contains(&format!("/{}/", endless.process_id())),
            "{holder}"
        );
        let number = |name: &str| lease[name].as_u64().unwrap();
        assert_eq!(number("end_unix_ms") - number("start_unix_ms"), 60_000);
        assert!(
            (30_000..=60_000).contains(&number("remaining_ms")),
            "{lease}"
        );
    }
    let table = user.run(&["lease", "list"]).ok();
    assert_eq!(table.lines().count(), 4);
    let begin = format!(
        "NODE    STARTS                ENDS                  IN       HOLDER\n{:<8}20",
        leases[0]["node"].as_u64().unwrap()
    );
    assert!(table.starts_with(&begin), "{table}");
    let status = objects(&user.run(&["lease", "status", "--json"]).ok());
    assert_eq!(
        (&status[0]["namespace"], &status[0]["live"]),
        (&"default".into(), &3.into())
    );
    assert_eq!(status[0]["soonest_end_unix_ms"], leases[0]["end_unix_ms"]);
    let told = user.run(&["lease", "status"]).ok();
    assert!(
        told.contains("live leases   3 of 131072 node ids\n"),
        "{told}"
    );
    endless.stop_reading().ok();
}

#[test]
fn a_range_of_node_ids_begins_with_the_smallest_number() {
    let user = User::new();
    let mut endless = user.endless(&["--node-ids", "2..=100000"]);
    endless.read(1);
    assert!((2..100).contains(&nodes(&user).len()));
    endless.stop_reading().ok();
}

#[test]
fn a_lease_is_released_by_hand_only_when_its_holder_is_gone() {
    let user = User::new();
    let mut endless = user.endless(&["--node-ids", "2"]);
    endless.read(1);
    let [first, second] = &nodes(&user)[..] else {
        panic!("two node ids are leased");
    };
    let release = ["lease", "release", second];
    for force in [&[][..], &["--force"]] {
        let said = user.run(&[&release, force].concat()).fails(1);
        let begin = format!("node id {second} is leased by ");
        assert!(said.starts_with(&begin), "{said}");
        assert!(
            said.contains("a running process of this machine, and is not released"),
            "{said}"
        );
    }
    endless.kill();

    let said = user.run(&release).fails(1);
    assert!(
        said.contains("free by itself in ") && said.ends_with("if so, add --force"),
        "{said}"
    );
    assert_eq!(nodes(&user).len(), 2);
    let told = user.run(&["lease", "release", second, first, "--force"]);
    let told = told.ok();
    assert_eq!(told.matches("is free in ").count(), 2, "{told}");
    for lease in objects(&user.run(&["lease", "list", "--json"]).ok()) {
        // The second that it issued in, and what the largest tolerance allows.
        assert!(lease["remaining_ms"].as_u64().unwrap() <= 6_000, "{lease}");
    }
}

/// The tool as process 1 of a container with the host name `app`.
#[cfg(target_os = "linux")]
fn in_container(user: &User, line: &str) -> Command {
    let tool = user.command(&[] as &[&str]);
    let mut container = Command::new("unshare");
    container
        .args("--pid --uts --fork --mount-proc --kill-child=KILL sh -c".split(' '))
        .arg(format!("hostname app && exec \"$0\" {line}"))
        .arg(tool.get_program())
        .current_dir(user.path(""))
        .env("RANDFLAKE_KEY", KEY)
        .stdin(Stdio::null());
    for (name, value) in tool.get_envs() {
        match value {
            Some(value) => container.env(name, value),
            None => container.env_remove(name),
        };
    }
    container.env("RANDFLAKE_KEY", KEY);
    container
}

/// Each container has a process 1, and often the host name of the one before.
#[cfg(target_os = "linux")]
#[test]
fn a_dead_holder_of_the_same_name_and_number_is_released() {
    let user = User::new();
    if !Command::new("unshare")
        .args(["--pid", "--uts", "--fork", "--mount-proc", "true"])
        .output()
        .is_ok_and(|output| output.status.success())
    {
        // Without root there are no containers.
        return;
    }
    let mut holder = in_container(&user, "generate -n 1000000000 --node-ids 1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    let mut ids = BufReader::new(holder.stdout.take().unwrap());
    ids.read_line(&mut first).unwrap();
    let [node] = &nodes(&user)[..] else {
        panic!("one node id is leased");
    };
    let release = format!("lease release {node}");
    let other = |line: &str| Answer::of(in_container(&user, line).output().unwrap());
    // It runs, which another container cannot see.
    let said = other(&release).fails(1);
    assert!(
        said.contains("(which may be running: nothing is known here")
            && said.ends_with("add --force"),
        "{said}"
    );
    holder.kill().unwrap();
    holder.wait().unwrap();
    other(&release).fails(1);
    let told = other(&format!("{release} --force")).ok();
    assert!(told.contains("is free in "), "{told}");
}

/// The node ids that are leased, in their order.
fn nodes(user: &User) -> Vec<String> {
    let leases = objects(&user.run(&["lease", "list", "--json"]).ok());
    let nodes = leases.iter().map(|lease| lease["node"].to_string());
    nodes.collect()
}

#[test]
fn all_are_released_or_none() {
    let user = User::new();
    let mut gone = user.endless(&["--node-ids", "1"]);
    gone.read(1);
    gone.kill();
    let mut running = user.endless(&["--node-ids", "1"]);
    running.read(1);
    let [first, second] = &nodes(&user)[..] else {
        panic!("two node ids are leased");
    };
    user.run(&["lease", "release", first, second, "--force"])
        .fails(1);
    let leases = objects(&user.run(&["lease", "list", "--json"]).ok());
    assert!(
        leases
            .iter()
            .all(|lease| lease["remaining_ms"].as_u64().unwrap() > 6_000),
        "{leases:?}"
    );
    running.stop_reading().ok();
}

#[test]
fn a_quarantine_holds_new_leases_off() {
    let user = User::new();
    let mut endless = user.endless(&["--node-ids", "1"]);
    endless.read(1);
    let told = user.run(&["lease", "quarantine"]).ok();
    assert!(tells_of_a_quarantine(&told), "{told}");
    let said = user.run_keyed(&["generate"]).fails(3);
    assert!(tells_of_a_quarantine(&said), "{said}");
    // What is leased already goes on.
    endless.read(200_000);
    endless.stop_reading().ok();
}

#[test]
fn an_assigned_node_id_comes_from_the_url_or_the_environment() {
    let user = User::new();
    let store = |name, node| format!("static:{}?node={node}", user.argument(name));
    for (name, node, variables, assigned) in [
        ("given", "5", [("UNUSED", "")], "5"),
        (
            "variable",
            "env",
            [("RANDFLAKE_NODE_ID", "131071")],
            "131071",
        ),
        ("pod", "pod", [("POD_NAME", "web-3")], "3"),
        ("pods", "pod", [("POD_NAME", "my-app-b-17")], "17"),
    ] {
        let init = ["lease", "init", "--yes", "--store", &store(name, node)];
        user.run_in(&variables, &init).ok();
        let known = [&variables[..], &[("RANDFLAKE_KEY", KEY)]].concat();
        let told = user.run_in(&known, &["doctor", "--store", &store(name, node)]);
        let told = told.ok().split_whitespace().collect::<Vec<_>>().join(" ");
        let caution = format!("caution assignment {assigned}: ");
        for said in [&*caution, "ok lease acquired in "] {
            assert!(told.contains(said), "{told}");
        }
        let list = ["lease", "list", "--all", "--json", "--store"];
        let leases = user.run(&[&list[..], &[&store(name, assigned)]].concat());
        assert_eq!(objects(&leases.ok())[0]["node"].to_string(), assigned);
    }
    for (url, said) in [
        (store("given", "131072"), "0 to 131071 are allowed"),
        (store("given", "seven"), "a decimal number, `env` or `pod`"),
        ("static:node".to_owned(), "take static:PATH?node=N"),
    ] {
        let error = user.run(&["lease", "init", "--store", &url]).fails(2);
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_pods_file_is_of_one_pod_and_of_one_process_at_a_time() {
    let user = User::new();
    let store = format!("static:{}?node=pod", user.argument("node"));
    let run = |pod, arguments: &[&str]| {
        let variables = [("POD_NAME", pod), ("RANDFLAKE_KEY", KEY)];
        let store = ["--store", &store, "--max-ttl", "3s"];
        user.run_in(&variables, &[arguments, &store].concat())
    };
    let generate = ["generate", "--ttl", "3s"];
    let said = run("web-3", &generate).fails(3);
    assert!(
        said.contains("wait 23s, or run `randflake lease init`"),
        "{said}"
    );
    run("web-3", &["lease", "init", "--yes"]).ok();

    let given = format!("static:{}?node=3", user.argument("node"));
    let mut endless = user.endless(&["--store", &given, "--max-ttl", "3s", "--ttl", "3s"]);
    endless.read(1);
    let said = run("web-3", &generate).fails(1);
    assert!(
        said.contains("another process holds this node id"),
        "{said}"
    );
    endless.kill();
    let said = run("web-4", &generate).fails(1);
    assert!(
        said.contains("the file of node id 3, and this process has node id 4"),
        "{said}"
    );
    let said = run("web-3", &generate).fails(3);
    assert!(said.contains("try again in "), "{said}");
    let waited = run("web-3", &[&generate[..], &["--wait", "1m"]].concat());
    assert_eq!(waited.status, Some(0), "{waited:?}");
}

#[test]
fn what_names_no_node_id_is_refused() {
    let user = User::new();
    let refused = |node: &str, variables: &[(&str, &str)], said: &str| {
        let store = format!("static:{}?node={node}", user.argument("node"));
        let error = user.run_in(variables, &["lease", "init", "--store", &store]);
        let error = error.fails(2);
        assert!(error.contains(said), "{variables:?}: {error}");
    };
    for pod in [
        "web",
        "web-",
        "web-01",
        "web-7d9f8-x2b4c",
        "",
        "-",
        "web-+1",
        "web--1x",
        "web-4294967296",
    ] {
        refused("pod", &[("POD_NAME", pod)], "StatefulSet");
    }
    refused("env", &[], "RANDFLAKE_NODE_ID is not set");
    for number in ["", " 7", "-1", "07", "0x7"] {
        let variable = [("RANDFLAKE_NODE_ID", number)];
        refused(
            "env",
            &variable,
            "RANDFLAKE_NODE_ID is not a decimal number",
        );
    }
    let variable = [("RANDFLAKE_NODE_ID", "131072")];
    refused("env", &variable, "0 to 131071 are allowed");
}

#[test]
fn a_node_id_can_be_chosen() {
    let user = User::new();
    let chosen = ["--node-id", "4711"];
    let mut endless = user.endless(&chosen);
    let id = endless.read(1).remove(0);
    let inspected = objects(&user.run_keyed(&["inspect", "--json", &id]).ok());
    assert_eq!(inspected[0]["node"], 4_711);

    let second = user.run_keyed(&["generate", "--node-id", "4711"]);
    assert!(second.fails(3).contains("too few node ids are free"));
    let other = user.run_keyed(&["generate", "--node-id", "4712", "-n", "200000"]);
    assert_eq!(other.ok().lines().count(), 200_000);
    let leases = objects(&user.run(&["lease", "list", "--json"]).ok());
    assert!(leases.iter().any(|lease| lease["node"] == 4_711));
    // Nor does anybody get it who takes any that is free.
    let free = user.run_keyed(&[
        "generate",
        "-n",
        "200",
        "--node-ids",
        "200",
        "--format",
        "json",
    ]);
    assert!(objects(&free.ok()).iter().all(|id| id["node"] != 4_711));
    endless.kill();

    let refused = user.run_keyed(&["generate", "--node-id", "131072"]);
    let told = refused.fails(2);
    assert!(
        told.contains("--node-id <N>") && told.contains("131071"),
        "{told}"
    );
    let refused = user.run_keyed(&["generate", "--node-id", "1", "--node-ids", "2"]);
    assert_eq!(refused.status, Some(2), "{refused:?}");
}

/// A URL with a password does not have to be an argument, which every user of the machine can list.
#[test]
fn the_url_of_the_store_is_read_from_a_file() {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    let user = User::without_store();
    let file = user.path("store");
    let file = file.to_str().unwrap();
    let place = user.path("other.db");
    fs::write(file, format!("\nsqlite:{}\n", place.display())).unwrap();
    fs::set_permissions(file, Permissions::from_mode(0o600)).unwrap();
    user.run_keyed(&["generate", "--store-file", file])
        .in_new_store()
        .ok();
    assert!(place.exists() && !user.state("leases.db").exists());
    let listed = user.run_in(
        &[("RANDFLAKE_STORE_FILE", file)],
        &["lease", "list", "--all"],
    );
    listed.ok();
    let both = [
        "lease",
        "list",
        "--store-file",
        file,
        "--store",
        "sqlite:x.db",
    ];
    let told = user.run_keyed(&both).fails(2);
    assert!(told.contains("cannot be used with"), "{told}");
    let variable = [("RANDFLAKE_STORE", "sqlite:x.db")];
    let told = user
        .run_in(&variable, &["lease", "list", "--store-file", file])
        .fails(2);
    let tip = "; tip: --store is given by the variable RANDFLAKE_STORE";
    assert!(told.ends_with(tip), "{told}");

    fs::set_permissions(file, Permissions::from_mode(0o644)).unwrap();
    let told = user
        .run_keyed(&["lease", "list", "--store-file", file])
        .fails(1);
    assert!(
        told.starts_with("--store-file: ") && told.contains("0600"),
        "{told}"
    );
    fs::set_permissions(file, Permissions::from_mode(0o600)).unwrap();
    fs::write(file, "redis://a\nredis://b\n").unwrap();
    let told = user
        .run_keyed(&["lease", "list", "--store-file", file])
        .fails(1);
    assert!(told.contains("it must have one line"), "{told}");
}

/// Without the file, the first process that leases would decide.
#[test]
fn a_new_namespace_has_the_secret_that_it_was_declared_with() {
    let user = User::new();
    let (key, other) = (user.argument("orders.key"), user.argument("other.key"));
    for path in [&key, &other] {
        user.run(&["keygen", "--out", path]).ok();
    }
    let init = ["lease", "init", "--yes", "--namespace", "orders"];
    let with = |path| user.run(&[&init[..], &["--key-file", path]].concat());
    let said = with("missing.key").fails(1);
    assert!(said.contains("missing.key"), "{said}");
    with(&key).ok();
    let generate = |path| user.run(&["generate", "--namespace", "orders", "--key-file", path]);
    let said = generate(&other).fails(1);
    assert!(said.contains("the namespace has other terms"), "{said}");
    generate(&key).ok();
    // Nor is it changed by declaring the namespace once more.
    let said = with(&other).fails(1);
    assert!(said.contains("the namespace has other terms"), "{said}");
    with(&key).ok();
}
