//! The commands of `docs/deploy`, as they stand, on a PostgreSQL server: from the secret to an id
//! out of the container that the Kubernetes manifests describe. Only names of hosts and ports are
//! others, and `kubectl` talks to nobody: what it would send is kept, and `cluster` reads it.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use core::time::Duration;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use harness::certificates::{Authority, HOST};
use harness::postgres::PostgresServer;
use harness::server::signal_process;
use harness::{free_port, program};
use serde_json::Value;
use tempfile::TempDir;

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
    let block = section
        .split(&format!("```{language}\n"))
        .nth(number + 1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    block
        .lines()
        .map(|line: &str| line.strip_prefix("$ ").unwrap_or(line).to_owned() + "\n")
        .collect()
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

const POD: &str = "randflake-0";
/// Far longer than it takes.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Cluster(Vec<Value>);

impl Cluster {
    /// The objects that were sent from a folder.
    pub(crate) fn read(folder: &Path) -> Self {
        let text = fs::read_to_string(folder.join("objects")).unwrap();
        let objects = serde_json::Deserializer::from_str(&text).into_iter();
        Self(objects.map(Result::unwrap).collect())
    }

    fn object(&self, kind: &str, name: &str) -> &Value {
        let found = self
            .0
            .iter()
            .find(|object: &&Value| object["kind"] == kind && object["metadata"]["name"] == name);
        found.unwrap_or_else(|| panic!("nothing makes the {kind} {name}"))
    }

    /// What each key of a secret holds.
    fn secret(&self, name: &str) -> BTreeMap<String, Vec<u8>> {
        let data = self.object("Secret", name)["data"].as_object().unwrap();
        let decode = |value: &Value| STANDARD.decode(value.as_str().unwrap()).unwrap();
        data.iter()
            .map(|(key, value)| (key.clone(), decode(value)))
            .collect()
    }

    /// Starts the container of a workload, which trusts an authority.
    pub(crate) fn start(&self, kind: &str, name: &str, authority: &Path) -> Pod {
        let spec = &self.object(kind, name)["spec"]["template"]["spec"];
        let container = &spec["containers"][0];
        let root = TempDir::new().unwrap();
        for mount in container["volumeMounts"].as_array().unwrap() {
            let volumes = spec["volumes"].as_array().unwrap();
            let volume = volumes
                .iter()
                .find(|volume| volume["name"] == mount["name"]);
            self.mount(
                root.path(),
                text(&mount["mountPath"]),
                &volume.unwrap()["secret"],
            );
        }
        let [resp, http] = [free_port(), free_port()];
        let mut command = Command::new(env!("CARGO_BIN_EXE_randflake"));
        for argument in container["args"].as_array().unwrap() {
            let argument = text(argument)
                .replace("$(POD_NAME)", POD)
                .replace("=/etc/", &format!("={}/etc/", root.path().display()))
                .replace("0.0.0.0:6380", &format!("127.0.0.1:{resp}"))
                .replace("0.0.0.0:8443", &format!("127.0.0.1:{http}"));
            command.arg(argument);
        }
        command.env_clear().env("SSL_CERT_FILE", authority);
        for variable in container["env"].as_array().unwrap() {
            let from = &variable["valueFrom"];
            let value = if from["fieldRef"]["fieldPath"] == "metadata.name" {
                POD.to_owned()
            } else {
                let reference = &from["secretKeyRef"];
                let value = self.secret(text(&reference["name"]))[text(&reference["key"])].clone();
                String::from_utf8(value).unwrap()
            };
            command.env(text(&variable["name"]), value);
        }
        let log = fs::File::create(root.path().join("log")).unwrap();
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap());
        Pod {
            child: command.stderr(log).spawn().unwrap(),
            path_of_readiness: text(&container["readinessProbe"]["httpGet"]["path"]).to_owned(),
            root,
            resp,
            http,
        }
    }

    /// The files of a secret, as a volume shows them.
    fn mount(&self, root: &Path, place: &str, source: &Value) {
        let folder = root.join(place.trim_start_matches('/'));
        fs::create_dir_all(&folder).unwrap();
        let values = self.secret(text(&source["secretName"]));
        let items: Vec<(&str, &str)> = match source["items"].as_array() {
            None => values.keys().map(|key| (&**key, &**key)).collect(),
            Some(items) => items
                .iter()
                .map(|item| (text(&item["key"]), text(&item["path"])))
                .collect(),
        };
        let mode = u32::try_from(source["defaultMode"].as_u64().unwrap()).unwrap();
        for (key, path) in items {
            fs::write(folder.join(path), &values[key]).unwrap();
            fs::set_permissions(folder.join(path), Permissions::from_mode(mode)).unwrap();
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

/// A running container of the cluster.
pub(crate) struct Pod {
    child: Child,
    path_of_readiness: String,
    root: TempDir,
    resp: u16,
    http: u16,
}

impl Pod {
    fn log(&self) -> String {
        fs::read_to_string(self.root.path().join("log")).unwrap()
    }

    /// Asks until there is an answer.
    fn patiently<T>(&mut self, mut ask: impl FnMut() -> Result<T, String>) -> T {
        let started = Instant::now();
        loop {
            match ask() {
                Ok(answer) => return answer,
                Err(said) => {
                    let has_ended = self.child.try_wait().unwrap();
                    let log = self.log();
                    assert!(has_ended.is_none(), "it ended: {log}");
                    assert!(started.elapsed() < PATIENCE, "{said}\n{log}");
                }
            }
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// An id for a client that trusts the certificate.
    pub(crate) fn id(&mut self, certificate: &Path, token: &str) -> i64 {
        let port = self.resp.to_string();
        self.patiently(|| {
            let output = Command::new(program("RANDFLAKE_REDIS_CLI"))
                .args(["-h", HOST, "-p", &port, "--tls", "--cacert"])
                .arg(certificate)
                .args(["INCR", "default"])
                .env("REDISCLI_AUTH", token)
                .output()
                .unwrap();
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8(said).unwrap();
            said.trim().parse().map_err(|_| said)
        })
    }

    /// Its readiness probe succeeds.
    pub(crate) fn is_ready(&mut self, certificate: &Path) {
        let address = format!("{HOST}:{}", self.http);
        let request = format!(
            "GET {} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n",
            self.path_of_readiness
        );
        self.patiently(|| {
            let mut probe = Command::new(program("RANDFLAKE_OPENSSL"))
                .args(["s_client", "-quiet", "-verify_return_error", "-CAfile"])
                .arg(certificate)
                .args(["-connect", &address])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let mut input = probe.stdin.take().unwrap();
            _ = input.write_all(request.as_bytes());
            let mut answer = String::new();
            probe
                .stdout
                .take()
                .unwrap()
                .read_to_string(&mut answer)
                .unwrap();
            drop(input);
            probe.wait().unwrap();
            if answer.starts_with("HTTP/1.1 200") {
                Ok(())
            } else {
                Err(answer)
            }
        });
    }

    /// Ends as its pod does.
    pub(crate) fn ends(mut self) {
        signal_process(&self.child, libc::SIGTERM);
        assert!(self.child.wait().unwrap().success(), "{}", self.log());
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        let _gone_already = self.child.kill();
        let _gone_already = self.child.wait();
    }
}
