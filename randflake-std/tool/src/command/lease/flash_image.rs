//! The image of a device's flash: ranges of memory, as Intel HEX or as bytes.

use ihex::{Record, create_object_file_representation};

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
