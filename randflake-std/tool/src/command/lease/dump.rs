//! The memory of a device, read from a file.

use std::fs;
use std::path::Path;

use ihex::{Reader, Record};

use crate::failure::Failure;

/// Ranges of a memory: where each begins, and its bytes.
#[derive(Debug, Default)]
pub(super) struct Dump(Vec<(u32, Vec<u8>)>);

impl Dump {
    /// Reads Intel HEX, which begins with a colon, or bytes, the first of which is that of an address.
    pub(super) fn read(path: &Path, base: u32) -> Result<Self, Failure> {
        let bytes = fs::read(path);
        let bytes =
            bytes.map_err(|error| Failure::failed(format!("{}: {error}", path.display())))?;
        let text = str::from_utf8(&bytes)
            .ok()
            .filter(|text| text.starts_with(':'));
        match text {
            Some(text) => Self::of_hex(text).map_err(|problem| {
                Failure::failed(format!("{}: not Intel HEX: {problem}", path.display()))
            }),
            None => Ok(Self(vec![(base, bytes)])),
        }
    }

    fn of_hex(text: &str) -> Result<Self, String> {
        let mut dump = Self::default();
        let mut upper = 0;
        for record in Reader::new(text) {
            match record.map_err(|error| error.to_string())? {
                Record::ExtendedLinearAddress(high) => upper = u32::from(high) << 16,
                Record::ExtendedSegmentAddress(segment) => upper = u32::from(segment) << 4,
                Record::Data { offset, value } => {
                    dump.0.push((upper.wrapping_add(offset.into()), value));
                }
                Record::EndOfFile => return Ok(dump),
                // Where a program begins.
                Record::StartSegmentAddress { .. } | Record::StartLinearAddress(_) => {}
            }
        }
        // Without it the end may be missing.
        Err("it has no last line, :00000001FF".to_owned())
    }

    /// Some bytes, all of which must be there.
    pub(super) fn bytes(&self, at: u32, len: usize) -> Result<Vec<u8>, Failure> {
        let mut found = vec![None; len];
        for (begin, bytes) in &self.0 {
            // Distances to `at`: addresses have 32 bits, so these do not overflow.
            let distance = i64::from(*begin) - i64::from(at);
            for (place, byte) in (distance..).zip(bytes) {
                let place = usize::try_from(place).ok();
                if let Some(place) = place.and_then(|place| found.get_mut(place)) {
                    *place = Some(*byte);
                }
            }
        }
        let missing = found.iter().position(Option::is_none).unwrap_or_default();
        let bytes: Option<Vec<u8>> = found.into_iter().collect();
        bytes.ok_or_else(|| {
            Failure::usage(format!(
                "the dump has no byte at {:#x}: it must have all of the {len} from {at:#x} on",
                u64::from(at) + missing as u64
            ))
        })
    }
}
