//! A block that goes on after a sleep in which the rest of RAM is lost.

use crate::{
    AsyncHorizonStore, AtomicWord, Blocks, Clock, Generator, HorizonStore, Layout, Lease,
    Permutation, Sequencer, Tolerance, Word,
};

/// Five words that survive sleep: registers of a real-time clock, or RAM that stays powered.
///
/// Its contract:
///
/// - `read` gives the words that were written last, or `None` if the last reset was not the end of
///   a sleep. The chip has a flag for it. After another reset, a power cut above all, the words may
///   be anything.
/// - `write` is an access to a register or a volatile one: the compiler may leave out another one
///   whose value is overwritten, and a reset in between would then find the old words.
///
/// The last word is a check of 32 bits, the CRC-32C of the others. It notices any seven wrong bits.
/// Words that nobody wrote pass it with a probability of 2^-32, and count only if they name the end
/// of the last block and this node id.
pub trait RetainedMemory {
    /// The words, or `None` unless the last reset was the end of a sleep.
    fn read(&self) -> Option<[u32; 5]>;

    /// Replaces the words by these, durably enough for a sleep.
    fn write(&mut self, words: [u32; 5]);
}

/// No block, as the check of zeros is not 0.
const EMPTY: [u32; 5] = [0; 5];

impl<L, W, C, P, T> Generator<L, W, C, P, T>
where
    L: Layout,
    W: AtomicWord,
    C: Clock,
    P: Permutation,
    T: Tolerance,
{
    /// Closes the generator before a sleep in which RAM is lost, and keeps the ticks after its last
    /// id in memory that survives the sleep, for [`Blocks::resume`].
    pub fn retain(&self, memory: &mut impl RetainedMemory) {
        self.sequencer.retain(memory);
    }
}

impl<L: Layout, W: AtomicWord> Sequencer<L, W> {
    /// Closes the sequencer and keeps the ticks after its last position: see [`Generator::retain`].
    pub fn retain(&self, memory: &mut impl RetainedMemory) {
        let lease = self.lease();
        // Closed first: no id is issued any more of what the next boot issues from.
        let rest = self.close().and_then(|unused| {
            let ticks = lease.end().checked_sub(unused)?;
            Some((unused, u32::try_from(ticks).ok()?))
        });
        memory.write(match rest {
            Some((start, ticks)) if ticks > 0 => encode(lease.node_id(), start, ticks),
            _ => EMPTY,
        });
    }
}

impl<L: Layout, S: HorizonStore> Blocks<L, S> {
    /// Continues the last block after a sleep in which RAM was lost, for a new generator. The store
    /// is not written, and nothing is skipped.
    ///
    /// The rest lies below the horizon. So a clock that is bounded by the horizon would jump over
    /// it: after a resume, bound it by the start of the rest (`TimeBounds::from_horizon` of that
    /// time).
    ///
    /// The memory is emptied first: a crash after that loses the rest of the block, and repeats
    /// nothing. `None` if it has no block, if the last reset was not the end of a sleep, or if a
    /// block was begun since: then [`begin`](Self::begin) the next one.
    ///
    /// ```
    /// use core::time::Duration;
    /// use randflake_core::{
    ///     Blocks, Generator, HorizonStore, Lease, LocalWord, ManualClock, Randflake, RetainedMemory, Sparx64,
    /// };
    ///
    /// # struct Ram(u32);
    /// # impl HorizonStore for Ram {
    /// #     type Error = core::convert::Infallible;
    /// #     fn unix_s(&self) -> u32 { self.0 }
    /// #     fn raise(&mut self, to: u32) -> Result<(), Self::Error> { self.0 = to.max(self.0); Ok(()) }
    /// # }
    /// # let mut store = Ram(1);
    /// /// Registers that a reset leaves as they are, and whether the chip says that it was a wake.
    /// struct Registers([u32; 5], bool);
    ///
    /// impl RetainedMemory for Registers {
    ///     fn read(&self) -> Option<[u32; 5]> {
    ///         self.1.then_some(self.0)
    ///     }
    ///     fn write(&mut self, words: [u32; 5]) {
    ///         self.0 = words;
    ///     }
    /// }
    ///
    /// type Ids<'a> = Generator<Randflake, LocalWord<u32>, &'a ManualClock>;
    ///
    /// let mut registers = Registers([0; 5], true);
    /// let grant = Lease::new(Randflake, 42, 1_000, 9_000)?;
    /// let clock = ManualClock::at_unix_ms(1_730_001_500_000);
    ///
    /// let lease = Blocks::new(grant, &mut store).begin(Some(Duration::from_secs(1_730_001_500)))?;
    /// let ids = Ids::new(lease, &clock, Sparx64::new(&[7; 16]))?;
    /// ids.generate()?;
    /// ids.retain(&mut registers);
    ///
    /// // After the sleep:
    /// let blocks = Blocks::new(grant, &mut store);
    /// let rest = blocks.resume(&mut registers).expect("the rest of the block");
    /// assert_eq!((rest.start(), rest.end()), (1_501, 1_560));
    /// assert_eq!(blocks.resume(&mut registers), None, "once");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resume(&self, memory: &mut impl RetainedMemory) -> Option<Lease<L>> {
        self.rest(self.store.unix_s(), memory)
    }
}

