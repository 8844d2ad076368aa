//! Members of an etcd cluster.

use core::net::{Ipv4Addr, SocketAddrV4};
use core::time::Duration;
use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::certificates::Authority;
use crate::engine::{EngineServer, ServerEngine};
use crate::server::Server;
use crate::{free_port, program};

const PROGRAM: &str = "RANDFLAKE_ETCD";
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// The engine in tests and benchmarks of all engines.
pub const ENGINE: EngineServer = EngineServer {
    name: "etcd",
    title: "etcd",
    start: || Box::new(EtcdCluster::start(1)),
    start_large: || Box::new(EtcdCluster::start(1)),
    most_at_once: 100,
    most_clients: 1_000,
    filling: Duration::from_secs(150),
};

pub struct EtcdCluster {
    pub members: Vec<Member>,
}

pub struct Member {
    pub server: Server,
    pub port: u16,
    clients: SocketAddrV4,
}

/// Where a member runs, and listens.
#[derive(Clone)]
pub struct Place {
    pub clients: SocketAddrV4,
    pub peers: SocketAddrV4,
    /// The program that starts it there, with its arguments; nothing if it is here.
    pub entrance: Vec<String>,
}

impl Place {
    fn here() -> Self {
        let [clients, peers] =
            [free_port(), free_port()].map(|port| SocketAddrV4::new(Ipv4Addr::LOCALHOST, port));
        Self {
            clients,
            peers,
            entrance: Vec::new(),
        }
    }

    /// The member's name, and where the others find it.
    fn named(&self) -> String {
        format!("{}=http://{}", self.name(), self.peers)
    }

    fn name(&self) -> String {
        format!("member-{}", self.peers)
    }
}

impl EtcdCluster {
    /// A cluster of some members that has a leader.
    pub fn start(members: usize) -> Self {
        Self::start_with(members, &[])
    }

    /// With further settings: `["--quota-backend-bytes", "4000000"]`.
    pub fn start_with(members: usize, settings: &[&str]) -> Self {
        let places: Vec<_> = (0..members).map(|_| Place::here()).collect();
        Self::start_at(&places, settings)
    }

