//! The traits of RustCrypto's `cipher` (feature `cipher`).
//!
//! The inherent methods have the same names and come first in name lookup; generic code, such as
//! a mode of operation, sees these.

use core::fmt;

use cipher::{
    AlgorithmName, Block, BlockCipherDecBackend, BlockCipherDecClosure, BlockCipherDecrypt,
    BlockCipherEncBackend, BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser, InOut, Key,
    KeyInit, KeySizeUser, ParBlocksSizeUser,
    consts::{U1, U8, U16},
};

use crate::Sparx64;

impl AlgorithmName for Sparx64 {
    fn write_alg_name(f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sparx64")
    }
}

impl KeySizeUser for Sparx64 {
    type KeySize = U16;
}

impl BlockSizeUser for Sparx64 {
    type BlockSize = U8;
}

impl KeyInit for Sparx64 {
    #[inline]
    fn new(key: &Key<Self>) -> Self {
        Self::new(key.as_ref())
    }
}

impl BlockCipherEncrypt for Sparx64 {
    #[inline]
    fn encrypt_with_backend(&self, f: impl BlockCipherEncClosure<BlockSize = U8>) {
        f.call(&Backend(self));
    }
}

impl BlockCipherDecrypt for Sparx64 {
    #[inline]
    fn decrypt_with_backend(&self, f: impl BlockCipherDecClosure<BlockSize = U8>) {
        f.call(&Backend(self));
    }
}

struct Backend<'a>(&'a Sparx64);

impl BlockSizeUser for Backend<'_> {
    type BlockSize = U8;
}

impl ParBlocksSizeUser for Backend<'_> {
    type ParBlocksSize = U1;
}

impl BlockCipherEncBackend for Backend<'_> {
    #[inline]
    fn encrypt_block(&self, mut block: InOut<'_, '_, Block<Self>>) {
        let mut bytes = block.clone_in().0;
        self.0.encrypt_block(&mut bytes);
        *block.get_out() = bytes.into();
    }
}

impl BlockCipherDecBackend for Backend<'_> {
    #[inline]
    fn decrypt_block(&self, mut block: InOut<'_, '_, Block<Self>>) {
        let mut bytes = block.clone_in().0;
        self.0.decrypt_block(&mut bytes);
        *block.get_out() = bytes.into();
    }
}
