//! The command `randflake serve`: options of the server and of its namespaces.

use core::ops::RangeInclusive;
use core::time::Duration;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use randflake_common::date;
use randflake_common::number::within;
use randflake_common::settings::{self, KeyValues, lines};
use randflake_serve::{
    ConnectionLimits, Leasing, ListenAddress, MemoryLimits, Options, ServedNamespace, ServedStore,
    Server, TlsFiles,
};
use randflake_std::lease::KeyCheck;

use super::lease::TicketKeyArgs;
use super::token::TokenArgs;
use crate::failure::Failure;
use crate::layout::LayoutChoice;
use crate::secret::{self, SecretArgs};
use crate::store::{LeaseArgs, StoreArgs, agreed_max_ttl, longest_ttl};

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
/// It leases node ids for itself and issues ids under them, as many as clients ask for, and it
/// leases node ids to clients that issue ids themselves. Nothing is kept here: any number of
/// servers may use one store.
///
/// Beyond this machine it listens only with --tokens, which says who may do what: see `randflake
/// token new`. Tokens and certificates are read again when their files change, and on SIGHUP.
/// SIGTERM and Ctrl-C end it: requests that were received are answered, and the leases are
/// released.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake serve --resp 127.0.0.1:6380 --http 127.0.0.1:8080
  redis-cli -p 6380 ID.NEXT default COUNT 3
  curl 'http://127.0.0.1:8080/v1/ids?count=3'
  randflake serve --http 0.0.0.0:8443 --tokens tokens --tls-cert server.pem --tls-key server.key
  randflake serve --resp 127.0.0.1:6380 --store redis://ids.internal --namespaces namespaces")]
pub(crate) struct ServeArgs {
    /// Speak the Redis protocol at this address: ADDRESS:PORT, or systemd for the socket named resp
    /// that it passes
    #[arg(long, value_name = "ADDRESS")]
    resp: Option<ListenAddress>,
    /// Speak HTTP at this address: ADDRESS:PORT, or systemd for the socket named http that it
    /// passes
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
    /// How many node ids to lease for each namespace, from the first number up to the second as
    /// clients ask for ids; each issues 131072 ids a second in the Randflake layout
    #[arg(long, value_name = "K..=K", default_value = "1..=64", value_parser = node_ids)]
    node_ids: RangeInclusive<u32>,
    /// How many node ids of each namespace are kept for servers: clients of servers are not granted
    /// the highest ones; give all servers of a store the same number [default: a sixteenth, at most
    /// 1024]
    ///
    /// It binds clients of `randflake serve` only: a program that opens the store itself may be
    /// granted any node id.
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
    /// How much memory clients may make the server hold, in bytes or as 128MiB: requests, answers,
    /// and TLS handshakes
    ///
    /// An eighth of it is for clients that have not sent a token yet: when that is full, the oldest
    /// connection of the address that has most of them is closed. The program itself needs up to 64
    /// MiB more, and the C library keeps some of what was freed: give a container twice as much.
    #[arg(long, value_name = "SIZE", default_value = "128MiB", value_parser = size)]
    memory: usize,
    /// How much of it the connections of one token may hold [default: a quarter]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory_per_token: Option<usize>,
    /// How much of it the connections of one client's address may hold; of IPv6 its network of 64
    /// bits [default: a quarter, and no limit for this machine's own 127.0.0.1 and ::1]
    ///
    /// Where clients come through a proxy or a translation of addresses, all have its address: give
    /// it as much as --memory.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory_per_address: Option<usize>,
}

#[derive(Clone, Copy, Debug, clap::Args)]
struct ConnectionArgs {
    /// How many connections with a token may be open at once, of each protocol; or of anybody where
    /// none is needed
    #[arg(long, value_name = "N", default_value = "10000", value_parser = within::<u32>(1..=1_000_000))]
    max_connections: u32,
    /// How many of them one client's address may have; of IPv6 its network of 64 bits [default: a
    /// quarter, and no limit for this machine's own 127.0.0.1 and ::1]
    ///
    /// Where clients come through a proxy or a translation of addresses, all have its address: give
    /// it as large a number as --max-connections.
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
        // First what a typing error breaks. The store comes last, because it may have to be waited
        // for.
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

