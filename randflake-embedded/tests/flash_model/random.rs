//! Random numbers that are the same in each run: `SplitMix64` (Steele, Lea, Flood: "Fast splittable
//! pseudorandom number generators", OOPSLA 2014).

#[derive(Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let high = (z ^ (z >> 31)) >> 32;
        u32::try_from((high * u64::from(bound)) >> 32).unwrap()
    }
}
