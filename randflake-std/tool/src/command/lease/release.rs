//! The command `randflake lease release`.

use core::time::Duration;
use std::io::Write;

use randflake_common::leases::{Snapshot, device_id};
use randflake_common::number::{check, within};
use randflake_std::MAX_TOLERANCE_MS;
use randflake_std::date::span;
use randflake_std::lease::{Grant, LeaseStore, Namespace, Record, RequestId};

use super::grants::{self, GrantArgs, request_id};
use crate::failure::Failure;
use crate::output::{stdout, visible};
use crate::store::StoreArgs;

/// End leases by hand
///
/// There is rarely a reason to: a lease that is not renewed ends by itself, within a minute unless its
/// holder asked for more. To release it sooner is right only when its holder is gone for good and the
/// store's clock was not set back since it began; else ids repeat. A lease whose holder is a running
/// process of this machine is never released. Of a process of another machine or container nothing is known here.
/// Either all the leases are released or none.
///
/// What `lease acquire` gave is released with what it, or the last renewal, has printed: --grant. If a copy of that was
/// renewed, nothing is released.
///
/// The lease of a device that will not use it any more is released from the device's horizon on, which only the
/// device knows.
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
    /// The lease of this device, which began last if it has several: its number, up to 16 hex digits
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
    /// With --grant: the name of this release, new for each one, such as from uuidgen, and the same when it is repeated
    #[arg(long, value_name = "ID", requires = "grant", value_parser = request_id)]
    request: Option<RequestId>,
    /// With --grant: from this Unix time in milliseconds on no id was issued [default: 15 s from now]
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
        // The holder may have used ticks up to now, and as far ahead as any handle's tolerance goes.
        let ahead = Duration::from_millis(MAX_TOLERANCE_MS);
        // One more than the tick of the clock: that tick itself may have been used.
        let unused_from = snapshot.tick() + 1 + store.namespace().ticks(ahead);
        let ended = |record: &&Record| Grant {
            end: unused_from,
            ..record.grant
        };
        store.release(&live.iter().map(ended).collect::<Vec<_>>())?;
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
        let mut store = grants::open(&document, &self.store)?;
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
        // `--force` does not help against this: it is known that the holder goes on, not only possible.
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
