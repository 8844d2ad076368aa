//! Slices of blocks, a few vectors at a time through the data path; and the portable backend.
#![expect(
    clippy::inline_always,
    reason = "vector code must end up inside a function that has the target feature"
)]

use core::{array, iter::zip};

use crate::{
    block,
    round::{Branches, Decrypt, Direction, Encrypt, Word16},
    round_keys::Schedule,
};

/// What a platform supplies: a name, a threshold and two functions.
pub(super) struct Implementation {
    pub(super) name: &'static str,
    /// Below this number the portable code is faster: a pass costs the same however few of its
    /// lanes are in use.
    pub(super) min_blocks: usize,
    // Sound to call only where `platform::available` lists this implementation.
    pub(super) encrypt: RunFn,
    pub(super) decrypt: RunFn,
}

type RunFn = unsafe fn(&Schedule, &mut [[u8; 8]]);

/// Words of `BLOCKS` blocks side by side.
///
/// Which block stands in which lane is the implementor's choice: no two lanes ever meet, so only
/// `store` has to undo what `load` did.
pub(super) trait Lanes<const BLOCKS: usize>: Word16 {
    /// Gathers the first words of all blocks, the second ones and so on, out of big-endian order.
    fn load(blocks: &[[u8; 8]; BLOCKS]) -> Branches<Self>;

    /// The inverse of `load`.
    fn store(state: Branches<Self>, blocks: &mut [[u8; 8]; BLOCKS]);
}

/// Encrypts or decrypts the blocks in place: `GROUPS` vectors side by side while enough are left,
/// then two, then one.
#[inline(always)]
pub(super) fn run<D, W, const BLOCKS: usize, const GROUPS: usize>(
    schedule: &Schedule<W::Key>,
    blocks: &mut [[u8; 8]],
) where
    D: Direction,
    W: Lanes<BLOCKS>,
{
    let (vectors, tail) = blocks.as_chunks_mut::<BLOCKS>();
    let (groups, vectors) = vectors.as_chunks_mut::<GROUPS>();
    for group in groups {
        run_group::<D, W, BLOCKS, GROUPS>(schedule, group);
    }
    // Fewer than a group: two vectors still hide part of the latency.
    let (pairs, vectors) = vectors.as_chunks_mut::<2>();
    for pair in pairs {
        run_group::<D, W, BLOCKS, 2>(schedule, pair);
    }
    for vector in vectors {
        run_group::<D, W, BLOCKS, 1>(schedule, array::from_mut(vector));
    }
    if !tail.is_empty() {
        // A vector costs the same however few lanes are in use, so the tail is padded with zeros.
        let mut vector = [[0; 8]; BLOCKS];
        for (padded, block) in zip(&mut vector, &*tail) {
            *padded = *block;
        }
        run_group::<D, W, BLOCKS, 1>(schedule, array::from_mut(&mut vector));
        for (padded, block) in zip(&vector, tail) {
            *block = *padded;
        }
    }
}

#[inline(always)]
fn run_group<D, W, const BLOCKS: usize, const GROUPS: usize>(
    schedule: &Schedule<W::Key>,
    group: &mut [[[u8; 8]; BLOCKS]; GROUPS],
) where
    D: Direction,
    W: Lanes<BLOCKS>,
{
    let states = D::apply(W::read_anew(schedule), group.each_ref().map(W::load));
    for (state, blocks) in zip(states, group) {
        W::store(state, blocks);
    }
}

pub(super) const PORTABLE: Implementation = Implementation {
    name: "portable",
    min_blocks: 0,
    encrypt: run_portable::<Encrypt>,
    decrypt: run_portable::<Decrypt>,
};

/// Processes blocks one after the other, on any target. A processor that executes out of order
/// overlaps neighbouring blocks by itself.
pub(super) fn run_portable<D: Direction>(schedule: &Schedule, blocks: &mut [[u8; 8]]) {
    run::<D, u16, 1, 1>(schedule, blocks);
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
