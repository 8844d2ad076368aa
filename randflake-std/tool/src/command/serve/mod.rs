//! The commands `randflake serve` and `randflake token`: arguments of the server, which is `randflake-serve`.

mod namespaces;

use core::ops::RangeInclusive;
use core::time::Duration;
use std::path::PathBuf;

use clap::Subcommand;
use randflake_common::date;
use randflake_common::number::within;
use randflake_serve::{
    ConnectionLimits, Leasing, ListenAddress, MemoryLimits, Options, Served, Server, TlsFiles,
};

use self::namespaces::NamespaceArgs;
use super::lease::TicketKeyArgs;
use super::token::TokenArgs;
use crate::failure::Failure;

#[derive(Debug, Subcommand)]
pub(crate) enum ServeCommand {
    Serve(Box<ServeArgs>),
    Token(TokenArgs),
}

impl ServeCommand {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match self {
            Self::Serve(args) => args.run(),
            Self::Token(args) => args.run(),
        }
    }
}

/// Serve ids and leases to clients of Redis and of HTTP
///
/// It leases node ids for itself and issues ids under them, as many as clients ask for, and it leases node ids to clients
/// that issue ids themselves. Nothing is kept here: any number of servers may use one store.
///
/// Beyond this machine it listens only with --tokens, which says who may do what: see `randflake token new`. Tokens and
/// certificates are read again when their files change, and on SIGHUP. SIGTERM and Ctrl-C end it: requests that were
/// received are answered, and the leases are released.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake serve --resp 127.0.0.1:6380 --http 127.0.0.1:8080
  redis-cli -p 6380 ID.NEXT default COUNT 3
  curl 'http://127.0.0.1:8080/v1/ids?count=3'
  randflake serve --http 0.0.0.0:8443 --tokens tokens --tls-cert server.pem --tls-key server.key
  randflake serve --resp 127.0.0.1:6380 --store redis://ids.internal --namespaces namespaces")]
pub(crate) struct ServeArgs {
    /// Speak the Redis protocol at this address: ADDRESS:PORT, or systemd for the socket named resp that it passes
    #[arg(long, value_name = "ADDRESS")]
    resp: Option<ListenAddress>,
    /// Speak HTTP at this address: ADDRESS:PORT, or systemd for the socket named http that it passes
    #[arg(long, value_name = "ADDRESS")]
    http: Option<ListenAddress>,
    #[command(flatten)]
    namespaces: NamespaceArgs,
    /// Who may do what: a file with a line for each token, as `randflake token new` prints it
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    #[command(flatten)]
    tls: TlsArgs,
    #[command(flatten)]
    ticket_key: TicketKeyArgs,
    /// How many node ids to lease for each namespace, from the first number up to the second as clients ask for ids;
    /// each issues 131072 ids a second in the Randflake layout
    #[arg(long, value_name = "K..=K", default_value = "1..=64", value_parser = node_ids)]
    node_ids: RangeInclusive<u32>,
    /// How many node ids of each namespace are kept for servers: clients of servers are not granted the highest ones; give
    /// all servers of a store the same number [default: a sixteenth, at most 1024]
    ///
    /// It binds clients of `randflake serve` only: a program that opens the store itself may be granted any node id.
    #[arg(long, value_name = "N")]
    reserved_node_ids: Option<u32>,
    /// How long a lease of the server lasts unless it is renewed [default: 1m]
    #[arg(long, value_name = "TIME", value_parser = date::duration)]
    ttl: Option<Duration>,
    /// What the leases call this server [default: host and process id]
    #[arg(long, value_name = "NAME")]
    holder: Option<String>,
    #[command(flatten)]
    memory: MemoryArgs,
    #[command(flatten)]
    connections: ConnectionArgs,
    /// Close connections on which nothing is asked for so long
    ///
    /// HTTP clients are told (`Keep-Alive: timeout=`). A balancer or proxy before the server should
    /// close idle connections to it earlier. Connections on which no token was sent yet are closed
    /// after 10 s.
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = idle)]
    idle: Duration,
    /// Note each request on standard error: a JSON object on a line, without tokens
    #[arg(long)]
    request_log: bool,
    /// How long requests that were received, and the release of the leases, may take after SIGTERM
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = date::duration)]
    grace: Duration,
}

#[derive(Debug, clap::Args)]
struct TlsArgs {
    /// Encrypt connections: the server's certificate and those above it, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The private key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Accept only clients with a certificate of these authorities, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    client_ca: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, clap::Args)]
struct MemoryArgs {
    /// How much memory clients may make the server hold, in bytes or as 128MiB: requests, answers, and TLS handshakes
    ///
    /// An eighth of it is for clients that have not sent a token yet: when that is full, the oldest connection of the
    /// address that has most of them is closed. The program itself needs up to 64 MiB more, and the C library keeps some
    /// of what was freed: give a container twice as much.
    #[arg(long, value_name = "SIZE", default_value = "128MiB", value_parser = size)]
    memory: usize,
    /// How much of it the connections of one token may hold [default: a quarter]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory_per_token: Option<usize>,
    /// How much of it the connections of one client's address may hold; of IPv6 its network of 64 bits [default: a
    /// quarter, and no limit for this machine's own 127.0.0.1 and ::1]
    ///
    /// Where clients come through a proxy or a translation of addresses, all have its address: give it as much as
    /// --memory.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory_per_address: Option<usize>,
}

#[derive(Clone, Copy, Debug, clap::Args)]
struct ConnectionArgs {
    /// How many connections with a token may be open at once, of each protocol; or of anybody where none is needed
    #[arg(long, value_name = "N", default_value = "10000", value_parser = within::<u32>(1..=1_000_000))]
    max_connections: u32,
    /// How many of them one client's address may have; of IPv6 its network of 64 bits [default: a quarter, and no limit
    /// for this machine's own 127.0.0.1 and ::1]
    ///
    /// Where clients come through a proxy or a translation of addresses, all have its address: give it as large a number
    /// as --max-connections.
    #[arg(long, value_name = "N", value_parser = within::<u32>(1..=1_000_000))]
    max_connections_per_address: Option<u32>,
}

impl ServeArgs {
    fn run(&self) -> Result<(), Failure> {
        if self.resp.is_some() && self.http.is_none() && self.ticket_key.is_named() {
            return Err(Failure::usage(
                "--ticket-key-file: devices get their tickets by HTTP alone, so give --http ADDRESS too",
            ));
        }
        // First what a typing error breaks. The store comes last, because it may have to be waited for.
        let server = Server::bind(self.options())?;
        server.run(self.served()?)
    }

