//! Mounts and networks that only this program sees, and that are gone with it, however it ends.

use std::process::Command;
use std::{env, io};

use super::program;

/// Variable with the path of `ip`.
const IP: &str = "RANDFLAKE_IP";

/// Gives this process mounts and a network of its own, with nothing but a loopback interface, and a
/// folder for temporary files in memory, where to sync takes no time. It must have one thread.
pub fn isolate() {
    let own = unshare(libc::CLONE_NEWNS | libc::CLONE_NEWNET);
    own.unwrap_or_else(|error| panic!("mounts and a network of its own need root: {error}"));
    succeeds(Command::new("mount").args(["--make-rprivate", "/"]));
    // Where `ip netns` keeps its names too.
    succeeds(Command::new("mount").args(["-t", "tmpfs", "tmpfs", "/run"]));
    set_temporary_folder("/run");
    ip("link set lo up");
}

/// What `ip` is told, in words without quotes.
pub fn ip(words: &str) {
    succeeds(Command::new(program(IP)).args(words.split(' ')));
}

fn succeeds(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
}

#[expect(unsafe_code, reason = "other threads may read the environment")]
fn set_temporary_folder(path: &str) {
    // SAFETY: the process has one thread.
    unsafe { env::set_var("TMPDIR", path) };
}

#[expect(unsafe_code, reason = "this is a system call")]
fn unshare(what: libc::c_int) -> io::Result<()> {
    // SAFETY: the call takes a number alone.
    if unsafe { libc::unshare(what) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