impl<L: Layout, S: AsyncHorizonStore> Blocks<L, S> {
    /// Continues the last block of an async store: see [`resume`](Self::resume). It waits for
    /// nothing.
    pub fn resume_async(&self, memory: &mut impl RetainedMemory) -> Option<Lease<L>> {
        self.rest(self.store.unix_s(), memory)
    }
}

impl<L: Layout, S> Blocks<L, S> {
    fn rest(&self, horizon: u32, memory: &mut impl RetainedMemory) -> Option<Lease<L>> {
        let words = memory.read();
        memory.write(EMPTY);
        // Registers that are locked against writes would give the same block at the next wake.
        let [node_id, low, high, ticks, check] = memory.read()?;
        // Not a comparison of arrays, which would be a call of `memcmp`.
        if node_id | low | high | ticks | check != 0 {
            return None;
        }
        let (node_id, start, ticks) = decode(words?)?;
        let end = start.checked_add(ticks.into())?;
        let rest = Lease::new(L::default(), node_id, start, end).ok()?;
        // Compared with the horizon: the rest of an earlier block may be below the start of the
        // last one.
        self.is_last(horizon, &rest).then_some(rest)
    }
}

/// The words of a block's rest, and their check.
#[inline]
fn encode(node_id: u32, start: u64, ticks: u32) -> [u32; 5] {
    let (low, high) = (u32::low_bits_of(start), u32::low_bits_of(start >> 32));
    let check = crc32c(&[node_id, low, high, ticks]);
    [node_id, low, high, ticks, check]
}

/// Node id, first tick and number of ticks of words that pass their check.
#[inline]
fn decode([node_id, low, high, ticks, check]: [u32; 5]) -> Option<(u32, u64, u32)> {
    let start = u64::from(high) << 32 | u64::from(low);
    (crc32c(&[node_id, low, high, ticks]) == check).then_some((node_id, start, ticks))
}

/// CRC-32C (Castagnoli; RFC 3720, appendix B.4) of little-endian words. Of the usual polynomials of
/// 32 bits it notices the most wrong bits in five words: seven, where that of zip files notices
/// six.
#[inline]
fn crc32c(words: &[u32]) -> u32 {
    const POLYNOMIAL: u32 = 0x82f6_3b78;
    let crc = words.iter().fold(u32::MAX, |crc, word| {
        // Bit by bit: it is needed twice for each sleep, and a table would be a kilobyte of flash.
        (0..u32::BITS).fold(crc ^ word, |crc, _| {
            let carry = crc & 1;
            crc >> 1 ^ (POLYNOMIAL & carry.wrapping_neg())
        })
    });
    !crc
}

#[cfg(test)]
mod tests {
    //! What is kept over a sleep, and what is refused after it.

    extern crate std;

    use std::vec::Vec;

    use super::*;
    use crate::{LocalWord, ManualClock, Plain, Randflake};

    /// The horizon, in RAM.
    struct Ram(u32);

    impl HorizonStore for Ram {
        type Error = ();

        fn unix_s(&self) -> u32 {
            self.0
        }

