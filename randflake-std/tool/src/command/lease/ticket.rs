//! The command `randflake lease ticket`.

use core::time::Duration;
use std::env;
use std::io::Write;
use std::path::PathBuf;

use randflake_common::leases::device_id;
use randflake_std::Secret;
use randflake_std::lease::{DeviceLeaseError, DeviceRequest};
use randflake_std::randflake_core::Ticket;

use crate::failure::Failure;
use crate::output::stdout;
use crate::secret::{SecretArgs, TICKET_VARIABLE as VARIABLE};
use crate::store::LeaseArgs;
use crate::wait::{self, WaitArgs};
use randflake_common::number::within;

/// Lease a node id for a device, or renew its lease, and print the ticket
///
/// A ticket is 32 bytes, printed as 64 hex digits, which hand the device its lease over any channel. It is
/// authenticated under a key that server and device share, and good once: its counter is one more than that of the
/// device's last ticket, which the store keeps, unless it is given. `lease device` registers a device first. A device that goes on after a reset takes a renewed lease only if its horizon survived. The secret
/// of ids is not needed; where it is known here, a ticket under the same key is refused.
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
    /// Renew the lease that the device has, which began last if it has several, instead of a new one
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
        // The counter first: one that is taken and not used does no harm, a lease that is not used keeps a node id.
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
