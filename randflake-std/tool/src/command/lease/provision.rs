//! The command `randflake lease provision`.

use core::time::Duration;
use std::path::PathBuf;

use randflake_std::date::utc;
use randflake_std::lease::{DeviceError, DeviceRequest};
use randflake_std::randflake_core::{HorizonRecord, LayoutSpec, Lease};

use super::image::{FlashImage, ImageFormat};
use super::ticket::device_id;
use crate::date;
use crate::failure::Failure;
use crate::number::{address, within};
use crate::output::print_line;
use crate::secret::SecretArgs;
use crate::store::LeaseArgs;

/// Write the first horizon of a new device, and its grant, as an image to program
///
/// A device without a horizon issues nothing: its flash may have been erased after it issued ids. So the factory
/// writes the first one, once for each device, and once more for each device that lost it and gets another grant.
/// Never write it to a device that is in use with the grant that it has: it would issue the same ids again.
///
/// The image holds the record for `NorHorizon`, at the beginning of pages that are erased otherwise: a programmer that
/// takes Intel HEX erases the page that it writes to. Raw bytes are two whole pages. For a device that is granted its
/// node ids by `lease ticket` that is all; --device registers it in the store, as `lease device` does, unless it is there:
/// then its counter stays. For one with a node id of its own, --node-id, --until and --grant-at
/// add 32 bytes, little-endian: node id, first tick, first tick after the grant, 4 bytes of ones, 16 of the secret
/// or of ones. No store is asked then: give each node id to one device, and to no namespace of a store with the same
/// secret.
///
/// The image is written to a new file that only its owner may read.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake lease provision --horizon-at 0x101fe000 --page-size 4096 --device d0e5 --out d0e5.hex
  randflake lease provision --horizon-at 0x101fe000 --page-size 4096 --node-id 42 \\
    --until 2036-11-22 --grant-at 0x101fd000 --with-key --out 42.hex
  randflake lease provision --horizon-at 0 --page-size 4096 --format bin --out horizon.bin")]
pub(crate) struct LeaseProvisionArgs {
    /// Where the pages of the horizon begin: a number, or 0x and hex digits
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    horizon_at: u32,
    /// How many bytes the flash erases at once: a power of two
    #[arg(long, value_name = "BYTES", value_parser = power_of_two)]
    page_size: u32,
    /// The horizon is a `WriteOnceHorizon`, for flash with ECC or encryption: the record stands there twice
    #[arg(long)]
    write_once: bool,
    /// How many bytes a record takes, `SLOT` of `NorHorizon` and `WriteOnceHorizon`
    #[arg(long, value_name = "BYTES", default_value = "8", value_parser = within::<u32>(8..=1_024))]
    slot_size: u32,
    /// Register this device for tickets: its number, up to 16 hex digits
    #[arg(long, value_name = "HEX", value_parser = device_id, conflicts_with = "node_id")]
    device: Option<u64>,
    /// The token of `randflake serve` that gets tickets for the device
    #[arg(long, value_name = "NAME", requires = "device")]
    owner: Option<String>,
    /// The device's own node id, which no other device ever gets
    #[arg(long, value_name = "N", requires_all = ["until", "grant_at"], allow_negative_numbers = true)]
    node_id: Option<String>,
    /// When the device's first id may be made: a date, or a date and time, in UTC [default: now]
    #[arg(long, value_name = "DATE", value_parser = date)]
    from: Option<Duration>,
    /// When the grant ends
    #[arg(long, value_name = "DATE", value_parser = date, requires = "node_id")]
    until: Option<Duration>,
    /// Where the grant is written
    #[arg(long, value_name = "ADDRESS", value_parser = address, requires = "node_id")]
    grant_at: Option<u32>,
    /// Write the secret of ids beside the grant
    #[arg(long, requires = "grant_at")]
    with_key: bool,
    /// Intel HEX with addresses, or the bytes of two pages of the horizon alone
    #[arg(long, value_enum, default_value_t)]
    format: ImageFormat,
    /// The file to write, which must not exist
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    store: LeaseArgs,
    #[command(flatten)]
    secret: SecretArgs,
}

/// Parses a date in UTC as Unix time.
fn date(text: &str) -> Result<Duration, String> {
    let unix_ms = date::unix_ms(text).map(Duration::from_millis);
    unix_ms.ok_or_else(|| "a date such as 2036-11-22 or 2036-11-22T09:30:00Z is allowed".to_owned())
}

fn power_of_two(text: &str) -> Result<u32, String> {
    let size = address(text).ok().filter(|size| size.is_power_of_two());
    let size = size.filter(|size| (32..=1 << 20).contains(size));
    size.ok_or_else(|| "a power of two from 32 to 1048576 is allowed".to_owned())
}

