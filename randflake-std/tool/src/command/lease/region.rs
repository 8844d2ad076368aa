//! The pages of a horizon in a device's memory.

use core::time::Duration;

use randflake_std::date::utc;
use randflake_std::randflake_core::{
    FlashHorizonError, HorizonLog, HorizonRecord, LogFlash, LogGeometry, LogPage,
};

use crate::failure::Failure;
use randflake_common::number::{address, within};

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
