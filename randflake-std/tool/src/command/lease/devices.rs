//! `lease device` and `lease ticket`, and the ledger of leases that devices hold.

use core::time::Duration;
use std::collections::BTreeMap;
use std::env;
use std::io::Write;
use std::path::PathBuf;

use randflake_common::date;
use randflake_common::layout::IdEncryption;
use randflake_common::leases::device_id;
use randflake_common::number::within;
use randflake_std::Secret;
use randflake_std::date::{span, utc};
use randflake_std::lease::{
    AcquireRequest, Device, DeviceError, DeviceLeaseError, DeviceRequest, Grant, KeyCheck,
    LeaseStore, Namespace, NodeIds, QuarantineCause, StoreError, Token,
};
use randflake_std::randflake_core::{LayoutSpec, Ticket};

use crate::failure::Failure;
use crate::output::{stdout, visible};
use crate::secret::{SecretArgs, TICKET_VARIABLE as VARIABLE};
use crate::store::{LeaseArgs, StoreArgs};
use crate::wait::{self, WaitArgs};

/// How the leases of devices are named, here and in
/// [`DeviceLease`](randflake_std::lease::DeviceLease).
fn holder(device: u64) -> String {
    format!("device/{device:016x}")
}

/// A namespace as the list of which device has which node id.
#[derive(Debug)]
pub(super) struct Ledger {
    store: LeaseStore,
}

impl Ledger {
    /// The form of its devices' ids.
    pub(super) fn form(args: &StoreArgs) -> Result<IdEncryption, Failure> {
        Ok(IdEncryption::of(&stored(args, args.namespace_name())?))
    }

    /// Opens the namespace that the options name, for devices that have the key of this check
    /// value, if that is known.
    pub(super) fn open(args: &StoreArgs, key: Option<KeyCheck>) -> Result<Self, Failure> {
        let store = args.open(&stored(args, args.namespace_name())?)?;
        Ok(Self::of(store, key))
    }

    /// Opens the namespace of a layout that the options name. The longest TTL, which is as long as
    /// grants, is the stored one; another layout is refused by the store.
    pub(super) fn open_of_layout(args: &LeaseArgs, key: Option<KeyCheck>) -> Result<Self, Failure> {
        let namespace = args.namespace()?;
        let longest = stored(args.store(), namespace.name())?.max_ttl();
        let store = args.store().open(&namespace.with_max_ttl(longest))?;
        Ok(Self::of(store, key))
    }

    fn of(mut store: LeaseStore, key: Option<KeyCheck>) -> Self {
        // A station with another key file is refused by the store, as a server would be.
        if let Some(key) = key {
            store.set_key_check(key);
        }
        Self { store }
    }

    pub(super) fn spec(&self) -> LayoutSpec {
        self.store.namespace().spec()
    }

    /// The leases of all devices, in the order in which they began. One that was given back is
    /// empty, and no longer counts.
    pub(super) fn leases(&mut self) -> Result<BTreeMap<u64, Vec<Grant>>, Failure> {
        let mut leases: BTreeMap<_, Vec<Grant>> = BTreeMap::new();
        for record in self.store.list()? {
            let number = record.holder.strip_prefix("device/");
            let device = number.and_then(|number| u64::from_str_radix(number, 16).ok());
            let is_empty = record.grant.start >= record.grant.end;
            // No other spelling: other holders may have names that look like it.
            if let Some(device) = device.filter(|device| holder(*device) == record.holder)
                && !is_empty
            {
                leases.entry(device).or_default().push(record.grant);
            }
        }
        for grants in leases.values_mut() {
            grants.sort_unstable_by_key(|grant| (grant.start, grant.fencing_token));
        }
        Ok(leases)
    }

