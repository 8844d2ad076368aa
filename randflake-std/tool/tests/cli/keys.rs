//! Where the secret comes from, and where it does not go

use std::os::unix::net::UnixListener;
use std::process::Stdio;

use crate::user::User;

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
