//! Images that a programmer writes into the memory of a device.

use std::path::Path;

use ihex::{Record, create_object_file_representation};
use randflake_std::private_file;

use crate::failure::Failure;

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
    /// What is written from its beginning on. The rest is erased, and only keeps others away.
    bytes: Vec<u8>,
    len: u64,
}

impl MemoryRange {
    fn end(&self) -> u64 {
        u64::from(self.at) + self.len
    }
}

impl FlashImage {
    pub(super) fn add(
        &mut self,
        what: &'static str,
        at: u32,
        bytes: Vec<u8>,
        len: u64,
    ) -> Result<(), Failure> {
        let new = MemoryRange {
            what,
            at,
            bytes,
            len,
        };
        // Intel HEX has addresses of 32 bits.
        if new.end() > 1 << 32 {
            return Err(Failure::usage(format!(
                "{what} at {at:#x} ends beyond 0xffffffff, the last address"
            )));
        }
        // Over the erased rest, too: a grant in the second page would be erased with the horizon's
        // first turn of pages.
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

    /// Writes it to a new file, for its owner alone: it may hold a secret.
    pub(super) fn write_new(&self, format: ImageFormat, path: &Path) -> Result<(), Failure> {
        let bytes = match (format, self.0.as_slice()) {
            (ImageFormat::Hex, _) => self.hex()?.into_bytes(),
            // Whole pages, with the erased rest: a programmer that takes bytes may not erase what
            // it does not write.
            (ImageFormat::Bin, [only]) => only.bytes.clone(),
            (ImageFormat::Bin, _) => {
                return Err(Failure::usage(
                    "--format bin has no addresses, so it holds the horizon alone: leave --grant-at out, or use \
                     --format hex",
                ));
            }
        };
        private_file::write_new(path, &bytes).map_err(|error| Failure::of_new_file(path, &error))
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
                // Addresses have 16 bits in a record: the upper half stands in one of its own whenever it changes.
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
