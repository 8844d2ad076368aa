//! Data that a factory writes into a device: its options, the pages of a horizon, and the image as
//! Intel HEX or bytes.

use core::time::Duration;

use ihex::{Record, create_object_file_representation};
use randflake_common::date;
use randflake_common::layout::IdEncryption;
use randflake_common::number::{address, within};
use randflake_std::date::utc;
use randflake_std::lease::KeyCheck;
use randflake_std::randflake_core::{
    FlashHorizonError, HorizonLog, HorizonRecord, LayoutSpec, Lease, LeaseError, LogFlash,
    LogGeometry, LogPage,
};

use crate::failure::Failure;
use crate::secret::KeyFileArgs;

#[derive(Debug, clap::Args)]
pub(super) struct FactoryArgs {
    #[command(flatten)]
    region: RegionArgs,
    /// When a device's first id may be made: a date, or a date and time, in UTC [default: now]
    #[arg(long, value_name = "DATE", value_parser = date)]
    from: Option<Duration>,
    /// When the grant ends
    #[arg(long, value_name = "DATE", value_parser = date, requires = "grant_at")]
    until: Option<Duration>,
    /// Where the grant is written
    #[arg(long, value_name = "ADDRESS", value_parser = address, requires = "until")]
    grant_at: Option<u32>,
    /// Write the secret of ids, --key-file, beside the grant
    #[arg(long, requires = "grant_at")]
    with_key: bool,
    #[command(flatten)]
    secret: KeyFileArgs,
}

/// Parses a date in UTC as Unix time.
fn date(text: &str) -> Result<Duration, String> {
    let unix_ms = date::unix_ms(text).map(Duration::from_millis);
    unix_ms.ok_or_else(|| "a date such as 2036-11-22 or 2036-11-22T09:30:00Z is allowed".to_owned())
}

/// How many bytes a grant takes, with the room for a key.
pub(super) const GRANT_LEN: usize = 32;

/// A grant's place in memory, and when it ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct GrantPlace {
    pub(super) at: u32,
    pub(super) until: Duration,
}

/// A secret of ids as devices hold it, and its check value.
#[derive(Debug)]
pub(super) struct DeviceKey {
    bytes: [u8; 16],
    pub(super) check: KeyCheck,
}

impl FactoryArgs {
    /// Where the grant goes, if there is one.
    pub(super) fn grant_place(&self) -> Option<GrantPlace> {
        let (at, until) = self.grant_at.zip(self.until)?;
        Some(GrantPlace { at, until })
    }

    /// When a device's first id may be made: as `--from` says, also in the past, or now.
    pub(super) fn from(&self) -> Duration {
        self.from.unwrap_or_else(date::now)
    }

    /// The key that is written beside each grant, if one is: the secret, or the key of 53-bit ids
    /// that follows from it.
    pub(super) fn key(&self, form: IdEncryption) -> Result<Option<DeviceKey>, Failure> {
        match (self.with_key, self.secret.read()?) {
            (false, None) => Ok(None),
            // The secret of the user or of the environment is that of servers, as a rule: a device
            // that is opened would give it away.
            (true, None) => Err(Failure::usage(
                "--with-key: say which secret goes into the devices, with --key-file FILE; `randflake keygen --out \
                 devices.key` makes one for all devices of a product, apart from that of the servers",
            )),
            (false, Some(_)) => Err(Failure::usage(
                "--key-file: only --with-key writes a secret into a device",
            )),
            (true, Some(secret)) => {
                let key = form.device_key(&secret);
                let check = form.key_check(&key);
                let key = u128::from_str_radix(&key.to_hex(), 16).map_err(Failure::failed)?;
                let bytes = key.to_be_bytes();
                Ok(Some(DeviceKey { bytes, check }))
            }
        }
    }

