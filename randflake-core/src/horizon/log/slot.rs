//! The bytes of a slot.

use crate::HorizonRecord;

/// Aligned so that words are loaded whole. Not on AVR, where the compiler relies on an alignment that it does not
/// ensure: <https://github.com/llvm/llvm-project/issues/169190>.
#[cfg_attr(not(target_arch = "avr"), repr(align(4)))]
#[derive(PartialEq)]
pub(super) struct Slot<const LEN: usize>(pub(super) [u8; LEN]);

impl<const LEN: usize> Slot<LEN> {
    /// Puts the record first and leaves the rest blank (`0xff`): ones change no bit of an erased slot.
    pub(super) fn of(record: HorizonRecord) -> Self {
        let mut slot = [0xff; LEN];
        if let Some(bytes) = slot.first_chunk_mut() {
            *bytes = record.to_bytes();
        }
        Self(slot)
    }

    /// The horizon that the slot shows, plus 1 if a bit of it is wrong; 0 if it shows none.
    pub(super) fn shown(&self) -> u32 {
        shown(&self.0)
    }
}

/// The record that a slot shows.
pub(super) fn record(slot: &[u8]) -> Option<HorizonRecord> {
    HorizonRecord::new(shown(slot) & HorizonRecord::MAX_UNIX_S)
}

/// As [`Slot::shown`]: if the rest of it is blank but for one bit, which may have changed. In encrypted flash an erased slot
/// may read as anything, even as a record.
fn shown(slot: &[u8]) -> u32 {
    let Some((record, rest)) = slot.split_first_chunk() else {
        return 0;
    };
    if changed_bits(rest) > 1 {
        return 0;
    }
    let bits = u64::from_le_bytes(*record);
    #[expect(clippy::cast_possible_truncation, reason = "the halves")]
    HorizonRecord::shown([bits as u32, (bits >> 32) as u32])
}

/// How many bits of blank bytes are 0. Without a sum that could overflow: its panic would be linked.
fn changed_bits(blank: &[u8]) -> u32 {
    let zeros = blank.iter().map(|byte| byte.count_zeros());
    zeros.fold(0, u32::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_changed_bit_behind_a_record_is_allowed_and_two_are_not() {
        let written = HorizonRecord::new(1_730_000_000);
        let blank = Slot::<16>::of(written.unwrap());
        assert_eq!(record(&blank.0), written);
        for first in 64..128 {
            let mut slot = blank.0;
            slot[first / 8] ^= 1 << (first % 8);
            assert_eq!(record(&slot), written, "{first}");
            for second in first + 1..128 {
                let mut slot = slot;
                slot[second / 8] ^= 1 << (second % 8);
                assert_eq!(record(&slot), None, "{first} {second}");
            }
        }
    }
}
