//! Encoding of a horizon for memory whose bits may be wrong.

use core::num::NonZeroU32;

/// A horizon as 8 bytes in flash: corrects one wrong bit, and shows more as no record.
///
/// ```text
/// first word   | seconds, a multiple of 4: bits 31 to 2 | 0 | parity of those bits |
/// second word  | the complement of the first word                                 |
/// ```
///
/// Both words are little-endian. Of each bit and its complement one is 1. A write or an erase that
/// was cut, a dead cell and charge that a cell has lost or gained make pairs of two ones or of two
/// zeros:
///
/// - two or more such pairs are no record;
/// - one such pair is read as the parity says, so a record may have one bit wrong, in either
///   direction;
/// - noise passes for a record with a probability of 2^-28;
/// - a record with a bit that changed *and* two bits raised by an erase that was cut at its start
///   may show another one.
///
/// ```
/// use randflake_core::HorizonRecord;
///
/// let record = HorizonRecord::new(1_730_000_001).unwrap();
/// assert_eq!(record.unix_s(), 1_730_000_004, "up to the next 4 s");
/// assert_eq!(record.to_bytes(), [0x85, 0xb4, 0x1d, 0x67, 0x7a, 0x4b, 0xe2, 0x98]);
///
/// // A bit is wrong:
/// let [first, second] = record.to_words();
/// assert_eq!(HorizonRecord::from_words([first ^ 1 << 31, second]), Some(record));
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

    /// Version of the format of records and logs in flash.
    pub const VERSION: u8 = 1;

    /// The record in the second slot of a page, which says that the head is complete and which
    /// version wrote the page: the number 4 times the version.
    pub const SEAL: Self = match Self::new(Self::UNIT * Self::VERSION as u32) {
        Some(seal) => seal,
        None => panic!("the version is not 0"),
    };

    /// The record in the first and second slot of a page whose erase fails: the page is ignored and
    /// never used again. In the first slot it counts only if no seal follows: there it may also be
    /// a horizon.
    ///
    /// It differs in at least four bits from each seal, so that no cut and changed bit make one of
    /// the other.
    pub const BAD_PAGE: Self = match Self::new(Self::UNIT * 0b1110) {
        Some(mark) => mark,
        None => panic!("it is not 0"),
    };

    // The two lowest bits of a word are taken: by the parity, and by the bit that is always 0.
    const UNIT: u32 = 4;
    /// Bit that is 0 in the first word, so that a word of ones before one of zeros is no record.
    const CHECK: u32 = 2;

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
        [word, !word]
    }

    /// Decodes two words; `None` if they are not a record.
    #[must_use]
    pub const fn from_words(words: [u32; 2]) -> Option<Self> {
        Self::new(Self::shown(words) & Self::MAX_UNIX_S)
    }

    /// The horizon that two words show, plus 1 if one of their bits is wrong. 0 if they are not a
    /// record.
    pub(super) const fn shown([first, second]: [u32; 2]) -> u32 {
        // In a pair exactly one bit is set: two zeros or two ones are a bit that is wrong.
        let wrong = !(first ^ second);
        if wrong & wrong.wrapping_sub(1) != 0 {
            return 0;
        }
        // The parity says in which word it is. Without such a bit it is right.
        let mut word = first;
        if parity(word) != 0 {
            if wrong == 0 {
                return 0;
            }
            word ^= wrong;
        }
        if word & Self::CHECK != 0 || word == 0 {
            return 0;
        }
        word & Self::MAX_UNIX_S | (wrong != 0) as u32
    }

    /// Decodes the bytes of a record; `None` if they are none.
    #[inline]
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 8]) -> Option<Self> {
        let bits = u64::from_le_bytes(bytes);
        #[expect(clippy::cast_possible_truncation, reason = "the halves")]
        Self::from_words([bits as u32, (bits >> 32) as u32])
    }

    /// Version that a seal names: 1, or 240 to 255 of later formats. 0 if it is none of these.
    ///
    /// A changed bit and an erase that was cut at its start can turn two bits of a seal's number.
    /// Between 1 and 240 to 255 there are at least three, so a torn seal is never taken for that of
    /// a later version.
    #[inline]
    #[must_use]
    pub const fn version(self) -> u8 {
        Self::version_of(self.unix_s())
    }

    pub(super) const fn version_of(unix_s: u32) -> u8 {
        match unix_s / Self::UNIT {
            #[expect(clippy::cast_possible_truncation, reason = "at most 255")]
            version @ (1 | 240..=255) => version as u8,
            _ => 0,
        }
    }

    /// Whether a second slot shows the seal of a later version, perhaps with a wrong bit.
    pub(super) const fn is_of_later_version(shown: u32) -> bool {
        // 240 to 255, times 4.
        shown >> 6 == 0xf
    }

    /// Encodes the record as it is stored in flash.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 8] {
        let [first, second] = self.to_words();
        (first as u64 | (second as u64) << 32).to_le_bytes()
    }
}

