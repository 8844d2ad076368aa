//! `lease acquire`, `lease renew` and `lease release`: leases as documents that other programs
//! present.

use core::slice;
use core::time::Duration;
use std::fs::File;
use std::io::{self, Read, Write};
#[cfg(unix)]
use std::os::unix::process::parent_id as caller_id;
use std::path::{Path, PathBuf};
#[cfg(not(unix))]
use std::process::id as caller_id;

use randflake_common::date;
use randflake_common::leases::{LeaseDocument, Snapshot, device_id};
use randflake_common::number::{check, within};
use randflake_std::date::span;
use randflake_std::lease::{
    AcquireRequest, Grant, LeaseStore, Namespace, NodeIds, Record, RequestId, Token,
    holder_of_process,
};
use randflake_std::{DEFAULT_TTL, MAX_TOLERANCE_MS};

use crate::failure::{Failure, say};
use crate::output::{stdout, visible};
use crate::secret::SecretArgs;
use crate::store::{LeaseArgs, StoreArgs};
use crate::wait::{self, WaitArgs};

/// Parses the name of a renewal or release.
pub(super) fn request_id(text: &str) -> Result<RequestId, String> {
    text.parse()
        .map_err(|_| format!("{} are allowed, such as from uuidgen", RequestId::ALLOWED))
}

/// The option that names a document.
#[derive(Debug, clap::Args)]
pub(super) struct GrantArgs {
    /// What `lease acquire --json` or `lease renew --json` has printed; - is standard input
    #[arg(long, value_name = "FILE")]
    pub(super) grant: Option<PathBuf>,
}

impl GrantArgs {
    /// Reads the document from the file, or from standard input without one.
    pub(super) fn read(&self) -> Result<LeaseDocument, Failure> {
        /// Longest document in bytes: all 131,072 leases of a namespace take 26 MB.
        const MOST: u64 = 64 << 20;
        let stdin = Path::new("-");
        let path = self.grant.as_deref().unwrap_or(stdin);
        let mut text = String::new();
        let (shown, read) = if path == stdin {
            let read = io::stdin().lock().take(MOST).read_to_string(&mut text);
            ("standard input".to_owned(), read)
        } else {
            let read = File::open(path).and_then(|file| file.take(MOST).read_to_string(&mut text));
            (path.display().to_string(), read)
        };
        read.map_err(|error| Failure::failed(format!("{shown}: {error}")))?;
        // Unknown fields are ignored: a newer program may add some that an older one can do
        // without. What it cannot do without raises the version.
        let document: LeaseDocument = serde_json::from_str(&text).map_err(|error| {
            Failure::usage(format!(
                "{shown}: this is not what `randflake lease acquire --json` prints: {error}"
            ))
        })?;
        // Damaged leases are refused before anything is asked of a store.
        document.grants()?;
        Ok(document)
    }
}

/// Opens the store of the document's namespace, which must be there and have the same layout.
pub(super) fn open(document: &LeaseDocument, store: &StoreArgs) -> Result<LeaseStore, Failure> {
    // The document's namespace counts, whatever the options say: in another one its node ids
    // are somebody else's.
    let opened = store.open_named(&document.namespace)?;
    document.check_layout(opened.namespace())?;
    Ok(opened)
}

/// Prints the leases for programs or people.
pub(super) fn print(document: &LeaseDocument, json: bool) -> Result<(), Failure> {
    let mut out = stdout();
    if json {
        out.object(document)?;
    } else {
        write!(out, "{document}")?;
    }
    Ok(out.flush()?)
}

/// Names the program that runs this command as the holder: the command itself ends before the lease
/// does.
pub(super) fn caller() -> Result<String, Failure> {
    // The parent is that program. Where the system cannot tell, the command's own number has to do.
    holder_of_process(caller_id()).map_err(Failure::failed)
}

