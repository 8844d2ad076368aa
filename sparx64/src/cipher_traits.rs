//! The traits of RustCrypto's `cipher` (feature `cipher`).
//!
//! The inherent methods have the same names and come first in name lookup; generic code, such as
//! a mode of operation, sees these.

use core::fmt;

use cipher::{
    AlgorithmName, Array, Block, BlockCipherDecBackend, BlockCipherDecClosure, BlockCipherDecrypt,
    BlockCipherEncBackend, BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser, InOut,
    InOutBuf, Key, KeyInit, KeySizeUser, ParBlocks, ParBlocksSizeUser,
    consts::{U1, U8, U16, U64},
};

use crate::{Sparx64, Sparx64OnTheFly};

macro_rules! cipher {
    ($cipher:ident, $name:literal, $backend:ident) => {
        impl AlgorithmName for $cipher {
            fn write_alg_name(f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($name)
            }
        }

        impl KeySizeUser for $cipher {
            type KeySize = U16;
        }

        impl BlockSizeUser for $cipher {
            type BlockSize = U8;
        }

        impl KeyInit for $cipher {
            #[inline]
            fn new(key: &Key<Self>) -> Self {
                Self::new(key.as_ref())
            }
        }

        impl BlockCipherEncrypt for $cipher {
            #[inline]
            fn encrypt_with_backend(&self, f: impl BlockCipherEncClosure<BlockSize = U8>) {
                f.call(&$backend(self));
            }
        }

        impl BlockCipherDecrypt for $cipher {
            #[inline]
            fn decrypt_with_backend(&self, f: impl BlockCipherDecClosure<BlockSize = U8>) {
                f.call(&$backend(self));
            }
        }
    };
}

cipher!(Sparx64, "Sparx64", ParallelBackend);
cipher!(Sparx64OnTheFly, "Sparx64", OneByOne);

/// Passes 64 blocks at a time, enough to fill the vectors of every instruction set.
struct ParallelBackend<'a>(&'a Sparx64);

impl BlockSizeUser for ParallelBackend<'_> {
    type BlockSize = U8;
}

impl ParBlocksSizeUser for ParallelBackend<'_> {
    type ParBlocksSize = U64;
}

impl BlockCipherEncBackend for ParallelBackend<'_> {
    #[inline]
    fn encrypt_block(&self, block: InOut<'_, '_, Block<Self>>) {
        self.0
            .encrypt_block(block.into_out_with_copied_in().as_mut());
    }

    #[inline]
    fn encrypt_par_blocks(&self, blocks: InOut<'_, '_, ParBlocks<Self>>) {
        // One path for full and partial batches: `encrypt_blocks` copes with any number.
        self.encrypt_tail_blocks(blocks.into_buf());
    }

    #[inline]
    fn encrypt_tail_blocks(&self, blocks: InOutBuf<'_, '_, Block<Self>>) {
        // The trait has an input and an output, which may be one. The cipher works in place, so the
        // blocks are copied to the output first and encrypted there.
        let blocks = Array::cast_slice_to_core_mut(blocks.into_out_with_copied_in());
        self.0.encrypt_blocks(blocks);
    }
}

impl BlockCipherDecBackend for ParallelBackend<'_> {
    #[inline]
    fn decrypt_block(&self, block: InOut<'_, '_, Block<Self>>) {
        self.0
            .decrypt_block(block.into_out_with_copied_in().as_mut());
    }

    #[inline]
    fn decrypt_par_blocks(&self, blocks: InOut<'_, '_, ParBlocks<Self>>) {
        self.decrypt_tail_blocks(blocks.into_buf());
    }

    #[inline]
    fn decrypt_tail_blocks(&self, blocks: InOutBuf<'_, '_, Block<Self>>) {
        let blocks = Array::cast_slice_to_core_mut(blocks.into_out_with_copied_in());
        self.0.decrypt_blocks(blocks);
    }
}

/// Passes one block at a time: the cipher has no bulk code, so larger batches would only take
/// stack.
struct OneByOne<'a>(&'a Sparx64OnTheFly);

impl BlockSizeUser for OneByOne<'_> {
    type BlockSize = U8;
}

impl ParBlocksSizeUser for OneByOne<'_> {
    type ParBlocksSize = U1;
}

impl BlockCipherEncBackend for OneByOne<'_> {
    #[inline]
    fn encrypt_block(&self, block: InOut<'_, '_, Block<Self>>) {
        self.0
            .encrypt_block(block.into_out_with_copied_in().as_mut());
    }
}

impl BlockCipherDecBackend for OneByOne<'_> {
    #[inline]
    fn decrypt_block(&self, block: InOut<'_, '_, Block<Self>>) {
        self.0
            .decrypt_block(block.into_out_with_copied_in().as_mut());
    }
}