/// 1 if the number of ones is odd.
const fn parity(word: u32) -> u32 {
    let mut folded = word;
    let mut by = 16;
    while by != 0 {
        folded ^= folded >> by;
        by >>= 1;
    }
    folded & 1
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

    /// Both words as one number.
    fn bits(horizon: u32) -> u64 {
        u64::from_le_bytes(HorizonRecord::new(horizon).unwrap().to_bytes())
    }

    fn read(bits: u64) -> Option<u32> {
        HorizonRecord::from_bytes(bits.to_le_bytes()).map(HorizonRecord::unix_s)
    }

    #[test]
    fn what_is_written_is_read_and_never_less() {
        for horizon in horizons().flat_map(|horizon| [horizon, horizon - 1, horizon - 3]) {
            let record = HorizonRecord::new(horizon).unwrap();
            assert_eq!(record.unix_s(), horizon.next_multiple_of(4));
            assert_eq!(HorizonRecord::from_words(record.to_words()), Some(record));
            assert_eq!(HorizonRecord::from_bytes(record.to_bytes()), Some(record));
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
    fn one_wrong_bit_changes_nothing() {
        for horizon in horizons() {
            for bit in 0..64 {
                assert_eq!(read(bits(horizon) ^ 1 << bit), Some(horizon), "bit {bit}");
            }
        }
    }

    #[test]
    fn two_wrong_bits_are_never_another_horizon() {
        for horizon in horizons() {
            let each = || (0..64_u32).step_by(if cfg!(miri) { 21 } else { 1 });
            for (one, two) in each().flat_map(|one| each().map(move |two| (one, two))) {
                let read = read(bits(horizon) ^ 1 << one ^ 1 << two);
                assert_eq!(
                    read,
                    (one == two).then_some(horizon),
                    "bits {one} and {two}"
                );
            }
        }
    }

    /// What a cut leaves of a record has some of its zeros: each subset of six, beside all or none
    /// of the others.
    #[test]
    #[cfg_attr(miri, ignore = "arithmetic, thousands of times over")]
    fn a_torn_record_shows_itself_or_nothing() {
        for (horizon, first_bit) in
            horizons().flat_map(|horizon| [0, 27, 32, 58].map(|bit| (horizon, bit)))
        {
            for (kept, torn) in (0..64_u64).flat_map(|kept| [0, u64::MAX].map(|torn| (kept, torn)))
            {
                let torn = torn & !(63 << first_bit) | kept << first_bit;
                let read = read(bits(horizon) | torn);
                assert!(read.is_none_or(|read| read == horizon), "{torn:x}");
            }
        }
    }

    #[test]
    fn neither_blank_nor_zeroed_memory_is_a_record() {
        for bits in [u64::MAX, 0, u64::MAX << 32, u64::MAX >> 32] {
            assert_eq!(read(bits), None, "{bits:x}");
        }
    }

    #[test]
    fn a_seal_names_its_version() {
        assert_eq!(HorizonRecord::SEAL.version(), HorizonRecord::VERSION);
        for version in 2..=255 {
            let seal = HorizonRecord::new(4 * u32::from(version)).unwrap();
            let known = if version < 240 { 0 } else { version };
            assert_eq!(seal.version(), known);
            assert_eq!(
                HorizonRecord::is_of_later_version(seal.unix_s()),
                known != 0
            );
        }
        assert_eq!(HorizonRecord::BAD_PAGE.version(), 0);
        assert_eq!(HorizonRecord::new(1_730_000_000).unwrap().version(), 0);
    }
}