/// Lease node ids for another program
///
/// Prints what it needs to issue ids, and what `lease renew` and `lease release` take. In each tick
/// from start_tick up to and without end_tick (from start_unix_ms up to and without end_unix_ms)
/// one generator may issue each sequence of the node id once. It renews at a third of the time, and
/// stops at the end unless that was moved. Nobody else has the node id before.
///
/// It needs no secret. Where one is known here, a namespace of another secret is refused.
///
/// Exit status: 0 granted, 1 failed, 2 wrong arguments, 3 nothing granted now: try again later, or
/// use --wait.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake lease acquire --json > lease.json
  randflake lease acquire -n 4 --ttl 5m --max-ttl 5m --holder import/7 --wait 2m --json
  randflake lease renew --grant lease.json --request $(uuidgen) --json > new.json && mv new.json lease.json
  randflake lease release --grant lease.json --request $(uuidgen)")]
pub(crate) struct LeaseAcquireArgs {
    /// How many node ids to lease
    #[arg(
        short = 'n',
        long,
        value_name = "K",
        default_value = "1",
        value_parser = within::<u32>(1..=u64::from(u32::MAX)),
        allow_negative_numbers = true,
        conflicts_with = "node_id"
    )]
    count: u32,
    /// This node id, instead of any that is free
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    node_id: Option<String>,
    /// How long the lease lasts unless it is renewed: seconds, or a time such as 90s or 5m
    /// [default: 1m]
    #[arg(long, value_name = "TIME", value_parser = date::duration)]
    ttl: Option<Duration>,
    /// Who has it, for `lease list` [default: host, process that runs this command, a random
    /// number]
    #[arg(long, value_name = "NAME")]
    holder: Option<String>,
    /// Print a JSON object, which `lease renew` and `lease release` need
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    secret: SecretArgs,
    #[command(flatten)]
    store: LeaseArgs,
}

impl LeaseAcquireArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let layout = self.store.layout();
        let chosen = layout.node_id(self.node_id.as_deref())?;
        let holder = match &self.holder {
            // `lease ticket` finds the lease of a device by such a name, and `lease list` shows
            // nothing of an empty one.
            Some(name) if name.is_empty() || name.starts_with("device/") => {
                return Err(Failure::usage(format!(
                    "--holder {name:?}: it must have a character, and not begin with device/, which is for `randflake \
                     lease ticket`"
                )));
            }
            Some(name) => name.clone(),
            None => caller()?,
        };
        let mut store = self.store.open_within(&self.wait)?;
        // So that a namespace of another secret refuses; one without a check value takes this one.
        if let Some(key_check) = layout.known_key_check(&self.secret)? {
            store.set_key_check(key_check);
        }
        let namespace = store.namespace();
        // A layout may have ticks that are longer than the default.
        let shortest = Duration::from_millis(namespace.spec().tick_ms());
        // One token for all attempts: a repetition after a lost answer gets the same grants.
        let request = AcquireRequest {
            token: Token::random().map_err(Failure::failed)?,
            holder: &holder,
            nodes: match &chosen {
                Some(chosen) => NodeIds::These(slice::from_ref(chosen)),
                None => NodeIds::Any(self.count),
            },
            ttl: namespace.ticks(self.ttl.unwrap_or(DEFAULT_TTL.max(shortest))),
        };
        let acquired = self.wait.until(wait::sleep, || store.acquire(&request))?;
        let document = LeaseDocument::of(store.namespace(), holder.clone(), &acquired);
        print(&document, self.json).inspect_err(|_| {
            // Nobody has read the whole document, so nobody issues ids. If the release fails, the
            // leases expire.
            let unused = acquired.grants.iter().map(|grant| Grant {
                end: grant.start,
                ..*grant
            });
            _ = store.release(&unused.collect::<Vec<_>>());
        })
    }
}

