//! Members of an etcd cluster.

use core::net::Ipv4Addr;
use core::time::Duration;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::certificates::Authority;
use super::server::Server;
use super::{free_port, program};

const PROGRAM: &str = "RANDFLAKE_ETCD";
const TIME_LIMIT: Duration = Duration::from_secs(5);

pub(crate) struct EtcdCluster {
    pub(crate) members: Vec<Member>,
}

pub(crate) struct Member {
    pub(crate) server: Server,
    pub(crate) port: u16,
}

impl EtcdCluster {
    /// A cluster of some members that has a leader.
    pub(crate) fn start(members: usize) -> Self {
        Self::start_with(members, &[])
    }

    /// With further settings: `["--quota-backend-bytes", "4000000"]`.
    pub(crate) fn start_with(members: usize, settings: &[&str]) -> Self {
        let settings: Vec<String> = settings.iter().map(|&word| word.to_owned()).collect();
        let ports: Vec<_> = (0..members).map(|_| (free_port(), free_port())).collect();
        let peers: Vec<_> = ports.iter().map(|&(_, peer)| named(peer)).collect();
        let cluster = peers.join(",");
        let members = ports.iter().map(|&(port, peer)| {
            let (cluster, settings) = (cluster.clone(), settings.clone());
            let command = move |folder: &Path| {
                let mut command = command(folder, "http", port, peer, &cluster);
                command.args(&settings);
                command
            };
            let answers = move || is_healthy(port).unwrap_or(false);
            Member {
                server: Server::prepared(TempDir::new().unwrap(), command, answers),
                port,
            }
        });
        let mut members: Vec<_> = members.collect();
        for member in &mut members {
            member.server.launch();
        }
        for member in &mut members {
            member.server.wait();
        }
        Self { members }
    }

    /// A cluster of one that takes encrypted connections alone, of clients with a certificate of the
    /// authority.
    pub(crate) fn start_encrypted(authority: &Authority) -> Self {
        let (port, peer, health) = (free_port(), free_port(), free_port());
        let (ca, own) = (authority.file(), authority.server());
        let command = move |folder: &Path| {
            let mut command = command(folder, "https", port, peer, &named(peer));
            command
                .arg("--client-cert-auth")
                .arg("--trusted-ca-file")
                .arg(&ca)
                .arg("--cert-file")
                .arg(&own.certificate)
                .arg("--key-file")
                .arg(&own.key)
                .args([
                    "--listen-metrics-urls",
                    &format!("http://127.0.0.1:{health}"),
                ]);
            command
        };
        let answers = move || is_healthy(health).unwrap_or(false);
        let server = Server::start(TempDir::new().unwrap(), command, answers);
        Self {
            members: vec![Member { server, port }],
        }
    }

    pub(crate) fn url(&self) -> String {
        let hosts: Vec<_> = self
            .members
            .iter()
            .map(|member| format!("127.0.0.1:{}", member.port))
            .collect();
        format!("etcd://{}", hosts.join(","))
    }
}

impl Member {
    /// The reply's body to a request of its JSON gateway, such as `kv/put`.
    pub(crate) fn post(&self, path: &str, body: &str) -> String {
        self.post_with("", path, body)
    }

    /// With further header lines.
    pub(crate) fn post_with(&self, header: &str, path: &str, body: &str) -> String {
        let length = body.len();
        let request =
            format!("POST /v3/{path} HTTP/1.0\r\n{header}Content-Length: {length}\r\n\r\n{body}");
        let reply = ask(self.port, &request).unwrap();
        reply.split_once("\r\n\r\n").unwrap().1.to_owned()
    }
}

fn named(peer: u16) -> String {
    format!("member-{peer}=http://127.0.0.1:{peer}")
}

fn command(folder: &Path, scheme: &str, port: u16, peer: u16, cluster: &str) -> Command {
    let client_url = format!("{scheme}://127.0.0.1:{port}");
    let peer_url = format!("http://127.0.0.1:{peer}");
    let mut command = Command::new(program(PROGRAM));
    command
        .arg("--data-dir")
        .arg(folder.join("data"))
        .args(["--name", &format!("member-{peer}")])
        .args(["--listen-client-urls", &client_url])
        .args(["--advertise-client-urls", &client_url])
        .args(["--listen-peer-urls", &peer_url])
        .args(["--initial-advertise-peer-urls", &peer_url])
        .args(["--initial-cluster", cluster])
        .args(["--log-level", "warn"]);
    command
}

/// Whether it has a leader, and takes writes.
fn is_healthy(port: u16) -> io::Result<bool> {
    let reply = ask(port, "GET /health HTTP/1.0\r\n\r\n")?;
    Ok(reply.contains(r#""health":"true""#))
}

fn ask(port: u16, request: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(TIME_LIMIT))?;
    stream.write_all(request.as_bytes())?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply)?;
    Ok(reply)
}
