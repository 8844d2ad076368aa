//! Somebody who runs the tool, and what it answers.

use std::ffi::OsStr;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use tempfile::TempDir;

use crate::aged_store;

pub(crate) const KEY: &str = "dffd6021bb2bd5b0af676290809ec3a5";

/// Unix time in seconds.
pub(crate) fn now_s() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap().as_secs()
}

/// The year, but for some hours at its beginning or end.
pub(crate) fn year() -> u64 {
    1970 + now_s() / 31_556_952
}

/// A user with a home of its own.
pub(crate) struct User {
    home: TempDir,
}

impl User {
    /// Whose home has the default store, and nothing else.
    pub(crate) fn new() -> Self {
        let user = Self::without_store();
        aged_store::in_state(&user.path("state"));
        user
    }

    /// Whose home is empty.
    pub(crate) fn without_store() -> Self {
        Self {
            home: TempDir::new().unwrap(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// A path as an argument.
    pub(crate) fn argument(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Writes a secret that only its owner may read.
    pub(crate) fn write_key(&self, name: &str, key: &str) {
        let path = self.path(name);
        std::fs::write(&path, key).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let private = std::fs::Permissions::from_mode(0o600);
            std::fs::set_permissions(path, private).unwrap();
        }
    }

    /// A file in the default state directory.
    pub(crate) fn state(&self, name: &str) -> PathBuf {
        self.path("state/randflake").join(name)
    }

    pub(crate) fn command(&self, arguments: &[impl AsRef<OsStr>]) -> Command {
        let mut command = self.in_home(env!("CARGO_BIN_EXE_randflake"));
        command.args(arguments);
        command
    }

    /// A program that finds nothing but this home.
    pub(crate) fn in_home(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env("HOME", self.home.path())
            .env("XDG_STATE_HOME", self.path("state"))
            .env_remove("CLICOLOR")
            .env_remove("CLICOLOR_FORCE")
            .env_remove("CREDENTIALS_DIRECTORY")
            .env_remove("NO_COLOR")
            .env_remove("RANDFLAKE_KEY")
            .env_remove("RANDFLAKE_KEYS")
            .env_remove("RANDFLAKE_MAX_TTL")
            .env_remove("RANDFLAKE_STORE")
            .env_remove("RANDFLAKE_STORE_FILE")
            .env_remove("RANDFLAKE_NAMESPACE")
            .current_dir(self.home.path())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[impl AsRef<OsStr>]) -> Answer {
        Answer::of(self.command(arguments).output().unwrap())
    }

    /// Begins a new counter, which no process has numbers of.
    pub(crate) fn begin_counter(&self, options: &[&str]) {
        let init = ["segment", "init", "--no-wait"];
        let answer = self.run(&[&init[..], options].concat());
        assert_eq!(
            (answer.status, &*answer.stdout),
            (Some(0), "the counter begins at 1\n"),
            "{answer:?}"
        );
    }

    /// Runs it with the key of the published example.
    pub(crate) fn run_keyed(&self, arguments: &[impl AsRef<OsStr>]) -> Answer {
        self.run_in(&[("RANDFLAKE_KEY", KEY)], arguments)
    }

    /// Runs it with more in the environment.
    pub(crate) fn run_in(
        &self,
        variables: &[(&str, &str)],
        arguments: &[impl AsRef<OsStr>],
    ) -> Answer {
        let mut command = self.command(arguments);
        Answer::of(command.envs(variables.iter().copied()).output().unwrap())
    }

    /// Starts it with the key, to be written to and read from.
    pub(crate) fn start(&self, arguments: &[impl AsRef<OsStr>]) -> Child {
        let mut command = self.command(arguments);
        command
            .env("RANDFLAKE_KEY", KEY)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Runs it with the key and an input.
    pub(crate) fn run_on(&self, input: &[u8], arguments: &[impl AsRef<OsStr>]) -> Answer {
        let mut child = self.start(arguments);
        let mut stdin = child.stdin.take().unwrap();
        std::thread::scope(|scope| {
            // It may end before it has read all.
            scope.spawn(move || drop(stdin.write_all(input)));
            Answer::of(child.wait_with_output().unwrap())
        })
    }
}

/// What a run gave.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Answer {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            status: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// What it printed; it succeeded and said nothing else, but where the leases of a given secret
    /// are.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(
            (self.status, self.said().as_str()),
            (Some(0), ""),
            "{}",
            self.stdout
        );
        self.stdout
    }

    /// What it said, but for where the leases of a given secret are.
    pub(crate) fn said(&self) -> String {
        let lines = self.stderr.split_inclusive('\n');
        lines
            .filter(|line| !is_note_of_local_leases(line))
            .collect()
    }

    /// What it said in its one line; it failed with this status.
    #[track_caller]
    pub(crate) fn fails(self, status: i32) -> String {
        assert_eq!(self.status, Some(status), "{self:?}");
        let said = self.said();
        let line = said.strip_suffix('\n').unwrap();
        assert!(!line.contains('\n'), "more than one line: {line}");
        line.strip_prefix("randflake: ").unwrap().to_owned()
    }
}

/// Whether a line says that the leases of a given secret are this machine's alone.
pub(crate) fn is_note_of_local_leases(line: &str) -> bool {
    line.starts_with("randflake: note: the leases of this secret are on this machine alone")
}

/// The words of a line.
pub(crate) fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

/// The objects of lines of JSON.
#[track_caller]
pub(crate) fn objects(lines: &str) -> Vec<serde_json::Value> {
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