/// Renew leases that `lease acquire` gave
///
/// Reads what it has printed, from standard input unless --grant names a file, and prints the same
/// with the new ends. After exit status 1 the leases may have been renewed or not: they last until
/// their old ends at least. Repeat the renewal of the same file with the same --request: it gets
/// the same answer. A lease that is lost must not be used any more; the others are printed.
///
/// Each renewal makes what was printed before it obsolete. Of two programs with copies of one file,
/// the first to renew goes on, and the other one's leases are lost as contested.
///
/// Exit status: 0 all are renewed, 1 failed, 2 wrong arguments or input, 4 at least one is lost.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake lease renew --grant lease.json --request $(uuidgen) --json > new.json && mv new.json lease.json")]
pub(crate) struct LeaseRenewArgs {
    #[command(flatten)]
    grant: GrantArgs,
    /// The name of this renewal: new for each one, such as from uuidgen, and the same when it is
    /// repeated
    #[arg(long, value_name = "ID", value_parser = request_id)]
    request: RequestId,
    /// How long they last from now: seconds, or a time such as 90s or 5m [default: 1m]
    #[arg(long, value_name = "TIME", value_parser = date::duration)]
    ttl: Option<Duration>,
    /// Print a JSON object, which the next renewal or the release needs
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreArgs,
}

impl LeaseRenewArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let document = self.grant.read()?;
        let mut store = open(&document, &self.store)?;
        let document = document.renewed(&mut store, &self.request, self.ttl)?;
        // Printed also if leases are lost: the others go on, and their old document is obsolete.
        print(&document, self.json)?;
        // The words lack the nonce of this renewal, and the old document is refused from now on as
        // a copy.
        if !self.json && !document.leases.is_empty() {
            say(
                "the next renewal and the release need the leases as JSON: repeat this one with --json and the same \
                 --request",
            );
        }
        let lost = document.lost.iter();
        let lost: Vec<_> = lost
            .map(|lost| format!("{} ({})", lost.node, lost.reason))
            .collect();
        if lost.is_empty() {
            return Ok(());
        }
        Err(Failure::Lost(format!(
            "lost are the leases of node ids {}: issue no more ids with them",
            lost.join(", ")
        )))
    }
}

/// End leases by hand
///
/// There is rarely a reason to: a lease that is not renewed ends by itself, within a minute unless
/// its holder asked for more. To release it sooner is right only when its holder is gone for good
/// and the store's clock was not set back since it began; else ids repeat. A lease whose holder is
/// a running process of this machine is never released. Of a process of another machine or
/// container nothing is known here. Either all the leases are released or none.
///
/// What `lease acquire` gave is released with what it, or the last renewal, has printed: --grant.
/// If a copy of that was renewed, nothing is released.
///
/// The lease of a device that will not use it any more is released from the device's horizon on,
/// which only the device knows.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake lease release 17 --force
  randflake lease release --grant lease.json --request $(uuidgen)
  randflake lease release --device 00000000d0e5 --horizon 1733706357")]
pub(crate) struct LeaseReleaseArgs {
    /// Node ids whose leases to release
    #[arg(
        required_unless_present_any = ["device", "grant"],
        conflicts_with_all = ["device", "grant"],
        value_name = "NODE",
        allow_negative_numbers = true
    )]
    nodes: Vec<String>,
    /// The lease of this device, which began last if it has several: its number, up to 16 hex
    /// digits
    #[arg(long, value_name = "HEX", value_parser = device_id, requires = "horizon", conflicts_with = "force")]
    device: Option<u64>,
    /// The device's horizon: the time from which on it has issued nothing, in seconds of Unix time
    #[arg(
        long,
        value_name = "SECONDS",
        value_parser = within::<u32>(0..=u64::from(u32::MAX)),
        requires = "device"
    )]
    horizon: Option<u32>,
    /// Release them: their holders are gone for good
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    grant: GrantArgs,
    /// With --grant: the name of this release, new for each one, such as from uuidgen, and the same
    /// when it is repeated
    #[arg(long, value_name = "ID", requires = "grant", value_parser = request_id)]
    request: Option<RequestId>,
    /// With --grant: from this Unix time in milliseconds on no id was issued [default: 15 s from
    /// now]
    #[arg(long, value_name = "MS", requires = "grant", value_parser = within::<u64>(0..=u64::MAX))]
    unused_from_ms: Option<u64>,
    #[command(flatten)]
    store: StoreArgs,
}

