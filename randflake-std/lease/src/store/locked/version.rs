//! A text in one sector that is written as a whole: magic, count of writes, text, checksum.

/// A sector of any disk that is made today has a multiple of this size.
pub(super) const LEN: usize = 512;
const SUM_LEN: usize = 8;
/// The longest text that fits.
pub(in crate::store) const MOST: usize = LEN - 16 - 8 - SUM_LEN;

#[derive(Clone, Debug, Default)]
pub(super) struct Version {
    /// How often the file was written.
    pub(super) writes: u64,
    pub(super) text: String,
}

impl Version {
    /// `None` when it is longer than that.
    pub(super) fn to_bytes(&self, magic: [u8; 16]) -> Option<[u8; LEN]> {
        if self.text.len() > MOST {
            return None;
        }
        let writes = self.writes.to_le_bytes();
        let mut bytes = [&magic[..], &writes, self.text.as_bytes()].concat();
        // Zeros fill the sector. No text ends in one, so reading can cut them off.
        bytes.resize(LEN - SUM_LEN, 0);
        bytes.extend(checksum(&bytes).to_le_bytes());
        bytes.try_into().ok()
    }

    /// `None` when it was not written whole, or by another program.
    pub(super) fn from_bytes(bytes: &[u8], magic: [u8; 16]) -> Option<Self> {
        let (body, sum) = bytes.split_at_checked(LEN - SUM_LEN)?;
        if sum != checksum(body).to_le_bytes() {
            return None;
        }
        let (writes, text) = body.strip_prefix(&magic)?.split_first_chunk()?;
        Some(Self {
            writes: u64::from_le_bytes(*writes),
            text: str::from_utf8(text).ok()?.trim_end_matches('\0').to_owned(),
        })
    }
}

/// FNV-1a over words, which tells a sector that was not written whole.
fn checksum(bytes: &[u8]) -> u64 {
    let (words, _) = bytes.as_chunks();
    words.iter().fold(0xcbf2_9ce4_8422_2325, |sum: u64, word| {
        let sum = (sum ^ u64::from_le_bytes(*word)).wrapping_mul(0x0000_0100_0000_01b3);
        // A product carries differences upwards only; the rotation brings them down again.
        sum.rotate_left(29)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAGIC: [u8; 16] = *b"of these tests\x1a\n";

    #[test]
    fn round_trip_and_no_damage_is_read() {
        for text in ["", "1 2 3", &"é".repeat(MOST / 2)] {
            let version = Version {
                writes: u64::MAX,
                text: text.to_owned(),
            };
            let bytes = version.to_bytes(MAGIC).unwrap();
            let read = Version::from_bytes(&bytes, MAGIC).unwrap();
            assert_eq!((read.writes, &*read.text), (u64::MAX, text));
            for at in 0..LEN {
                let mut damaged = bytes;
                damaged[at] ^= 0x10;
                assert!(Version::from_bytes(&damaged, MAGIC).is_none(), "{at}");
                assert!(Version::from_bytes(&bytes[..at], MAGIC).is_none(), "{at}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_not_cut() {
        let text = "a".repeat(MOST + 1);
        assert_eq!(Version { writes: 1, text }.to_bytes(MAGIC), None);
    }
}