    /// Whether a device is in the ledger.
    pub(super) fn knows(&mut self, device: u64) -> Result<bool, Failure> {
        match self.store.devices().request(device, &DeviceRequest::Look) {
            Ok(_) => Ok(true),
            Err(DeviceError::Unknown { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Puts a device into the ledger; `false` if it is there, also if another station was faster.
    pub(super) fn register(&mut self, device: u64, owner: &str) -> Result<bool, Failure> {
        match self
            .store
            .devices()
            .request(device, &DeviceRequest::New { owner })
        {
            Ok(_) => Ok(true),
            Err(DeviceError::Known { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes a device that is there anew, unchanged. Whatever the store has shown before survives
    /// a crash from then on: it may be the write of a run that was cut, whose log is not on the
    /// disk yet.
    pub(super) fn confirm(&mut self, device: u64) -> Result<(), Failure> {
        let request = DeviceRequest::Register {
            owner: None,
            reported: None,
        };
        self.store.devices().request(device, &request)?;
        Ok(())
    }

    /// Moves a device that is there to another owner. Its counter stays.
    pub(super) fn set_owner(&mut self, device: u64, owner: &str) -> Result<(), Failure> {
        let request = DeviceRequest::Register {
            owner: Some(owner),
            reported: None,
        };
        self.store.devices().request(device, &request)?;
        Ok(())
    }

    /// Leases any node id for a device until a time. The token names the lease: who finds it in the
    /// ledger after a failure knows that it is the one that was asked for.
    pub(super) fn lease(
        &mut self,
        device: u64,
        token: Token,
        until: Duration,
    ) -> Result<Grant, Failure> {
        let leased = self.acquire(device, token, NodeIds::Any(1), until)?;
        leased.map_err(refusal)
    }

    /// Leases this node id, as [`lease`](Self::lease) does; `None` if another one has it.
    pub(super) fn lease_chosen(
        &mut self,
        device: u64,
        token: Token,
        node_id: u32,
        until: Duration,
    ) -> Result<Option<Grant>, Failure> {
        match self.acquire(device, token, NodeIds::These(&[node_id]), until)? {
            Err(StoreError::Exhausted { .. }) => Ok(None),
            leased => leased.map(Some).map_err(refusal),
        }
    }

    /// Asks the store for one node id.
    fn acquire(
        &mut self,
        device: u64,
        token: Token,
        nodes: NodeIds<'_>,
        until: Duration,
    ) -> Result<Result<Grant, StoreError>, Failure> {
        let store = &mut self.store;
        let namespace = store.namespace();
        let (longest, ttl) = (namespace.max_ttl(), until.saturating_sub(date::now()));
        if ttl.is_zero() || ttl > longest {
            return Err(Failure::usage(format!(
                "the grant would last {} days: up to {} are allowed here, the longest TTL of namespace {:?}, which was fixed \
                 when it was made (`randflake lease init --max-ttl`)",
                days(ttl),
                days(longest),
                namespace.name()
            )));
        }
        let request = AcquireRequest {
            token,
            holder: &holder(device),
            nodes,
            ttl: namespace.ticks(ttl),
        };
        match wait::past_youth(|| store.acquire(&request)) {
            Ok(acquired) => match acquired.grants.first() {
                Some(grant) => Ok(Ok(*grant)),
                None => Err(Failure::failed("the store granted nothing")),
            },
            Err(error) => Ok(Err(error)),
        }
    }

    /// Who has a node id, if that is known.
    pub(super) fn holder_of(&mut self, node_id: u32) -> Result<Option<String>, Failure> {
        let records = self.store.list_from(node_id, 1)?;
        let record = records
            .first()
            .filter(|record| record.grant.node_id == node_id);
        Ok(record.map(|record| visible(&record.holder)))
    }

    /// Gives back a node id that no device has got.
    pub(super) fn give_back(&mut self, grant: &Grant) -> Result<(), Failure> {
        let unused = Grant {
            end: grant.start,
            ..*grant
        };
        Ok(self.store.release(&[unused])?)
    }
}

/// The namespace as it is stored. It is never made on the way: a new one in place of one that is
/// lost would give node ids a second time.
fn stored(args: &StoreArgs, name: &str) -> Result<Namespace, Failure> {
    match args.find(name)? {
        Some(namespace) => Ok(namespace),
        None => Err(Failure::failed(format!(
            "there is no namespace {name:?} in {}. If devices were given node ids in one, find that store, or restore it: a \
             new one would give them a second time. If this factory is new, make its namespace once: randflake lease init \
             --namespace NAME --max-ttl 3660d --no-wait",
            args.shown_url()?
        ))),
    }
}

/// In days, which is precise enough for spans of years.
fn days(span: Duration) -> u64 {
    span.as_secs() / (24 * 60 * 60)
}

/// Why no node id was leased, and what to do.
fn refusal(error: StoreError) -> Failure {
    match error {
        StoreError::Exhausted { retry_in } => Failure::failed(format!(
            "no node id is free, and none will be for {}: give these devices a namespace and a key of their own",
            span(retry_in)
        )),
        StoreError::Quarantined { quarantine, .. } if quarantine.cause == QuarantineCause::Lost => {
            Failure::failed(format!(
                "the ledger may have forgotten devices (noticed {}): it is a copy, or was restored or moved. Go on with the \
                 original, on all stations with one store, such as postgres://HOST/DATABASE. If this is the newest there is \
                 and no device is missing in it, `randflake lease quarantine --end`; else these devices need a namespace and \
                 a key of their own",
                utc(quarantine.since)
            ))
        }
        error => error.into(),
    }
}

/// Register a device that gets its leases by tickets, or show what is known of it
///
/// A store keeps for each device the counter of its last ticket, and its owner: the name of the
/// token of `randflake serve` that gets tickets for it. `lease ticket` makes tickets for every
/// registered device, of any owner.
///
/// --counter says where the tickets go on: 0 for a new device; for one whose record was lost, or
/// was counted too far, what the device itself reports as its last. Never less than that: the
/// device refuses tickets up to it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake lease device 00000000d0e5 --counter 0
  randflake lease device 00000000d0e5 --counter 0 --owner meters
  randflake lease device 00000000d0e5 --owner other-site
  randflake lease device 00000000d0e5")]
pub(crate) struct LeaseDeviceArgs {
    /// The device's number, up to 16 hex digits
    #[arg(value_name = "HEX", value_parser = device_id)]
    device: u64,
    /// The token of `randflake serve` that gets tickets for it; '' for none
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,
    /// The counter of the last ticket that the device has accepted, as it reports it; 0 for a new
    /// device
    #[arg(long, value_name = "N", value_parser = within::<u32>(0..=(1 << 30) - 1))]
    counter: Option<u32>,
    #[command(flatten)]
    store: StoreArgs,
}

impl LeaseDeviceArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        // Devices belong to a namespace that is there: the store knows its layout.
        let mut store = self.store.open_stored()?;
        // Without options the command changes nothing.
        let request = if self.owner.is_none() && self.counter.is_none() {
            DeviceRequest::Look
        } else {
            DeviceRequest::Register {
                owner: self.owner.as_deref(),
                reported: self.counter,
            }
        };
        let Device {
            owner,
            last_counter,
        } = store.devices().request(self.device, &request)?;
        let owner = if owner.is_empty() {
            "nobody".to_owned()
        } else {
            visible(&owner)
        };
        let mut out = stdout();
        writeln!(
            out,
            "device {:016x} is owned by {owner}; its last ticket has counter {last_counter}",
            self.device
        )?;
        Ok(out.flush()?)
    }
}

/// Lease a node id for a device, or renew its lease, and print the ticket
///
/// A ticket is 32 bytes, printed as 64 hex digits, which hand the device its lease over any
/// channel. It is authenticated under a key that server and device share, and good once: its
/// counter is one more than that of the device's last ticket, which the store keeps, unless it is
/// given. `lease device` registers a device first. A device that goes on after a reset takes a
/// renewed lease only if its horizon survived. The secret of ids is not needed; where it is known
/// here, a ticket under the same key is refused.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake lease device 00000000d0e5 --counter 0
  randflake lease ticket --device 00000000d0e5 --ticket-key-file meters.key --max-ttl 30d
  randflake lease ticket --device 00000000d0e5 --ticket-key-file meters.key --max-ttl 30d --renew")]
pub(crate) struct LeaseTicketArgs {
    /// The device's number, up to 16 hex digits
    #[arg(long, value_name = "HEX", value_parser = device_id)]
    device: u64,
    #[command(flatten)]
    key: TicketKeyArgs,
    /// Seconds until the lease ends [default: the longest TTL of the namespace]
    #[arg(long, value_name = "SECONDS", value_parser = within::<u64>(1..=u64::from(u32::MAX)))]
    ttl_s: Option<u64>,
    /// Renew the lease that the device has, which began last if it has several, instead of a new
    /// one
    #[arg(long)]
    renew: bool,
    /// The ticket's counter: at most 1000 above that of the device's last one [default: one above]
    #[arg(long, value_name = "N", value_parser = within::<u32>(1..=u64::from(Ticket::MAX_COUNTER)))]
    counter: Option<u32>,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    secret: SecretArgs,
    #[command(flatten)]
    store: LeaseArgs,
}

/// Under which key tickets are made.
#[derive(Debug, clap::Args)]
pub(crate) struct TicketKeyArgs {
    /// File of the tickets' key, 32 hex digits, which only its owner may read; never that of ids
    ///
    /// Without it the key is that of the environment variable RANDFLAKE_TICKET_KEY.
    #[arg(long, value_name = "FILE")]
    ticket_key_file: Option<PathBuf>,
}

impl LeaseTicketArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let key = self.key.read()?;
        let key = key.ok_or_else(|| {
            Failure::usage(format!(
                "no key: set {VARIABLE} or give --ticket-key-file FILE"
            ))
        })?;
        // Before the store is asked: a refused key must not use up a counter.
        self.secret.differs_from(&key)?;
        let mut store = self.store.open_within(&self.wait)?;
        // The counter first: one that is taken and not used does no harm, a lease that is not used
        // keeps a node id.
        let next = DeviceRequest::NextTicket {
            owner: None,
            counter: self.counter,
        };
        let device = self
            .wait
            .until(wait::sleep, || store.devices().request(self.device, &next))?;
        let counter = device.last_counter;
        let longest = store.namespace().max_ttl();
        let ttl = self.ttl_s.map_or(longest, Duration::from_secs);
        let lease = self.wait.until(wait::sleep, || {
            if !self.renew {
                return Ok(store.devices().acquire(self.device, ttl)?);
            }
            // Found anew in each attempt: the one before may have renewed it and lost the answer.
            let mut lease = store.devices().find(self.device)?;
            lease.renew(&mut store, ttl)?;
            Ok::<_, DeviceLeaseError>(lease)
        })?;
        let ticket = lease.ticket(counter, &key).map_err(Failure::failed)?;
        let mut out = stdout();
        for byte in ticket {
            write!(out, "{byte:02x}")?;
        }
        writeln!(out)?;
        Ok(out.flush()?)
    }
}

impl TicketKeyArgs {
    /// Whether a file was typed: the variable may be meant for other commands.
    #[cfg(feature = "serve")]
    pub(crate) fn is_named(&self) -> bool {
        self.ticket_key_file.is_some()
    }

    /// `None` if there is none.
    pub(crate) fn read(&self) -> Result<Option<Secret>, Failure> {
        if let Some(path) = &self.ticket_key_file {
            return Secret::from_file(path).map(Some).map_err(Failure::failed);
        }
        if env::var_os(VARIABLE).is_none() {
            return Ok(None);
        }
        let key = Secret::from_env(VARIABLE);
        key.map(Some)
            .map_err(|error| Failure::usage(format!("{VARIABLE}: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use randflake_std::lease::MemoryStore;
    use randflake_std::{Randflake, SystemClock};
    use std::sync::Arc;

    #[test]
    fn a_lease_that_was_given_back_is_none() {
        let year = Duration::from_secs(365 * 24 * 60 * 60);
        let namespace = Namespace::new("meters", Randflake).unwrap();
        let store = MemoryStore::new(namespace.with_max_ttl(year), Arc::new(SystemClock));
        let mut ledger = Ledger::of(store.into(), None);
        let mut lease = |token| {
            let until = date::now() + year / 2;
            ledger
                .lease(7, Token::from_bytes([token; 16]), until)
                .unwrap()
        };
        let (kept, returned) = (lease(1), lease(2));
        ledger.give_back(&returned).unwrap();
        assert_eq!(ledger.leases().unwrap(), [(7, vec![kept])].into());
    }
}
