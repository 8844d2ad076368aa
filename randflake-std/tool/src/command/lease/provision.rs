//! `lease provision`: the first pages of a device, as an image for its flash.

use core::time::Duration;
use std::path::PathBuf;

use randflake_common::leases::device_id;
use randflake_std::date::utc;
use randflake_std::lease::Token;
use randflake_std::private_file;
use randflake_std::randflake_core::{LayoutSpec, Lease};

use super::devices::Ledger;
use super::factory::ImageFormat;
use super::factory::first_horizon;
use super::factory::{DeviceKey, FactoryArgs, GrantPlace, grant};
use crate::failure::Failure;
use crate::output::print_line;
use crate::store::LeaseArgs;

/// Write the first horizon of a new device, and its grant, as an image to program
///
/// A device without a horizon issues nothing: its flash may have been erased after it issued ids.
/// So the factory writes the first one, once for each device, and once more for each device that
/// lost it and gets another grant. Never write it to a device that is in use with the grant that it
/// has: it would issue the same ids again.
///
/// The image holds all pages of the horizon, so none keeps an older record, and the grant, 32
/// bytes, little-endian: node id, first tick, first tick after the grant, the version (2 of layouts
/// of up to 53 bits, else 1), 16 of the key or of ones. The key is the secret, or that of 53-bit
/// ids (`keygen --key53`), if the layout has these. A device that is granted its node ids by `lease
/// ticket` needs no grant here.
///
/// With --device the device is registered in the store, as `lease device` does, unless it is there:
/// then its counter stays. If a grant is written, too, its node id is leased from the store until
/// the grant ends, another one each time: so a device that has lost its horizon is provisioned
/// again by the same command. `lease line` does this for many devices.
///
/// With --node-id no store is asked: give each node id to one device, and to no namespace of a
/// store with the same secret.
///
/// The image is written to a new file that only its owner may read.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake lease provision --horizon-at 0x101fc000 --page-size 4096 --device d0e5 --out d0e5.hex
  randflake lease provision --horizon-at 0x101fc000 --page-size 4096 --node-id 42 \\
    --until 2036-11-22 --grant-at 0x101fb000 --with-key --key-file devices.key --out 42.hex
  randflake lease provision --horizon-at 0 --page-size 4096 --format bin --out horizon.bin")]
pub(crate) struct LeaseProvisionArgs {
    #[command(flatten)]
    factory: FactoryArgs,
    /// Register this device: its number, up to 16 hex digits
    #[arg(long, value_name = "HEX", value_parser = device_id, conflicts_with = "node_id")]
    device: Option<u64>,
    /// The token of `randflake serve` that gets tickets for the device
    #[arg(long, value_name = "NAME", requires = "device")]
    owner: Option<String>,
    /// The device's own node id, which no other device ever gets
    #[arg(
        long,
        value_name = "N",
        requires = "grant_at",
        allow_negative_numbers = true
    )]
    node_id: Option<String>,
    /// Intel HEX with addresses, or the bytes of the horizon's pages alone
    #[arg(long, value_enum, default_value_t)]
    format: ImageFormat,
    /// The file to write, which must not exist
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    store: LeaseArgs,
}

impl LeaseProvisionArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let key = self.factory.key(self.store.layout().form())?;
        let place = self.factory.grant_place();
        // Before a node id is leased, which nobody else gets for years.
        if self.out.exists() {
            let exists = std::io::ErrorKind::AlreadyExists.into();
            return Err(Failure::of_new_file(&self.out, &exists));
        }
        let from = self.factory.from();
        let spec = self.store.layout().spec();
        // What makes no image is refused before the store is asked.
        let given = self.store.layout().node_id(self.node_id.as_deref())?;
        let tried = place.map(|place| grant(spec, given.unwrap_or(0), from, place.until));
        let mut lease = tried.transpose()?;
        let mut file = self.file(place, lease.as_ref(), key.as_ref(), from)?;
        // The store before the file: a device that is registered without an image does no harm, and
        // the command can be repeated; an existing file would refuse the repetition.
        match (self.device, place) {
            (Some(device), None) => self.register(device, &mut self.ledger(key.as_ref())?)?,
            (Some(device), Some(place)) => {
                let mut ledger = self.ledger(key.as_ref())?;
                let token = Token::random().map_err(Failure::failed)?;
                let leased = ledger.lease(device, token, place.until)?;
                self.register(device, &mut ledger)?;
                let from = from.max(unix(spec, leased.start));
                lease = Some(grant(spec, leased.node_id, from, place.until)?);
                file = self.file(Some(place), lease.as_ref(), key.as_ref(), from)?;
            }
            (None, Some(_)) if given.is_none() => {
                return Err(Failure::usage(
                    "--grant-at: say whose node id the grant has, with --node-id N, or with --device HEX for one of the \
                     store's",
                ));
            }
            (None, _) => {}
        }
        private_file::write_new(&self.out, &file)
            .map_err(|error| Failure::of_new_file(&self.out, &error))?;
        let first = first_horizon(begins(lease.as_ref(), from))?;
        let first = Duration::from_secs(first.unix_s().into());
        match lease {
            Some(lease) => print_line(format_args!(
                "node id {} until {}; no id will be of a time before {}",
                lease.node_id(),
                utc(unix(spec, lease.end())),
                utc(first)
            )),
            None => print_line(format_args!(
                "no id will be of a time before {}",
                utc(first)
            )),
        }
    }

    fn file(
        &self,
        place: Option<GrantPlace>,
        lease: Option<&Lease<LayoutSpec>>,
        key: Option<&DeviceKey>,
        from: Duration,
    ) -> Result<Vec<u8>, Failure> {
        let grant = place.zip(lease).map(|(place, lease)| (place, lease, key));
        let image = self.factory.image(grant, begins(lease, from))?;
        image.to_file(self.format)
    }

    fn ledger(&self, key: Option<&DeviceKey>) -> Result<Ledger, Failure> {
        Ledger::open_of_layout(&self.store, key.map(|key| key.check))
    }

    /// Registers the device.
    ///
    /// One that is registered keeps its counter: after it is provisioned once more it still refuses
    /// the tickets that it has had.
    fn register(&self, device: u64, ledger: &mut Ledger) -> Result<(), Failure> {
        let is_new = ledger.register(device, self.owner.as_deref().unwrap_or_default())?;
        match &self.owner {
            Some(owner) if !is_new => ledger.set_owner(device, owner),
            _ => Ok(()),
        }
    }
}

/// When the first id may be made: a grant begins with a tick.
fn begins(lease: Option<&Lease<LayoutSpec>>, from: Duration) -> Duration {
    lease.map_or(from, |lease| unix(lease.layout(), lease.start()).max(from))
}

pub(super) fn unix(spec: LayoutSpec, tick: u64) -> Duration {
    Duration::from_millis(spec.unix_ms(tick))
}