    fn options(&self) -> Options {
        let certificate = self.tls.tls_cert.clone().zip(self.tls.tls_key.clone());
        Options {
            resp: self.resp.clone(),
            http: self.http.clone(),
            tokens: self.tokens.clone(),
            tls: certificate.map(|(certificate, key)| TlsFiles {
                certificate,
                key,
                client_ca: self.tls.client_ca.clone(),
            }),
            memory: MemoryLimits {
                all: self.memory.memory,
                per_token: self.memory.memory_per_token,
                per_address: self.memory.memory_per_address,
            },
            connections: ConnectionLimits {
                all: self.connections.max_connections,
                per_address: self.connections.max_connections_per_address,
            },
            idle: self.idle,
            request_log: self.request_log,
            grace: self.grace,
        }
    }

    fn served(&self) -> Result<Served, Failure> {
        let namespaces = self.namespaces.served()?.into_iter();
        let namespaces = match self.reserved_node_ids {
            Some(reserved) => namespaces
                .map(|served| served.reserving(reserved))
                .collect::<Result<_, _>>()?,
            None => namespaces.collect(),
        };
        // A store that assigns one node id has no other to follow the load with.
        let is_one = self.namespaces.is_assigned()?;
        Ok(Served {
            namespaces,
            leasing: Leasing {
                node_ids: if is_one { 1..=1 } else { self.node_ids.clone() },
                ttl: self.ttl,
                holder: self.holder.clone(),
            },
            store: self.namespaces.shown_url()?,
            is_local: self.namespaces.is_local()?,
            // Only HTTP has tickets, and the variable may be meant for other commands.
            ticket_key: match self.http {
                Some(_) => self.ticket_key.read()?,
                None => None,
            },
        })
    }
}

fn idle(text: &str) -> Result<Duration, String> {
    let asked = Some(date::duration(text)?).filter(|asked| !asked.is_zero());
    asked.ok_or_else(|| "more than 0 is allowed: no client could ask anything".to_owned())
}

fn node_ids(text: &str) -> Result<RangeInclusive<u32>, String> {
    let range = match text.split_once("..=") {
        Some((least, most)) => least.parse().ok().zip(most.parse().ok()),
        None => text.parse().ok().map(|number| (number, number)),
    };
    let range = range.filter(|&(least, most)| 1 <= least && least <= most);
    let range = range.map(|(least, most)| least..=most);
    range.ok_or_else(|| "a number from 1 on is allowed, or a range such as 1..=8".to_owned())
}

/// The largest command or answer needs less.
const LEAST: usize = 16 << 20;
const MOST: usize = 1 << 40;

/// Bytes: digits, and a unit of 1,024 or none.
fn size(text: &str) -> Result<usize, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit: usize = match &text[digits.len()..] {
        "" => 1,
        "KiB" | "Ki" => 1 << 10,
        "MiB" | "Mi" => 1 << 20,
        "GiB" | "Gi" => 1 << 30,
        _ => {
            return Err(
                "bytes are allowed, and units of 1,024: 16777216, 128MiB or 1GiB".to_owned(),
            );
        }
    };
    let bytes = digits.parse().ok();
    let bytes = bytes.and_then(|number: usize| number.checked_mul(unit));
    let bytes = bytes.filter(|bytes| (LEAST..=MOST).contains(bytes));
    bytes.ok_or_else(|| "16MiB to 1024GiB are allowed".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_bytes_or_have_a_unit() {
        assert_eq!(size("16777216"), Ok(16 << 20));
        assert_eq!(size("128MiB"), Ok(MemoryLimits::default().all));
        assert_eq!(size("1Gi"), Ok(1 << 30));
        for wrong in [
            "",
            "MiB",
            "128",
            "128MB",
            "1e9",
            "-1MiB",
            "99999999999999999999GiB",
            "ÿ",
        ] {
            size(wrong).unwrap_err();
        }
    }

    /// A container has room for the budget, and as much again for the program and what the C library keeps.
    #[test]
    fn the_manifests_have_room_for_the_budget() {
        for manifest in [
            include_str!("../../../../../docs/deploy/kubernetes/deployment.yaml"),
            include_str!("../../../../../docs/deploy/kubernetes/statefulset.yaml"),
        ] {
            let (_, rest) = manifest.split_once("limits: { memory: ").unwrap();
            let (limit, _) = rest.split_once(" }").unwrap();
            assert!(
                size(limit).unwrap() >= 2 * MemoryLimits::default().all,
                "{limit}"
            );
        }
    }
}
