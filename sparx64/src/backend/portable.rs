//! Processes blocks one after the other, on any target. A processor that executes out of order
//! overlaps neighbouring blocks by itself.

use super::{
    Implementation,
    lanes::{self, Lanes},
};
use crate::{
    block,
    round::{Branches, Decrypt, Direction, Encrypt},
    schedule::Schedule,
};

pub(super) const PORTABLE: Implementation = Implementation {
    name: "portable",
    min_blocks: 0,
    encrypt: run::<Encrypt>,
    decrypt: run::<Decrypt>,
};

pub(super) fn run<D: Direction>(schedule: &Schedule, blocks: &mut [[u8; 8]]) {
    lanes::run::<D, u16, 1, 1>(schedule, blocks);
}

impl Lanes<1> for u16 {
    #[inline]
    fn load(&[block]: &[[u8; 8]; 1]) -> Branches<Self> {
        block::load(u64::from_le_bytes(block))
    }

    #[inline]
    fn store(state: Branches<Self>, [block]: &mut [[u8; 8]; 1]) {
        *block = block::store(state).to_le_bytes();
    }
}
