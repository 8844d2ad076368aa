//! Processes in containers, and one that crashes

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::user::{Answer, KEY, User, objects};

/// The tool as process 1 of a container with the host name `app`.
fn in_container(user: &User, line: &str) -> Command {
    let tool = user.command(&[] as &[&str]);
    let mut container = Command::new("unshare");
    container
        .args("--pid --uts --fork --mount-proc --kill-child=KILL sh -c".split(' '))
        .arg(format!("hostname app && exec \"$0\" {line}"))
        .arg(tool.get_program())
        .current_dir(user.path(""))
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
    let leases = objects(&user.run(&["lease", "list", "--json"]).ok());
    let release = format!("lease release {}", leases[0]["node"]);
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

/// A core dump holds the secret, as `/proc/PID/environ` and `/proc/PID/mem` do: the kernel gives
/// out all of them or none.
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
