//! Conversion of a slot between bytes and words.

use randflake_core::HorizonRecord;

use super::journal::SlotWords;

/// The bytes of a slot, aligned so that words are loaded whole. Not on AVR, where the compiler relies on an
/// alignment that it does not ensure: <https://github.com/llvm/llvm-project/issues/169190>.
#[cfg_attr(not(target_arch = "avr"), repr(align(4)))]
pub(crate) struct FlashSlot<const LEN: usize>(pub(crate) [u8; LEN]);

impl<const LEN: usize> FlashSlot<LEN> {
    /// Puts the words first and leaves the rest blank (`0xff`).
    #[inline]
    pub(crate) fn new([first, second]: SlotWords) -> Self {
        // Ones behind the record: they change no bit of an erased slot.
        let mut slot = [0xff; LEN];
        slot[..4].copy_from_slice(&first.to_le_bytes());
        slot[4..8].copy_from_slice(&second.to_le_bytes());
        Self(slot)
    }

    #[inline]
    pub(crate) fn words(&self) -> SlotWords {
        let word = |bytes: &[u8]| bytes.first_chunk().copied().map_or(0, u32::from_le_bytes);
        [word(&self.0), word(&self.0[4..])]
    }

    pub(crate) fn of(record: HorizonRecord) -> Self {
        Self::new(record.to_words())
    }

    /// The record, if the rest of the slot is blank. In encrypted flash an erased slot may read as anything, even
    /// as a record.
    pub(crate) fn record(&self) -> Option<HorizonRecord> {
        let is_rest_blank = self.0.iter().skip(8).all(|byte| *byte == 0xff);
        HorizonRecord::from_words(self.words()).filter(|_| is_rest_blank)
    }
}
