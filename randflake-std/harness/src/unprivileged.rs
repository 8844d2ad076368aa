//! Programs that refuse to be run by root, as another user then.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::clock::WallClock;

/// An account without rights, of which nothing else is needed.
const ACCOUNTS: [&str; 2] = ["postgres", "nobody"];

pub struct Unprivileged {
    pub uid: u32,
    pub gid: u32,
}

impl Unprivileged {
    /// Whom to run as, if this is root.
    pub fn needed() -> Option<Self> {
        if !is_root() {
            return None;
        }
        let accounts = fs::read_to_string("/etc/passwd").unwrap();
        Some(
            ACCOUNTS
                .into_iter()
                .find_map(|name| accounts.lines().find_map(|line| Self::of_line(line, name)))
                .unwrap(),
        )
    }

    fn of_line(line: &str, name: &str) -> Option<Self> {
        let fields: Vec<_> = line.split(':').collect();
        let [found, _, uid, gid, ..] = fields[..] else {
            return None;
        };
        (found == name).then_some(())?;
        let (uid, gid) = (uid.parse().ok()?, gid.parse().ok()?);
        Some(Self { uid, gid })
    }

    /// The command of a program; it ends with its parent all the same.
    pub fn command(program: &Path) -> Command {
        let Some(Self { uid, gid }) = Self::needed() else {
            return Command::new(program);
        };
        let mut command = Command::new("setpriv");
        command
            .args([format!("--reuid={uid}"), format!("--regid={gid}")])
            .args(["--clear-groups", "--pdeathsig=keep"])
            .arg(program);
        command
    }

    /// The command of a program that goes by a clock; only once it is another user's, because what
    /// libfaketime makes for root that user cannot open.
    pub fn command_by(clock: &WallClock, program: &Path) -> Command {
        let mut told = Command::new(program);
        clock.give_to(&mut told);
        let mut command = Self::command(Path::new("env"));
        for (name, value) in told.get_envs() {
            let mut setting = name.to_owned();
            setting.push("=");
            setting.push(value.unwrap_or_default());
            command.arg(setting);
        }
        command.arg(program);
        command
    }
}

#[expect(unsafe_code, reason = "asking who one is is a system call")]
fn is_root() -> bool {
    // SAFETY: the call always succeeds, and touches no memory.
    unsafe { libc::geteuid() == 0 }
}