    /// The image of a device whose first id is made at `begins` or later.
    pub(super) fn image(
        &self,
        grant: Option<(GrantPlace, &Lease<LayoutSpec>, Option<&DeviceKey>)>,
        begins: Duration,
    ) -> Result<FlashImage, Failure> {
        let mut image = FlashImage::default();
        if let Some((place, grant, key)) = grant {
            image.add("the grant", place.at, grant_bytes(grant, key)?)?;
        }
        let pages = self.region.provisioned(first_horizon(begins)?)?;
        image.add("the horizon", self.region.horizon_at, pages)?;
        Ok(image)
    }
}

/// The grant of a node id between two times, of which the layout must have all.
pub(super) fn grant(
    spec: LayoutSpec,
    node_id: u32,
    from: Duration,
    until: Duration,
) -> Result<Lease<LayoutSpec>, Failure> {
    let tick = |time| spec.tick_at(time).unwrap_or(0);
    Lease::new(spec, node_id, tick(from), tick(until)).map_err(|_| {
        let [first, last] = [spec.epoch_unix_ms(), spec.unix_ms(spec.max_tick())]
            .map(|unix_ms| utc(Duration::from_millis(unix_ms)));
        Failure::usage(format!(
            "the grant is from {} until {}: --until must be after --from, and the layout has the times from {first} to \
             {last}",
            utc(from),
            utc(until)
        ))
    })
}

/// The grant in a memory, as firmware reads it.
pub(super) fn read_grant(spec: LayoutSpec, bytes: &[u8]) -> Result<Lease<LayoutSpec>, LeaseError> {
    let [node_id, start, end, version, ..] = bytes.as_chunks().0 else {
        return Err(LeaseError::NotProvisioned);
    };
    let words = [node_id, start, end, version];
    Lease::from_words(spec, words.map(|word| u32::from_le_bytes(*word)))
}

