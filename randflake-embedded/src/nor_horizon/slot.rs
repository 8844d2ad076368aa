//! A slot's bytes.

use randflake_core::HorizonRecord;

use super::journal::Words;

/// Where whole words may be loaded. Not on AVR, whose compiler relies on an alignment that it does not give:
/// <https://github.com/llvm/llvm-project/issues/169190>.
#[cfg_attr(not(target_arch = "avr"), repr(align(4)))]
pub(crate) struct Slot<const LEN: usize>(pub(crate) [u8; LEN]);

impl<const LEN: usize> Slot<LEN> {
    /// The words in front, and blank behind them.
    #[inline]
    pub(crate) fn new([first, second]: Words) -> Self {
        let mut slot = [0xff; LEN];
        slot[..4].copy_from_slice(&first.to_le_bytes());
        slot[4..8].copy_from_slice(&second.to_le_bytes());
        Self(slot)
    }

    #[inline]
    pub(crate) fn words(&self) -> Words {
        let word = |bytes: &[u8]| bytes.first_chunk().copied().map_or(0, u32::from_le_bytes);
        [word(&self.0), word(&self.0[4..])]
    }

    pub(crate) fn of(record: HorizonRecord) -> Self {
        Self::new(record.to_words())
    }

    /// The record, if nothing else is in the slot: of flash that is encrypted, an erased slot may read as anything.
    pub(crate) fn record(&self) -> Option<HorizonRecord> {
        let is_rest_blank = self.0.iter().skip(8).all(|byte| *byte == 0xff);
        HorizonRecord::from_words(self.words()).filter(|_| is_rest_blank)
    }
}