impl LeaseProvisionArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let spec = self.store.layout().spec();
        let from = self.from.unwrap_or_else(date::now);
        let mut image = FlashImage::default();
        let begins = match (self.until, self.grant_at) {
            (Some(until), Some(at)) => {
                let grant = self.grant(spec, from, until)?;
                let bytes = self.grant_bytes(&grant)?;
                let len = bytes.len() as u64;
                image.add("the grant", at, bytes, len)?;
                // Not `from`: the grant begins with a tick.
                Duration::from_millis(spec.unix_ms(grant.start()))
            }
            _ => from,
        };
        let record = record(begins)?;
        let slots = self.slots(record)?;
        // Both pages, although only the first holds a record: the device writes the second one
        // later.
        let len = 2 * u64::from(self.page_size);
        image.add("the horizon", self.horizon_at, slots, len)?;
        // The store before the file: a device that is registered without an image does no harm, and the command can be
        // repeated; an existing file would refuse the repetition.
        if let Some(device) = self.device {
            self.register(device)?;
        }
        image.write_new(self.format, &self.out)?;
        let first = Duration::from_secs(record.unix_s().into());
        print_line(format_args!(
            "no id will be of a time before {}",
            utc(first)
        ))
    }

    /// Registers the device for tickets.
    ///
    /// One that is registered keeps its counter: after it is provisioned once more it still refuses the tickets that it has
    /// had.
    fn register(&self, device: u64) -> Result<(), Failure> {
        let mut store = self.store.open_existing()?;
        // Asked first, as a registration with counter 0 would set the counter of a known device
        // back.
        let reported = match store.device(device, &DeviceRequest::Look) {
            Ok(_) => None,
            Err(DeviceError::Unknown { .. }) => Some(0),
            Err(error) => return Err(error.into()),
        };
        let owner = self.owner.as_deref();
        store.device(device, &DeviceRequest::Register { owner, reported })?;
        Ok(())
    }

    fn grant(
        &self,
        spec: LayoutSpec,
        from: Duration,
        until: Duration,
    ) -> Result<Lease<LayoutSpec>, Failure> {
        let node_id = self.store.layout().node_id(self.node_id.as_deref())?;
        let tick = |time| spec.tick_at(time).unwrap_or(0);
        let grant = Lease::new(spec, node_id.unwrap_or(0), tick(from), tick(until));
        grant.map_err(|_| {
            let [first, last] = [spec.epoch_unix_ms(), spec.unix_ms(spec.max_tick())]
                .map(|unix_ms| utc(Duration::from_millis(unix_ms)));
            Failure::usage(format!(
                "the grant is from {} until {}: --until must be after --from, and the layout has the times from {first} \
                 to {last}",
                utc(from),
                utc(until)
            ))
        })
    }

    /// The 32 bytes that firmware reads: see the examples of `randflake-embedded`.
    fn grant_bytes(&self, grant: &Lease<LayoutSpec>) -> Result<Vec<u8>, Failure> {
        let tick = |tick| {
            u32::try_from(tick).map_err(|_| {
                Failure::usage("the layout's ticks have over 32 bits: leave --grant-at out")
            })
        };
        let words = [
            grant.node_id(),
            tick(grant.start())?,
            tick(grant.end())?,
            u32::MAX,
        ];
        let mut bytes = words.map(u32::to_le_bytes).as_flattened().to_vec();
        let key = if self.with_key {
            let digits = self.secret.read()?.to_hex();
            u128::from_str_radix(&digits, 16).map_err(Failure::failed)?
        } else {
            // Ones, as in erased flash, say that there is no key.
            u128::MAX
        };
        bytes.extend(key.to_be_bytes());
        Ok(bytes)
    }

    /// The record in the first slots, and for raw bytes two whole pages, erased behind it.
    fn slots(&self, record: HorizonRecord) -> Result<Vec<u8>, Failure> {
        // The limits of `NorHorizon`, which refuses other sizes when the firmware is compiled.
        if !self.page_size.is_multiple_of(self.slot_size) || self.page_size < 4 * self.slot_size {
            return Err(Failure::usage(format!(
                "--slot-size {} does not go into --page-size {} at least four times",
                self.slot_size, self.page_size
            )));
        }
        if !self.horizon_at.is_multiple_of(self.page_size) {
            return Err(Failure::usage(format!(
                "--horizon-at {:#x} is not where a page of {} bytes begins",
                self.horizon_at, self.page_size
            )));
        }
        let mut slot = vec![0xff; self.slot_size as usize];
        let record = record.to_bytes();
        slot[..record.len()].copy_from_slice(&record);
        // `WriteOnceHorizon` counts a page only when its second slot shows the record, too.
        let mut slots = slot.repeat(1 + usize::from(self.write_once));
        if self.format == ImageFormat::Bin {
            slots.resize(2 * self.page_size as usize, 0xff);
        }
        Ok(slots)
    }
}

/// The record of the first horizon: the first whole second of the grant, rounded up.
fn record(begins: Duration) -> Result<HorizonRecord, Failure> {
    // Rounded up: an earlier second may have been used under another grant.
    let seconds = begins.as_secs() + u64::from(begins.subsec_nanos() > 0);
    let seconds = u32::try_from(seconds).ok().and_then(HorizonRecord::new);
    seconds.ok_or_else(|| {
        Failure::usage(format!(
            "the first id would be of {}: from 1970-01-01 to {} is allowed",
            utc(begins),
            utc(Duration::from_secs(HorizonRecord::MAX_UNIX_S.into()))
        ))
    })
}