/// The 32 bytes that firmware reads: see the examples of `randflake-embedded`.
fn grant_bytes(grant: &Lease<LayoutSpec>, key: Option<&DeviceKey>) -> Result<Vec<u8>, Failure> {
    let tick = |tick| {
        u32::try_from(tick).map_err(|_| {
            Failure::usage("the layout's ticks have over 32 bits: leave --grant-at out")
        })
    };
    let words = [
        grant.node_id(),
        tick(grant.start())?,
        tick(grant.end())?,
        grant.layout().lease_version().into(),
    ];
    let mut bytes = words.map(u32::to_le_bytes).as_flattened().to_vec();
    // Ones, as in erased flash, say that there is no key.
    bytes.extend(key.map_or([0xff; 16], |key| key.bytes));
    Ok(bytes)
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum ImageFormat {
    /// Intel HEX, text with addresses.
    #[default]
    Hex,
    /// The bytes alone, without addresses.
    Bin,
}

/// Ranges of a memory, none over another.
#[derive(Debug, Default)]
pub(super) struct FlashImage(Vec<MemoryRange>);

#[derive(Debug)]
struct MemoryRange {
    what: &'static str,
    at: u32,
    bytes: Vec<u8>,
}

impl MemoryRange {
    fn end(&self) -> u64 {
        u64::from(self.at) + self.bytes.len() as u64
    }
}

impl FlashImage {
    pub(super) fn add(
        &mut self,
        what: &'static str,
        at: u32,
        bytes: Vec<u8>,
    ) -> Result<(), Failure> {
        let new = MemoryRange { what, at, bytes };
        // Intel HEX has addresses of 32 bits.
        if new.end() > 1 << 32 {
            return Err(Failure::usage(format!(
                "{what} at {at:#x} ends beyond 0xffffffff, the last address"
            )));
        }
        // A grant in a page of the horizon would be erased with the first turn of pages.
        let overlaps = |range: &&MemoryRange| {
            u64::from(range.at) < new.end() && u64::from(new.at) < range.end()
        };
        if let Some(other) = self.0.iter().find(overlaps) {
            return Err(Failure::usage(format!(
                "{what} at {at:#x} is over {} at {:#x}",
                other.what, other.at
            )));
        }
        self.0.push(new);
        Ok(())
    }

    /// The content of a file for a programmer.
    pub(super) fn to_file(&self, format: ImageFormat) -> Result<Vec<u8>, Failure> {
        match (format, self.0.as_slice()) {
            (ImageFormat::Hex, _) => Ok(self.hex()?.into_bytes()),
            (ImageFormat::Bin, [only]) => Ok(only.bytes.clone()),
            (ImageFormat::Bin, _) => Err(Failure::usage(
                "--format bin has no addresses, so it holds the horizon alone: leave --grant-at out, or use --format \
                 hex",
            )),
        }
    }

    fn hex(&self) -> Result<String, Failure> {
        const LINE: usize = 16;
        let mut records = Vec::new();
        for range in &self.0 {
            let mut at = range.at;
            let mut bytes = range.bytes.as_slice();
            let mut upper = None;
            while !bytes.is_empty() {
                let [high, low] = [at >> 16, at & 0xffff];
                // Addresses have 16 bits in a record: the upper half stands in one of its own
                // whenever it changes.
                if upper.replace(high) != Some(high) {
                    records.push(Record::ExtendedLinearAddress(
                        u16::try_from(high).unwrap_or(0),
                    ));
                }
                // A line must not cross 64 KiB: its record has only the low half of the address.
                let (line, rest) =
                    bytes.split_at(LINE.min(bytes.len()).min(0x1_0000 - low as usize));
                records.push(Record::Data {
                    offset: u16::try_from(low).unwrap_or(0),
                    value: line.to_vec(),
                });
                at = at.wrapping_add(u32::try_from(line.len()).unwrap_or(0));
                bytes = rest;
            }
        }
        records.push(Record::EndOfFile);
        create_object_file_representation(&records).map_err(Failure::failed)
    }
}

/// Most bytes of all pages: no device has as many, and all of them are in memory here.
const MOST_BYTES: usize = 16 << 20;

#[derive(Debug, clap::Args)]
pub(super) struct RegionArgs {
    /// Where the pages of the horizon begin: a number, or 0x and hex digits
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(super) horizon_at: u32,
    /// How many bytes the flash erases at once: a power of two
    #[arg(long, value_name = "BYTES", value_parser = power_of_two)]
    page_size: u32,
    /// How many pages `FlashHorizon` has
    #[arg(long, value_name = "N", default_value = "3", value_parser = within::<u32>(3..=256))]
    pages: u32,
    /// How many bytes a record takes, `SLOT` of `FlashHorizon`: 8, 16, 32, 64, 128 or 256
    #[arg(long, value_name = "BYTES", default_value = "8", value_parser = slot_size)]
    slot_size: u32,
}

fn power_of_two(text: &str) -> Result<u32, String> {
    let size = address(text).ok().filter(|size| size.is_power_of_two());
    let size = size.filter(|size| (32..=1 << 20).contains(size));
    size.ok_or_else(|| "a power of two from 32 to 1048576 is allowed".to_owned())
}

fn slot_size(text: &str) -> Result<u32, String> {
    let size = address(text).ok().filter(|size| size.is_power_of_two());
    let size = size.filter(|size| (8..=256).contains(size));
    size.ok_or_else(|| "8, 16, 32, 64, 128 or 256 is allowed".to_owned())
}

impl RegionArgs {
    /// How many bytes all pages have.
    pub(super) fn len(&self) -> Result<usize, Failure> {
        let bytes = self.geometry()?.bytes() as usize;
        if bytes > MOST_BYTES {
            return Err(Failure::usage(format!(
                "--pages {} of --page-size {}: up to {MOST_BYTES} bytes are allowed together",
                self.pages, self.page_size
            )));
        }
        Ok(bytes)
    }

    pub(super) fn pages(&self) -> u32 {
        self.pages
    }

    /// Where a page begins.
    pub(super) fn page_at(&self, page: usize) -> u64 {
        u64::from(self.horizon_at) + page as u64 * u64::from(self.page_size)
    }

    fn geometry(&self) -> Result<LogGeometry, Failure> {
        if !self.horizon_at.is_multiple_of(self.page_size) {
            return Err(Failure::usage(format!(
                "--horizon-at {:#x} is not where a page of {} bytes begins",
                self.horizon_at, self.page_size
            )));
        }
        let geometry = LogGeometry::new(self.pages, self.page_size, self.slot_size);
        geometry.ok_or_else(|| {
            Failure::usage(format!(
                "--slot-size {} does not go into --page-size {} at least four times",
                self.slot_size, self.page_size
            ))
        })
    }

    /// The bytes of all pages with the first record of a device.
    pub(super) fn provisioned(&self, first: HorizonRecord) -> Result<Vec<u8>, Failure> {
        let written = self.geometry()?.provisioned(first);
        // All of them: a page that keeps an older record would win over this one.
        let mut bytes = vec![0xff; self.len()?];
        for (at, record) in written {
            bytes[at as usize..][..record.len()].copy_from_slice(&record);
        }
        Ok(bytes)
    }

    /// What each page shows.
    pub(super) fn survey(&self, bytes: &[u8]) -> Result<Vec<LogPage>, Failure> {
        Ok(self.geometry()?.pages(bytes).collect())
    }

    /// The horizon that a device with these bytes opens, or why it refuses.
    pub(super) fn open(&self, bytes: &[u8]) -> Result<Duration, String> {
        let mut flash = DumpedFlash {
            bytes,
            page_bytes: self.page_size,
        };
        // The rule is the device's own, for each size of slots.
        let opened = match self.slot_size {
            16 => HorizonLog::<16>::open(&mut flash).map(|log| log.unix_s()),
            32 => HorizonLog::<32>::open(&mut flash).map(|log| log.unix_s()),
            64 => HorizonLog::<64>::open(&mut flash).map(|log| log.unix_s()),
            128 => HorizonLog::<128>::open(&mut flash).map(|log| log.unix_s()),
            256 => HorizonLog::<256>::open(&mut flash).map(|log| log.unix_s()),
            _ => HorizonLog::<8>::open(&mut flash).map(|log| log.unix_s()),
        };
        match opened {
            Ok(0) => Err("the horizon is lost: no page shows one, so the device issues nothing; or --horizon-at, --page-size, --pages and \
                 --slot-size are not those of the firmware"
                .to_owned()),
            Ok(unix_s) => Ok(Duration::from_secs(unix_s.into())),
            Err(FlashHorizonError::Version(version)) => Err(format!(
                "the horizon has format {version}, and this tool and its firmware know {}: a device that was downgraded \
                 refuses it; take the tool and the firmware that wrote it",
                HorizonRecord::VERSION
            )),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// The bytes of a dump as a flash that is only read.
struct DumpedFlash<'a> {
    bytes: &'a [u8],
    page_bytes: u32,
}

/// It is a dump: nothing is written, and nothing is behind its end.
#[derive(Debug)]
struct ReadOnly;

impl LogFlash for DumpedFlash<'_> {
    type Error = ReadOnly;

    fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    fn capacity(&self) -> u32 {
        u32::try_from(self.bytes.len()).unwrap_or(u32::MAX)
    }

    fn read(&mut self, at: u32, slot: &mut [u8]) -> Result<(), ReadOnly> {
        let bytes = self
            .bytes
            .get(at as usize..)
            .and_then(|rest| rest.get(..slot.len()));
        slot.copy_from_slice(bytes.ok_or(ReadOnly)?);
        Ok(())
    }

    fn write(&mut self, _: u32, _: &[u8]) -> Result<(), ReadOnly> {
        Err(ReadOnly)
    }

    fn erase(&mut self, _: u32) -> Result<(), ReadOnly> {
        Err(ReadOnly)
    }
}

/// The first horizon of a device: the first whole second, rounded up.
pub(super) fn first_horizon(begins: Duration) -> Result<HorizonRecord, Failure> {
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