    /// With a member at each place.
    pub fn start_at(places: &[Place], settings: &[&str]) -> Self {
        let settings: Vec<String> = settings.iter().map(|&word| word.to_owned()).collect();
        let named: Vec<_> = places.iter().map(Place::named).collect();
        let cluster = named.join(",");
        let members = places.iter().map(|place| {
            let (cluster, settings, clients) = (cluster.clone(), settings.clone(), place.clients);
            let place = place.clone();
            let command = move |folder: &Path| {
                let mut command = command(folder, "http", &place, &cluster);
                command.args(&settings);
                command
            };
            Member {
                server: Server::prepared(TempDir::new().unwrap(), command, move || {
                    is_healthy(clients).unwrap_or(false)
                }),
                port: clients.port(),
                clients,
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

    /// A cluster of one that takes encrypted connections alone, of clients with a certificate of
    /// the authority.
    pub fn start_encrypted(authority: &Authority) -> Self {
        let (place, health) = (Place::here(), free_port());
        let (ca, own) = (authority.file(), authority.server());
        let clients = place.clients;
        let command = move |folder: &Path| {
            let mut command = command(folder, "https", &place, &place.named());
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
        let health = SocketAddrV4::new(Ipv4Addr::LOCALHOST, health);
        let server = Server::start(TempDir::new().unwrap(), command, move || {
            is_healthy(health).unwrap_or(false)
        });
        Self {
            members: vec![Member {
                server,
                port: clients.port(),
                clients,
            }],
        }
    }

    pub fn url(&self) -> String {
        let hosts: Vec<_> = self
            .members
            .iter()
            .map(|member| member.clients.to_string())
            .collect();
        format!("etcd://{}", hosts.join(","))
    }

    /// Which member leads, as the one that is asked knows.
    pub fn leader(&self, asked: usize) -> Option<usize> {
        let status = |member: &Member| -> serde_json::Value {
            serde_json::from_str(&member.post("maintenance/status", "{}")).unwrap()
        };
        let leader = status(&self.members[asked])["leader"].take();
        self.members
            .iter()
            .position(|member| status(member)["header"]["member_id"] == leader)
    }
}

impl Member {
    /// The reply's body to a request of its JSON gateway, such as `kv/put`.
    pub fn post(&self, path: &str, body: &str) -> String {
        self.post_with("", path, body)
    }

    /// With further header lines.
    pub fn post_with(&self, header: &str, path: &str, body: &str) -> String {
        let length = body.len();
        let request =
            format!("POST /v3/{path} HTTP/1.0\r\n{header}Content-Length: {length}\r\n\r\n{body}");
        let reply = ask(self.clients, &request).unwrap();
        reply.split_once("\r\n\r\n").unwrap().1.to_owned()
    }
}

fn command(folder: &Path, scheme: &str, place: &Place, cluster: &str) -> Command {
    let client_url = format!("{scheme}://{}", place.clients);
    let peer_url = format!("http://{}", place.peers);
    let etcd = program(PROGRAM);
    let mut command = match &*place.entrance {
        [] => Command::new(etcd),
        [entrance, arguments @ ..] => {
            let mut command = Command::new(entrance);
            command.args(arguments).arg(etcd);
            command
        }
    };
    command
        .arg("--data-dir")
        .arg(folder.join("data"))
        .args(["--name", &place.name()])
        .args(["--listen-client-urls", &client_url])
        .args(["--advertise-client-urls", &client_url])
        .args(["--listen-peer-urls", &peer_url])
        .args(["--initial-advertise-peer-urls", &peer_url])
        .args(["--initial-cluster", cluster])
        .args(["--log-level", "warn"]);
    command
}

/// Whether it has a leader, and takes writes.
fn is_healthy(address: SocketAddrV4) -> io::Result<bool> {
    let reply = ask(address, "GET /health HTTP/1.0\r\n\r\n")?;
    Ok(reply.contains(r#""health":"true""#))
}

fn ask(address: SocketAddrV4, request: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address.into(), TIME_LIMIT)?;
    stream.set_read_timeout(Some(TIME_LIMIT))?;
    stream.write_all(request.as_bytes())?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply)?;
    Ok(reply)
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").arg(from).arg(to).status();
    assert!(copied.unwrap().success());
}

/// A backup of the only member's data, and back to it.
pub struct Backup {
    data: PathBuf,
    copy: PathBuf,
}

impl Backup {
    pub fn of(cluster: &mut EtcdCluster) -> Self {
        let server = &mut cluster.members[0].server;
        let [data, copied] = ["data", "backup"].map(|name| server.folder().join(name));
        server.kill();
        copy(&data, &copied);
        server.restart();
        Self { data, copy: copied }
    }

    pub fn restore(&self, cluster: &mut EtcdCluster) {
        let server = &mut cluster.members[0].server;
        server.kill();
        fs::remove_dir_all(&self.data).unwrap();
        copy(&self.copy, &self.data);
        server.restart();
    }
}

/// A cluster of one member.
impl ServerEngine for EtcdCluster {
    fn port(&self) -> u16 {
        self.members[0].port
    }

    fn url_at(&self, port: u16) -> String {
        format!("etcd://127.0.0.1:{port}")
    }

    fn process(&self) -> &Server {
        &self.members[0].server
    }

    fn server(&mut self) -> &mut Server {
        &mut self.members[0].server
    }

    fn stored_bytes(&self) -> u64 {
        let status = self.members[0].post("maintenance/status", "{}");
        let used = status.split_once(r#""dbSizeInUse":""#).unwrap().1;
        used.split_once('"').unwrap().0.parse().unwrap()
    }
}