        fn raise(&mut self, to: u32) -> Result<(), ()> {
            self.0 = self.0.max(to);
            Ok(())
        }
    }

    #[derive(Clone, Copy)]
    struct Registers {
        words: [u32; 5],
        is_wake: bool,
        is_locked: bool,
    }

    impl RetainedMemory for Registers {
        fn read(&self) -> Option<[u32; 5]> {
            self.is_wake.then_some(self.words)
        }

        fn write(&mut self, words: [u32; 5]) {
            if !self.is_locked {
                self.words = words;
            }
        }
    }

    const EMPTY_REGISTERS: Registers = Registers {
        words: EMPTY,
        is_wake: true,
        is_locked: false,
    };

    /// Grant, and the first second of the clock.
    fn grant() -> Lease<Randflake> {
        Lease::new(Randflake, 7, 100, 900).unwrap()
    }

    type Ids<'a> = Generator<Randflake, LocalWord<u32>, &'a ManualClock, Plain>;

    /// A device that has issued an id of tick 102 of a block of ticks 100 to 160, and sleeps.
    fn sleeping() -> (Blocks<Randflake, Ram>, Registers) {
        let mut blocks = Blocks::new(grant(), Ram(1));
        let lease = blocks.begin(None).unwrap();
        let clock = ManualClock::at_unix_ms(1_730_000_102_000);
        let ids = Ids::new(lease, &clock, Plain).unwrap();
        ids.generate().unwrap();
        let mut registers = EMPTY_REGISTERS;
        ids.retain(&mut registers);
        assert!(ids.generate().is_err(), "closed");
        (blocks, registers)
    }

    fn bounds(lease: Option<Lease<Randflake>>) -> Option<(u64, u64)> {
        lease.map(|lease| (lease.start(), lease.end()))
    }

    #[test]
    fn a_block_goes_on_once() {
        let (mut blocks, mut registers) = sleeping();
        let rest = blocks.resume(&mut registers);
        assert_eq!(bounds(rest), Some((103, 160)));
        assert_eq!(registers.words, EMPTY, "before the first id");
        assert_eq!(blocks.resume(&mut registers), None);
        // It is the last block: it is extended as before.
        let longer = blocks.extend(rest.unwrap()).unwrap();
        assert_eq!((longer.start(), longer.end()), (103, 220));
    }

    #[test]
    fn a_reset_that_is_no_wake_discards_it() {
        let (blocks, mut registers) = sleeping();
        registers.is_wake = false;
        assert_eq!(blocks.resume(&mut registers), None);
        assert_eq!(registers.words, EMPTY, "for the next wake too");
    }

    #[test]
    fn registers_that_cannot_be_emptied_give_nothing() {
        let (blocks, mut registers) = sleeping();
        registers.is_locked = true;
        assert_eq!(blocks.resume(&mut registers), None);
    }

    /// A bit of one register is always 1.
    struct DeadBit {
        words: [u32; 5],
        word: usize,
    }

    impl RetainedMemory for DeadBit {
        fn read(&self) -> Option<[u32; 5]> {
            Some(self.words)
        }

        fn write(&mut self, words: [u32; 5]) {
            self.words = words;
            self.words[self.word] |= 1;
        }
    }

    #[test]
    fn retained_register_that_stays_full_gives_nothing() {
        for word in 0..5 {
            let (blocks, Registers { words, .. }) = sleeping();
            let mut memory = DeadBit { words, word };
            assert_eq!(blocks.resume(&mut memory), None, "{word}");
        }
    }

    #[test]
    fn a_first_tick_of_more_than_32_bits_is_kept() {
        for start in [0, 1, u32::MAX.into(), 1 << 32, 5 << 32 | 3, u64::MAX] {
            assert_eq!(decode(encode(7, start, 60)), Some((7, start, 60)));
        }
    }

    impl AsyncHorizonStore for Ram {
        type Error = ();

        fn unix_s(&self) -> u32 {
            self.0
        }

        async fn raise(&mut self, to: u32) -> Result<(), ()> {
            HorizonStore::raise(self, to)
        }
    }