    fn served(&self) -> Result<ServedStore, Failure> {
        let namespaces = self.namespaces.served()?.into_iter();
        let namespaces = match self.reserved_node_ids {
            Some(reserved) => namespaces
                .map(|served| served.reserving(reserved))
                .collect::<Result<_, _>>()?,
            None => namespaces.collect(),
        };
        // A store that assigns one node id has no other to follow the load with.
        let is_one = self.namespaces.is_assigned()?;
        Ok(ServedStore {
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
    let range = range
        .filter(|&(least, most)| 1 <= least && least <= most)
        .map(|(least, most)| least..=most);
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
    let bytes = digits
        .parse()
        .ok()
        .and_then(|number: usize| number.checked_mul(unit));
    let bytes = bytes.filter(|bytes| (LEAST..=MOST).contains(bytes));
    bytes.ok_or_else(|| "16MiB to 1024GiB are allowed".to_owned())
}

#[derive(Debug, clap::Args)]
struct NamespaceArgs {
    /// Serve several namespaces: a file with a line for each
    ///
    /// A line has words with spaces between them: name=NAME, key-file=FILE for the namespace's own
    /// secret, and layout=LAYOUT unless that is randflake, and max-ttl=TIME if leases may be longer
    /// than 1m. A secret that another namespace has takes shared-secret=yes. FILE is looked for
    /// beside this file. Empty lines and those that begin with # are passed over.
    ///
    /// Without it, --namespace, --layout and --key-file describe the one that is served.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["namespace", "key_file", "layout"])]
    namespaces: Option<PathBuf>,
    #[command(flatten)]
    secret: SecretArgs,
    #[command(flatten)]
    store: LeaseArgs,
}

impl NamespaceArgs {
    fn served(&self) -> Result<Vec<ServedNamespace>, Failure> {
        let Some(path) = &self.namespaces else {
            let layout = self.store.layout();
            // At the start, not at the first id: a layout past its last date never issues again.
            layout.has_time_left()?;
            // Before a secret is made: a name that is not allowed leaves nothing behind.
            let namespace = self.store.namespace()?;
            let cipher = layout.cipher_for_issuing(&self.secret, self.store.store())?;
            let open = Box::new(self.store.opener(namespace.clone())?);
            return Ok(vec![ServedNamespace::new(namespace, cipher, open)]);
        };
        let failed = |problem: String| Failure::failed(format!("{}: {problem}", path.display()));
        let is_there = path.exists();
        let (text, _) = settings::read(path, "the namespaces").map_err(|problem| {
            let advice = if is_there {
                ""
            } else {
                "; a file with a line for each, name=NAME key-file=FILE, is asked for: a single one is named by --namespace"
            };
            Failure::failed(problem + advice)
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut spaces: Vec<ServedNamespace> = Vec::new();
        for (number, line) in lines(&text) {
            let wrong = |problem: String| failed(format!("line {number}: {problem}"));
            let space = read(line, folder, self.store.store())
                .map_err(|failure| wrong(failure.to_string()))?;
            differs(&space, &spaces).map_err(wrong)?;
            spaces.push(space);
        }
        if spaces.is_empty() {
            return Err(failed(
                "it has no namespace: name=NAME key-file=FILE is a line of one".to_owned(),
            ));
        }
        Ok(spaces)
    }

    /// Whether all node ids are one, which this machine was given.
    fn is_assigned(&self) -> Result<bool, Failure> {
        self.store.store().is_assigned()
    }

    /// Whether other machines cannot see the leases.
    fn is_local(&self) -> Result<bool, Failure> {
        let url = self.shown_url()?;
        Ok(url.starts_with("sqlite:") || url.starts_with("static:"))
    }

    /// Where leases are kept, to show.
    fn shown_url(&self) -> Result<String, Failure> {
        self.store.shown_url()
    }
}

fn read(line: &str, folder: &Path, store: &StoreArgs) -> Result<ServedNamespace, Failure> {
    let mut words = KeyValues::read(line).map_err(Failure::failed)?;
    let name = words.needed("name").map_err(Failure::failed)?;
    let layout = words.take("layout");
    let layout: LayoutChoice = layout
        .map_or_else(|| Ok(LayoutChoice::default()), |layout| layout.parse())
        .map_err(Failure::failed)?;
    let key = words.take("key-file");
    let longest = words
        .take("max-ttl")
        .map(|text| longest_ttl(&text))
        .transpose()
        .map_err(|why| Failure::failed(format!("max-ttl: {why}")))?;
    let shares_secret = match words.take("shared-secret").as_deref() {
        None | Some("no") => false,
        Some("yes") => true,
        Some(other) => {
            let why = format!("shared-secret={other}: yes and no are allowed");
            return Err(Failure::failed(why));
        }
    };
    // Before the key is read: a word that is misspelt may be the one that says which.
    words.end().map_err(Failure::failed)?;
    layout.has_time_left()?;
    let cipher = match (key, layout.form().is_encrypted()) {
        (Some(file), true) => {
            let file = folder.join(file);
            let secret = secret::from_file(&file).map_err(|error| secret::unread(&file, &error))?;
            layout.form().cipher(&secret)
        }
        (None, false) => None,
        (None, true) => {
            return Err(Failure::failed(
                "key-file is missing: ids of this layout are encrypted; `randflake keygen --out FILE` makes a secret",
            ));
        }
        (Some(_), false) => {
            return Err(Failure::failed(
                "ids of this layout are plain and need no key-file; with layout=encrypted:... they are encrypted",
            ));
        }
    };
    let mut namespace = store.named(&name, layout.spec())?;
    let longest = longest.map(|time| ("max-ttl of this line", time));
    if let Some((_, longest)) = agreed_max_ttl([longest, store.max_ttl()?])? {
        namespace = namespace.with_max_ttl(longest);
    }
    if shares_secret {
        namespace = namespace.with_shared_secret();
    }
    let open = Box::new(store.opener(namespace.clone())?);
    Ok(ServedNamespace::new(namespace, cipher, open))
}

/// Two namespaces under one secret issue equal ids. The store refuses that, too, but only once both
/// have leased.
fn differs(space: &ServedNamespace, others: &[ServedNamespace]) -> Result<(), String> {
    for other in others {
        // Whichever comes first has the secret's claim.
        let both_share = space.namespace().shares_secret() && other.namespace().shares_secret();
        if other.name() == space.name() {
            return Err(format!(
                "the namespace {:?} stands there twice",
                space.name()
            ));
        }
        if space.key_check() != KeyCheck::Plain
            && space.key_check() == other.key_check()
            && !both_share
        {
            return Err(format!(
                "the secret is that of namespace {:?}, and both would issue equal ids: make one for each with \
                 `randflake keygen --derive NAME`, or write shared-secret=yes in both lines if that is meant",
                other.name()
            ));
        }
    }
    Ok(())
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

    /// A container has room for the budget, and as much again for the program and what the C
    /// library keeps.
    #[test]
    fn the_manifests_have_room_for_the_budget() {
        for manifest in [
            include_str!("../../../../docs/deploy/kubernetes/deployment.yaml"),
            include_str!("../../../../docs/deploy/kubernetes/statefulset.yaml"),
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
