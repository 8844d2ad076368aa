//! The commands of `docs/deploy`, as they stand, on a PostgreSQL server: from the secret to an id out of the container that
//! the Kubernetes manifests describe. Only names of hosts and ports are others, and `kubectl` talks to nobody: what it
//! would send is kept, and `cluster` reads it.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod cluster;

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use harness::certificates::{Authority, HOST};
use harness::postgres::PostgresServer;
use harness::program;
use tempfile::TempDir;

use cluster::Cluster;

const GUIDE: &str = include_str!("../../../../docs/deploy/README.md");
const DATABASES: &str = include_str!("../../../engines/postgres/README.md");
/// As the guides call the database's host.
const DATABASE_HOST: &str = "db.internal";

/// Sends nothing: what it would send is added to a file.
const KUBECTL: &str = r#"#!/bin/bash
set -eu
case $1 in
create) "$RANDFLAKE_KUBECTL" "$@" --dry-run=client -o json ;;
apply) "$RANDFLAKE_KUBECTL" label --local "${@:2}" applied=yes -o json ;;
*) echo "kubectl $1: the test does not know it" >&2 && exit 1 ;;
esac >>"$OBJECTS"
"#;

/// A block of a guide below a heading, without its prompts.
fn block(guide: &str, heading: &str, language: &str, number: usize) -> String {
    let (_, section) = guide.split_once(&format!("\n{heading}\n")).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let block = section.split(&format!("```{language}\n")).nth(number + 1);
    let block = block.unwrap().split("```").next().unwrap();
    let without = |line: &str| line.strip_prefix("$ ").unwrap_or(line).to_owned() + "\n";
    block.lines().map(without).collect()
}

/// A folder of somebody who follows the guide, in a clone.
struct Desk {
    folder: TempDir,
    authority: Authority,
    database: PostgresServer,
}

impl Desk {
    fn new() -> Self {
        let (folder, authority) = (TempDir::new().unwrap(), Authority::new());
        let programs = folder.path().join("bin");
        fs::create_dir(&programs).unwrap();
        symlink(env!("CARGO_BIN_EXE_randflake"), programs.join("randflake")).unwrap();
        symlink(program("RANDFLAKE_OPENSSL"), programs.join("openssl")).unwrap();
        fs::write(programs.join("kubectl"), KUBECTL).unwrap();
        fs::set_permissions(programs.join("kubectl"), Permissions::from_mode(0o755)).unwrap();
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        symlink(docs, folder.path().join("docs")).unwrap();
        let database = PostgresServer::start_encrypted(&authority);
        // Roles by encrypted connections and with their passwords alone.
        database.admit(
            "host all postgres 127.0.0.1/32 trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n",
        );
        Self {
            folder,
            authority,
            database,
        }
    }

    /// Runs lines of a shell, and returns what they print.
    fn run(&self, lines: &str) -> String {
        let host = format!("{HOST}:{}", self.database.port);
        let path = format!(
            "{}:{}",
            self.folder.path().join("bin").display(),
            std::env::var("PATH").unwrap()
        );
        let output = Command::new("bash")
            .args(["-euo", "pipefail", "-c"])
            .arg(lines.replace(DATABASE_HOST, &host))
            .current_dir(&self.folder)
            .env("PATH", path)
            .env("HOME", self.folder.path())
            .env("OBJECTS", self.folder.path().join("objects"))
            .env("RANDFLAKE_KUBECTL", program("RANDFLAKE_KUBECTL"))
            .env("SSL_CERT_FILE", self.authority.file())
            .env_remove("RANDFLAKE_KEY")
            .env_remove("RANDFLAKE_STORE")
            .env_remove("XDG_STATE_HOME")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{lines}\n{said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// As an administrator or another role runs statements of the guide on databases.
    fn sql(&self, database: &str, role: Option<&str>, number: usize) {
        let mut client = self.database.client(database);
        if let Some(role) = role {
            client.batch_execute(&format!("SET ROLE {role}")).unwrap();
        }
        let sql = block(DATABASES, "## Rights", "sql", number);
        // One at a time: a database is not made within a transaction.
        for statement in sql.split_inclusive(';') {
            client.batch_execute(statement).unwrap();
        }
    }
}

#[test]
fn the_commands_of_the_guide_lead_to_an_id() {
    let desk = Desk::new();
    desk.sql("postgres", None, 0);
    let printed = desk.run(&block(GUIDE, "## Before the first start", "console", 0));
    // The only thing that the server does not keep.
    let token = printed.split_whitespace().last().unwrap();
    desk.sql("ids", Some("ids_owner"), 1);
    desk.run(&block(GUIDE, "## Kubernetes", "sh", 0));

    let cluster = Cluster::read(desk.folder.path());
    let mut pod = cluster.start("Deployment", "randflake", &desk.authority.file());
    let certificate = desk.folder.path().join("tls.crt");
    let ids: Vec<i64> = (0..3).map(|_| pod.id(&certificate, token)).collect();
    assert!(ids[0] != ids[1] && ids[1] != ids[2], "{ids:?}");
    pod.is_ready(&certificate);
    pod.ends();
}