    #[test]
    fn a_block_of_an_async_store_goes_on_once() {
        let (blocks, mut registers) = sleeping();
        let rest = blocks.resume_async(&mut registers);
        assert_eq!(bounds(rest), Some((103, 160)));
        assert_eq!(blocks.resume_async(&mut registers), None);
    }

    #[test]
    fn a_block_that_another_follows_is_over() {
        let (mut blocks, registers) = sleeping();
        let kept = registers;
        blocks.begin(None).unwrap();
        assert_eq!(blocks.resume(&mut { kept }), None);
        // Nor that of another node id, or of a device that has lost its horizon.
        let (Blocks { store, .. }, kept) = sleeping();
        let other = Lease::new(Randflake, 8, 100, 900).unwrap();
        assert_eq!(Blocks::new(other, store).resume(&mut { kept }), None);
        assert_eq!(Blocks::new(grant(), Ram(0)).resume(&mut { kept }), None);
    }

    #[test]
    fn nothing_is_kept_of_a_block_that_is_used_up() {
        let mut blocks = Blocks::new(grant(), Ram(1)).with_block_s(1);
        let clock = ManualClock::at_unix_ms(1_730_000_100_000);
        let ids = Ids::new(blocks.begin(None).unwrap(), &clock, Plain).unwrap();
        ids.generate().unwrap();
        let mut registers = EMPTY_REGISTERS;
        for _ in 0..2 {
            // The second time it is closed already.
            ids.retain(&mut registers);
            assert_eq!(registers.words, EMPTY);
        }
        assert_eq!(blocks.resume(&mut registers), None);
    }

    /// A generator that issued nothing keeps all of its block.
    #[test]
    fn an_unused_block_is_kept_whole() {
        let mut blocks = Blocks::new(grant(), Ram(1));
        let clock = ManualClock::unknown();
        let ids = Ids::new(blocks.begin(None).unwrap(), &clock, Plain).unwrap();
        let mut registers = EMPTY_REGISTERS;
        ids.retain(&mut registers);
        assert_eq!(bounds(blocks.resume(&mut registers)), Some((100, 160)));
    }

    /// Appendix B.4 of RFC 3720 has these of 32 bytes.
    #[test]
    fn the_check_is_the_published_one() {
        assert_eq!(crc32c(&[0; 8]), 0x8a91_36aa);
        assert_eq!(crc32c(&[u32::MAX; 8]), 0x62a8_ab43);
        let rising: [u32; 8] = core::array::from_fn(|at| {
            let first = u8::try_from(4 * at).unwrap();
            u32::from_le_bytes([0, 1, 2, 3].map(|byte| first + byte))
        });
        assert_eq!(crc32c(&rising), 0x46dd_794e);
    }

    #[test]
    fn neither_blank_nor_zeroed_words_pass_the_check() {
        for words in [EMPTY, [u32::MAX; 5]] {
            assert_eq!(decode(words), None);
        }
    }

    /// By how much the check differs from the right one when one bit of five words is wrong.
    fn differences() -> impl Iterator<Item = u32> {
        let of_words = (0..128).map(|bit| {
            let mut words = [0; 4];
            words[bit / 32] = 1 << (bit % 32);
            crc32c(&words) ^ crc32c(&[0; 4])
        });
        of_words.chain((0..32).map(|bit| 1 << bit))
    }

    /// The check is linear: wrong bits are noticed unless their differences cancel out. No two sets
    /// of up to three are equal, so up to six are noticed; and so is any odd number, as each
    /// difference has an odd number of ones.
    #[test]
    #[cfg_attr(miri, ignore = "arithmetic, a million times over")]
    fn seven_wrong_bits_are_noticed() {
        let one: Vec<_> = differences().collect();
        assert!(
            one.iter()
                .all(|difference| difference.count_ones() % 2 == 1)
        );
        let mut sets = one.clone();
        for (at, first) in one.iter().enumerate() {
            for (next, second) in one.iter().enumerate().skip(at + 1) {
                sets.push(first ^ second);
                sets.extend(one[next + 1..].iter().map(|third| first ^ second ^ third));
            }
        }
        sets.push(0);
        let all = sets.len();
        sets.sort_unstable();
        sets.dedup();
        assert_eq!(sets.len(), all);
    }
}
