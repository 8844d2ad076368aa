//! Encoding of a horizon for memory in which writes clear bits, and aged or interrupted cells set them.

use core::num::NonZeroU32;

/// A horizon as 8 bytes in flash: detects bits that wrongly read as 1, and corrects one.
///
/// ```text
/// first word   | seconds, a multiple of 4: bits 31 to 2 | 0 | parity of those bits |
/// second word  | the complement of each of them         | 0 | its complement       |
/// ```
///
/// Both words are little-endian. Bit 1 is 0 in both, and so is one of each other pair of a bit and its complement.
/// A write that was cut, an erase that was cut, and charge that a cell has lost make zeros read as ones. No pair
/// ever reads as its opposite by that, so:
///
/// - two or more pairs of two ones are no record;
/// - one such pair is read as the parity says: a record loses one bit without harm;
/// - such a record is the one that was written, or was being written, there, and no other: two records differ
///   in two pairs at least.
///
/// The first slot of `NorHorizon`'s first page holds such a record when a device is provisioned, the rest of both pages
/// is erased (`0xff`): a factory's tool writes that.
///
/// ```
/// use randflake_core::HorizonRecord;
///
/// let record = HorizonRecord::new(1_730_000_001).unwrap();
/// assert_eq!(record.unix_s(), 1_730_000_004, "up to the next 4 s");
/// assert_eq!(record.to_bytes(), [0x85, 0xb4, 0x1d, 0x67, 0x78, 0x4b, 0xe2, 0x98]);
///
/// // A bit was lost:
/// let [first, second] = record.to_words();
/// assert_eq!(HorizonRecord::from_words([first | 1 << 31, second]), Some(record));
/// assert_eq!(HorizonRecord::from_words([u32::MAX; 2]), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HorizonRecord {
    /// First word of the record, never 0.
    // Not 0, so that `Option<HorizonRecord>` takes no more memory than a record.
    word: NonZeroU32,
}

impl HorizonRecord {
    /// Highest horizon that can be stored: 2106-02-07 06:28:12 UTC.
    pub const MAX_UNIX_S: u32 = !(Self::UNIT - 1);

    /// The bits that every record clears, and no others: written over a slot it shows that the slot was used,
    /// without turning anything into a record or a partial record into another.
    pub const MARK: [u32; 2] = [!Self::ZERO; 2];

    /// Version of the format of records and logs in flash.
    pub const VERSION: u8 = 1;

    /// The record in the second slot of a page, which says that the head is complete and which version wrote the page:
    /// the number 4 times the version.
    pub const SEAL: Self = match Self::new(Self::UNIT * Self::VERSION as u32) {
        Some(seal) => seal,
        None => panic!("the version is not 0"),
    };

    // The two lowest bits of a word are taken: by the parity, and by the bit that is always 0.
    const UNIT: u32 = 4;
    /// Bit that is 0 in both words of a record, so that blank memory is none.
    const ZERO: u32 = 2;

    /// Encodes a horizon in seconds of Unix time, rounded up to a multiple of 4 s.
    ///
    /// `None` for 0, which is no horizon, and above [`MAX_UNIX_S`](Self::MAX_UNIX_S).
    #[inline]
    #[must_use]
    pub const fn new(unix_s: u32) -> Option<Self> {
        // Rounded up, never down: ticks below the stored horizon count as used.
        // Refused values become 0 here, which `of` rejects.
        let seconds = unix_s.wrapping_add(Self::UNIT - 1) & Self::MAX_UNIX_S;
        Self::of(seconds | parity(seconds))
    }

    const fn of(word: u32) -> Option<Self> {
        match NonZeroU32::new(word) {
            Some(word) => Some(Self { word }),
            None => None,
        }
    }

    /// The horizon, a multiple of 4 s.
    #[inline]
    #[must_use]
    pub const fn unix_s(self) -> u32 {
        self.word.get() & Self::MAX_UNIX_S
    }

    /// The two words, each little-endian in flash.
    #[inline]
    #[must_use]
    pub const fn to_words(self) -> [u32; 2] {
        let word = self.word.get();
        [word, !(word | Self::ZERO)]
    }

    /// Decodes two words; `None` if they are not a record.
    #[inline(never)]
    #[must_use]
    pub const fn from_words([first, second]: [u32; 2]) -> Option<Self> {
        // In a pair exactly one bit is set: two zeros cannot come from lost charge, two ones are a lost bit.
        let lost = first & second & !Self::ZERO;
        if first | second | Self::ZERO != u32::MAX || lost & lost.wrapping_sub(1) != 0 {
            return None;
        }
        // At most one pair has two ones here. The parity says whether the extra one is in the number or in its complement.
        let mut word = first & !Self::ZERO;
        if parity(word) != 0 {
            // A wrong parity means that the lost bit is in the first word. Without a lost bit it is no record.
            if lost == 0 {
                return None;
            }
            word ^= lost;
        }
        Self::of(word)
    }

    /// Decodes the bytes of a record; `None` if they are none.
    #[inline]
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 8]) -> Option<Self> {
        let bits = u64::from_le_bytes(bytes);
        #[expect(clippy::cast_possible_truncation, reason = "the halves")]
        Self::from_words([bits as u32, (bits >> 32) as u32])
    }

    /// Version of a seal, 0 if it is none: the second slot had a horizon before there were versions.
    #[must_use]
    pub const fn version(self) -> u8 {
        match self.unix_s() / Self::UNIT {
            #[expect(clippy::cast_possible_truncation, reason = "at most 255")]
            version @ ..=0xff => version as u8,
            _ => 0,
        }
    }

    /// Encodes the record as it is stored in flash.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 8] {
        let [first, second] = self.to_words();
        (first as u64 | (second as u64) << 32).to_le_bytes()
    }
}

