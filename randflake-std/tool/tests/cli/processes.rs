//! Processes that hold leases at once, are killed, or crash

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};

use crate::user::{Answer, KEY, User, objects, tells_of_a_quarantine};

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
fn a_range_of_node_ids_begins_with_the_smallest() {
    let user = User::new();
    let mut endless = user.endless(&["--node-ids", "2..=100000"]);
    endless.read(1);
    assert!((2..100).contains(&nodes(&user).len()));
    endless.stop_reading().ok();
}

#[test]
fn a_lease_is_released_only_when_its_holder_is_gone() {
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
fn a_dead_holder_of_equal_name_and_pid_is_released() {
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
fn a_pods_file_is_of_one_pod_and_one_process() {
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

#[track_caller]
fn assert_distinct<'a>(ids: impl IntoIterator<Item = &'a str>, count: usize) {
    let ids: Vec<_> = ids.into_iter().collect();
    assert_eq!(ids.len(), count);
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), count);
}

#[test]
fn killed_runs_repeat_nothing() {
    let user = User::new();
    let mut ids = Vec::new();
    for _ in 0..5 {
        let mut endless = user.endless(&["--node-ids", "1"]);
        ids.extend(endless.read(1_000));
        endless.kill();
    }
    let last = user.run_keyed(&["generate", "-n", "1000"]).ok();
    assert_distinct(ids.iter().map(String::as_str).chain(last.lines()), 6_000);
}

#[test]
fn runs_at_once_and_killed_ones_repeat_nothing() {
    let user = User::new();
    user.begin_counter(&[]);
    let start = |count: &str| {
        let mut command = user.command(&["segment", "-n", count]);
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let mut numbers = Vec::new();
    for _ in 0..3 {
        let whole = [(); 3].map(|()| start("1000"));
        let mut killed = start("1000000000");
        let lines = BufReader::new(killed.stdout.take().unwrap()).lines();
        numbers.extend(lines.take(70_000).map(Result::unwrap));
        killed.kill().unwrap();
        killed.wait().unwrap();
        for child in whole {
            let printed = Answer::of(child.wait_with_output().unwrap()).ok();
            numbers.extend(printed.lines().map(str::to_owned));
        }
    }
    assert_eq!(numbers.len(), 3 * 73_000);
    assert_eq!(numbers.iter().collect::<HashSet<_>>().len(), 3 * 73_000);
}

/// As the transcripts show of other files that are none.
#[test]
fn a_socket_is_no_secret() {
    let user = User::new();
    let _socket = UnixListener::bind(user.path("socket")).unwrap();
    let said = user.run(&["generate", "--key-file", "socket"]).fails(1);
    assert_eq!(
        said,
        "secret file: socket is not a regular file, but a directory, a named pipe, a socket or a device: give the \
         path of a file"
    );
}

/// A core dump holds the secret, as `/proc/PID/environ` and `/proc/PID/mem` do: the kernel gives out all of them
/// or none.
#[cfg(target_os = "linux")]
#[test]
fn a_crash_leaves_no_core_dump() {
    use std::io::Read;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};

    let Rlimit { maximum, .. } = getrlimit(Resource::Core);
    let highest = Rlimit {
        current: maximum,
        maximum,
    };
    setrlimit(Resource::Core, highest).unwrap();
    let user = User::new();
    let dumps_core = |mut command: Command| {
        command.current_dir(user.path("")).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // It is at work, and writes for ever.
        let mut first = [0];
        let output = child.stdout.as_mut().unwrap();
        output.read_exact(&mut first).unwrap();
        kill_process(Pid::from_child(&child), Signal::ABORT).unwrap();
        child.wait().unwrap().core_dumped()
    };
    assert!(
        dumps_core(Command::new("yes")),
        "no program dumps core here"
    );
    let tool = user.command(&["generate", "-n", "1000000000"]);
    assert!(!dumps_core(tool));
}