impl LeaseReleaseArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        if self.grant.grant.is_some() {
            return self.release_grants();
        }
        let mut store = self.store.open_stored()?;
        let nodes = self.read_nodes(store.namespace())?;
        if let (Some(device), Some(horizon)) = (self.device, self.horizon) {
            // Up to its horizon the device may have issued any id, whether it is running or not.
            let lease = store.devices().find(device)?;
            let node = lease.grant().node_id;
            lease.release(&mut store, Duration::from_secs(horizon.into()))?;
            return print_ends(&mut store, &[node]);
        }
        let snapshot = Snapshot::take(&mut store)?;
        let live: Vec<_> = snapshot
            .live()
            .filter(|record| nodes.contains(&record.grant.node_id))
            .collect();
        // All are checked before any is released.
        live.iter()
            .try_for_each(|record| self.check(&snapshot, record))?;
        // The holder may have used ticks up to now, and as far ahead as any handle's tolerance
        // goes.
        let ahead = Duration::from_millis(MAX_TOLERANCE_MS);
        // One more than the tick of the clock: that tick itself may have been used.
        let unused_from = snapshot.tick() + 1 + store.namespace().ticks(ahead);
        store.release(
            &live
                .iter()
                .map(|record: &&Record| Grant {
                    end: unused_from,
                    ..record.grant
                })
                .collect::<Vec<_>>(),
        )?;
        print_ends(&mut store, &nodes)
    }

    /// Releases the leases of a document.
    fn release_grants(&self) -> Result<(), Failure> {
        let Some(request) = &self.request else {
            return Err(Failure::usage(
                "--request ID is missing: a name for this release, such as from uuidgen; a repetition after a lost answer \
                 brings the same",
            ));
        };
        let document = self.grant.read()?;
        let mut store = open(&document, &self.store)?;
        let unused_from = self.unused_from_ms.map(Duration::from_millis);
        document.release(&mut store, request, unused_from)?;
        let nodes: Vec<_> = document.leases.iter().map(|lease| lease.node).collect();
        print_ends(&mut store, &nodes)
    }

    fn read_nodes(&self, namespace: &Namespace) -> Result<Vec<u32>, Failure> {
        let range = 0..=namespace.spec().max_node_id().into();
        let nodes = self.nodes.iter();
        nodes
            .map(|node| check("<NODE>...", node, range.clone()))
            .collect()
    }

    /// Refuses to release a lease whose holder may still issue ids.
    fn check(&self, snapshot: &Snapshot, record: &Record) -> Result<(), Failure> {
        let (node, holder) = (record.grant.node_id, visible(&record.holder));
        let left = span(snapshot.remaining(record));
        // `--force` does not help against this: it is known that the holder goes on, not only
        // possible.
        let running = record.is_holder_running();
        if running == Some(true) {
            return Err(Failure::failed(format!(
                "node id {node} is leased by {holder}, a running process of this machine, and is not \
                 released: end the process, and it is free at most {left} later"
            )));
        }
        if !self.force {
            let known = match running {
                Some(_) => "a process of this machine that has ended",
                None => {
                    "which may be running: nothing is known here of processes of another machine, container or boot"
                }
            };
            return Err(Failure::failed(format!(
                "node id {node} is leased by {holder} ({known}), and free by itself in {left} unless renewed; to \
                 release it now repeats ids unless its holder is gone for good and the clock was not set \
                 back since: if so, add --force"
            )));
        }
        Ok(())
    }
}

/// Prints when each node id is free.
fn print_ends(store: &mut LeaseStore, nodes: &[u32]) -> Result<(), Failure> {
    let snapshot = Snapshot::take(store)?;
    let mut out = stdout();
    for node in nodes {
        let mut live = snapshot.live();
        let record = live.find(|record| record.grant.node_id == *node);
        match record.map(|record| snapshot.remaining(record)) {
            None | Some(Duration::ZERO) => writeln!(out, "node id {node} is free")?,
            Some(left) => writeln!(out, "node id {node} is free in {}", span(left))?,
        }
    }
    Ok(out.flush()?)
}
