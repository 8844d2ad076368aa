//! `randflake serve` and `randflake token`: ids and leases for clients of Redis and of HTTP.

mod access;
mod http;
mod incidents;
mod key_values;
mod listen;
mod lock;
mod log;
mod memory;
mod namespaces;
mod resp;
mod run;
mod service;
mod system;
mod token;
mod watched;

use core::ops::RangeInclusive;
use core::time::Duration;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Subcommand;
use randflake_std::Secret;
use randflake_std::lease::KeyCheck;

use self::listen::ConnectionLimits;
use self::listen::address::ListenAddress;
use self::listen::tls::TlsArgs;
use self::memory::MemoryLimits;
use self::namespaces::NamespaceArgs;
use self::service::Service;
use self::service::served_namespace::{Leasing, ServedNamespace};
use crate::command::lease::TicketKeyArgs;
use crate::date;
use crate::failure::Failure;
use crate::id_form::IdForm;

#[derive(Debug, Subcommand)]
pub(crate) enum ServeCommand {
    Serve(Box<ServeArgs>),
    Token(token::TokenArgs),
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
    memory: MemoryLimits,
    #[command(flatten)]
    connections: ConnectionLimits,
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

impl ServeArgs {
    fn spaces(&self) -> Result<Vec<ServedNamespace>, Failure> {
        let spaces = self.namespaces.spaces()?.into_iter();
        match self.reserved_node_ids {
            Some(reserved) => spaces.map(|space| space.reserving(reserved)).collect(),
            None => Ok(spaces.collect()),
        }
    }

    /// The key of devices' tickets, if there is one. It is none of ids: they would help to forge tickets.
    fn ticket_key(&self, service: &Service) -> Result<Option<Secret>, Failure> {
        let key = self.ticket_key.read()?;
        if let Some(key) = &key {
            // Each device has the key of tickets; with the namespace's it could make and read every id. That is the secret, or
            // the key of 53-bit ids, which follows from it.
            let seals = [
                IdForm::Bits64.key_check(key),
                IdForm::Bits53.key_check(key),
                KeyCheck::of(&key.feistel53()),
            ];
            let is_same = |space: &&Arc<ServedNamespace>| {
                seals.contains(&KeyCheck::of(space.codec().permutation()))
            };
            if let Some(space) = service.spaces().find(is_same) {
                return Err(Failure::failed(format!(
                    "the key of tickets is the secret of namespace {:?}: take another one for tickets, made with \
                     `randflake keygen`",
                    space.name()
                )));
            }
        }
        Ok(key)
    }

    fn leasing(&self) -> Result<Leasing, Failure> {
        // A store that assigns one node id has no other to follow the load with.
        let is_one = self.namespaces.is_assigned()?;
        Ok(Leasing {
            node_ids: if is_one { 1..=1 } else { self.node_ids.clone() },
            ttl: self.ttl,
            holder: self.holder.clone(),
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
