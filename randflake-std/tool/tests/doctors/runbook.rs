//! The commands of `docs/runbook.md` in their order, on a PostgreSQL server that fails under them.
//! Only the wait for holders from before is left out, half a minute.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Child, Command, Stdio};

use harness::postgres::PostgresServer;

use crate::user::User;

const RUNBOOK: &str = include_str!("../../../../docs/runbook.md");
/// As the runbook writes the store.
const STORE: &str = "postgres://ids_owner:change-me@db.internal/ids";

/// The commands below a heading.
fn commands(heading: &str) -> Vec<&'static str> {
    let (_, section) = RUNBOOK.split_once(&format!("{heading}\n")).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let commands = section.lines().filter_map(|line| line.strip_prefix("$ "));
    commands.collect()
}

struct OnCall {
    user: User,
    database: PostgresServer,
}

impl OnCall {
    fn new() -> Self {
        let (user, database) = (User::new(), PostgresServer::start());
        let programs = user.path("bin");
        fs::create_dir(&programs).unwrap();
        symlink(env!("CARGO_BIN_EXE_randflake"), programs.join("randflake")).unwrap();
        Self { user, database }
    }

    /// Starts lines in a shell.
    fn start(&self, lines: &[&str]) -> Child {
        // The first line says where the store is.
        let lines = [&commands("# Runbook")[..1], lines]
            .concat()
            .join("\n")
            .replace(STORE, &self.database.url("postgres"))
            .replace("lease init --yes", "lease init --yes --no-wait");
        let path = std::env::var("PATH").unwrap();
        let mut shell = Command::new("bash");
        // The environment of the tool's other tests.
        for (name, value) in self.user.command(&[""; 0]).get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        shell
            .args(["-euo", "pipefail", "-c"])
            .arg(lines)
            .env(
                "PATH",
                format!("{}:{path}", self.user.path("bin").display()),
            )
            .current_dir(self.user.path(""))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        shell.spawn().unwrap()
    }

    /// Runs lines, and returns what they print.
    fn run(&self, lines: &[&str]) -> String {
        end(self.start(lines))
    }
}

/// What a shell printed whose lines all succeeded.
fn end(shell: Child) -> String {
    let output = shell.wait_with_output().unwrap();
    let complained = String::from_utf8_lossy(&output.stderr);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}\n{complained}");
    said
}

#[test]
fn every_command_of_the_runbook_has_its_effect() {
    let mut desk = OnCall::new();
    desk.run(&[
        "randflake keygen --out orders.key",
        "randflake lease init --yes --key-file orders.key",
        "randflake lease init --yes --namespace users",
        "mkdir -m 700 keys && randflake keygen --out keys/1.key",
        "randflake uuid generate --keys keys --namespace users > uuids",
        "randflake segment init --no-wait",
        "randflake token new --name all --scopes admin --namespaces '*' --file tokens",
        "randflake token new --name billing --scopes ids --namespaces orders --file tokens",
    ]);
    let said = desk.run(&commands("# Runbook"));
    assert!(
        said.contains("orders") && said.contains("0 of 131072"),
        "{said}"
    );

    desk.database.server.kill();
    let generate = desk.start(&commands("## The database is down"));
    desk.database.server.restart();
    assert_eq!(end(generate).lines().count(), 1);

    let read = |file: &str| fs::read_to_string(desk.user.path(file)).unwrap();
    let before = read("tokens");
    desk.run(&commands("## A token leaked"));
    let after = read("tokens");
    let lines_of = |text: &str| text.matches("name=billing").count();
    assert_eq!((lines_of(&before), lines_of(&after)), (1, 1), "{after}");
    let leaked = before.lines().find(|line| line.contains("billing"));
    assert!(!after.contains(leaked.unwrap()), "{after}");

    let said = desk.run(&commands("## A key leaked"));
    assert!(said.contains("goes on to key number 2"), "{said}");
    let check = "randflake uuid inspect --keys keys --namespace users < uuids && exit 1 || true";
    desk.run(&[check]);

    let said = desk.run(&commands("## A backup was restored"));
    assert!(said.contains("nothing is granted for 1m"), "{said}");
    assert_eq!(desk.run(&["randflake segment"]), "2000000\n");
    let generate = "randflake generate --key-file orders.key";
    let refused = desk.run(&[&format!("{generate} && exit 1 || echo $?")]);
    assert_eq!(refused, "3\n");
    desk.run(&commands("## A clock was wrong"));
    assert_eq!(desk.run(&[generate]).lines().count(), 1);

    // A lease that was given back ends with its tick.
    desk.run(&["until randflake lease status | grep -q '0 of 131072'; do sleep 0.1; done"]);
    let said = desk.run(&commands("## Retire a namespace"));
    assert!(said.contains("orders2"), "{said}");
    let names = said.lines().filter(|line| line.starts_with("orders "));
    assert_eq!(names.count(), 0, "{said}");
}