/// 1 if the number of ones is odd. Not inlined: some processors need a dozen instructions.
#[inline(never)]
const fn parity(word: u32) -> u32 {
    word.count_ones() & 1
}

#[cfg(test)]
mod tests {
    #![expect(clippy::arithmetic_side_effects, reason = "a test fails by panicking")]

    use super::*;

    /// Horizons of all sizes, near each power of two and far from it.
    fn horizons() -> impl Iterator<Item = u32> {
        (2..32)
            .step_by(if cfg!(miri) { 29 } else { 1 })
            .flat_map(|bit| {
                let power = 1_u32 << bit;
                [power, power + 60, (power + power / 2) & !3, power - 4]
                    .into_iter()
                    .filter(|horizon| *horizon != 0)
            })
    }

    fn words(horizon: u32) -> [u32; 2] {
        HorizonRecord::new(horizon).unwrap().to_words()
    }

    fn read(words: [u32; 2]) -> Option<u32> {
        HorizonRecord::from_words(words).map(HorizonRecord::unix_s)
    }

    fn halves(words: u64) -> [u32; 2] {
        [words >> 32, words & 0xffff_ffff].map(|word| u32::try_from(word).unwrap())
    }

    /// The words with one more of both words' 64 bits set.
    fn without_charge([first, second]: [u32; 2], bit: u32) -> [u32; 2] {
        let [one, other] = halves(1 << bit);
        [first | one, second | other]
    }

    #[test]
    fn what_is_written_is_read_and_never_less() {
        for horizon in horizons().flat_map(|horizon| [horizon, horizon - 1, horizon - 3]) {
            let record = HorizonRecord::new(horizon).unwrap();
            assert_eq!(record.unix_s(), horizon.next_multiple_of(4));
            assert_eq!(HorizonRecord::from_words(record.to_words()), Some(record));
            let [first, second] = record.to_words().map(u32::to_le_bytes);
            assert_eq!(record.to_bytes(), *[first, second].as_flattened());
        }
    }

    #[test]
    fn what_cannot_be_stored_is_refused() {
        assert_eq!(HorizonRecord::new(0), None);
        for beyond in [u32::MAX - 2, u32::MAX - 1, u32::MAX] {
            assert_eq!(HorizonRecord::new(beyond), None, "{beyond}");
        }
        let last = HorizonRecord::new(HorizonRecord::MAX_UNIX_S).unwrap();
        assert_eq!(last.unix_s(), u32::MAX - 3);
        assert_eq!(HorizonRecord::from_words(last.to_words()), Some(last));
    }

    #[test]
    #[cfg_attr(miri, ignore = "arithmetic, thousands of times over")]
    fn one_lost_bit_changes_nothing() {
        for horizon in horizons() {
            for bit in 0..64 {
                let words = without_charge(words(horizon), bit);
                assert_eq!(read(words), Some(horizon), "bit {bit}");
            }
        }
    }

    /// More are noticed, unless they are among those that say nothing.
    #[test]
    fn two_lost_bits_are_never_another_horizon() {
        for horizon in horizons() {
            let bits = || (0..64).step_by(if cfg!(miri) { 21 } else { 1 });
            for (one, two) in bits().flat_map(|one| bits().map(move |two| (one, two))) {
                let words = without_charge(without_charge(words(horizon), one), two);
                assert!(
                    read(words).is_none_or(|read| read == horizon),
                    "bits {one} and {two}"
                );
            }
        }
    }

    /// What a cut leaves of a record has some of its zeros: each subset of six, beside all or none of the others.
    #[test]
    #[cfg_attr(miri, ignore = "arithmetic, thousands of times over")]
    fn a_torn_record_shows_itself_or_nothing() {
        for (horizon, first_bit) in
            horizons().flat_map(|horizon| [0, 27, 32, 59].map(|bit| (horizon, bit)))
        {
            for (kept, torn) in (0..64_u64).flat_map(|kept| [0, u64::MAX].map(|torn| (kept, torn)))
            {
                let [first, second] = words(horizon);
                let whole = u64::from(first) << 32 | u64::from(second);
                let torn = torn & !(63 << first_bit.min(58)) | kept << first_bit.min(58);
                let words = halves(whole | torn);
                assert!(read(words).is_none_or(|read| read == horizon), "{words:x?}");
            }
        }
    }

    #[test]
    fn neither_blank_nor_marked_nor_zeroed_memory_is_a_record() {
        for words in [
            [u32::MAX; 2],
            HorizonRecord::MARK,
            [0; 2],
            [0, u32::MAX],
            [u32::MAX, 0],
        ] {
            assert_eq!(read(words), None, "{words:x?}");
        }
    }

    /// It clears nothing that a record has.
    #[test]
    fn a_mark_changes_no_record() {
        for horizon in horizons() {
            let [first, second] = words(horizon);
            let [mark, other] = HorizonRecord::MARK;
            assert_eq!([first & mark, second & other], [first, second]);
        }
    }
}
